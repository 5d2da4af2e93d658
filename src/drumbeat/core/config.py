"""What an operator may set about groups and offsets: Kafka's keys, with Kafka's defaults.

`group.initial.rebalance.delay.ms` is `group_initial_rebalance_delay_ms` here, and so on. The last
block holds limits that Kafka does not have.
"""

from __future__ import annotations

from dataclasses import dataclass

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2**31 - 1

    offset_metadata_max_bytes: int = 4_096  # Kafka counts UTF-16 units, whatever the name says
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    # The offsets topic's max.message.bytes: one operation's records travel in one batch.
    offsets_batch_bytes_max: int = 1_048_588

    groups_max: int = 1_000_000  # per partition of the offsets topic, as the next
    parked_requests_max: int = 200_000
    group_pending_members_max: int = 100_000
    member_protocols_max: int = 1_000

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * _MINUTE_MS
