"""What a member of a classic group knows about itself, and how it is configured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from drumbeat.client.errors import ConfigError

NO_GENERATION_ID = -1
NO_MEMBER_ID = ""


class MemberState(Enum):
    UNJOINED = "unjoined"
    PREPARING_REBALANCE = "preparing_rebalance"  # JoinGroup is to be sent, or not answered yet
    COMPLETING_REBALANCE = "completing_rebalance"  # JoinGroup is answered, SyncGroup is not
    STABLE = "stable"

    @property
    def is_joined(self) -> bool:
        """Whether the coordinator counts on heartbeats."""
        return self in (MemberState.COMPLETING_REBALANCE, MemberState.STABLE)

    @property
    def is_rebalancing(self) -> bool:
        return self in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)


class Generation(NamedTuple):
    """Which generation of the group, and who in it."""

    generation_id: int
    member_id: str
    protocol_name: str | None

    @property
    def is_lost(self) -> bool:
        """Whether what was owned in it may belong to others by now."""
        return self.generation_id == NO_GENERATION_ID or self.member_id == NO_MEMBER_ID


NO_GENERATION = Generation(NO_GENERATION_ID, NO_MEMBER_ID, None)


class Coordinator(NamedTuple):
    """The broker that serves the group, as FindCoordinator named it."""

    node_id: int
    host: str
    port: int


class LeaveOperation(Enum):
    """Kafka's CloseOptions.GroupMembershipOperation (KIP-1092)."""

    DEFAULT = "default"  # dynamic members leave; static ones are expected back
    LEAVE_GROUP = "leave_group"
    REMAIN_IN_GROUP = "remain_in_group"


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipConfig:
    """The part of the consumer's configuration that membership follows; Kafka's defaults."""

    group_id: str
    group_instance_id: str | None = None
    client_rack: str = ""
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000  # the rebalance timeout as well
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    enable_auto_commit: bool = True

    def __post_init__(self) -> None:
        if not self.heartbeat_interval_ms < self.session_timeout_ms:
            raise ConfigError(
                f"heartbeat_interval_ms ({self.heartbeat_interval_ms}) must be lower than "
                f"session_timeout_ms ({self.session_timeout_ms}); a third of it is usual"
            )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None


@dataclass(slots=True)
class RebalanceStats:
    """What the metrics of the group coordinator are made of; -1 is "never"."""

    rebalances: int = 0
    failed_rebalances: int = 0
    rebalance_total_ms: int = 0
    rebalance_max_ms: int = 0
    began_ms: int = -1  # the rebalance under way, through all its failed attempts
    ended_ms: int = -1

    def begin(self, now_ms: int) -> None:
        if self.began_ms < 0:
            self.began_ms = now_ms

    def succeed(self, now_ms: int) -> None:
        took_ms = now_ms - self.began_ms
        self.rebalances += 1
        self.rebalance_total_ms += took_ms
        self.rebalance_max_ms = max(self.rebalance_max_ms, took_ms)
        self.began_ms = -1
        self.ended_ms = now_ms
