"""What a consumer knows of one partition it was assigned. A new assignment is a new object."""

from __future__ import annotations

from enum import IntEnum

from drumbeat.client.values import OffsetAndMetadata, TopicPartition

NO_EPOCH = -1
UNKNOWN = -1


class OffsetReset(IntEnum):
    """Where to begin; the value is what ListOffsets calls it."""

    LATEST = -1
    EARLIEST = -2


class PartitionState:
    """`position` is the offset of the next record to hand out; None until it is found out.

    `version` changes with every seek and reset: an answer that was asked for under another version
    comes too late.
    """

    __slots__ = (
        "high_watermark",
        "is_fetching",
        "is_paused",
        "is_pending_revocation",
        "last_stable_offset",
        "leader_epoch",
        "log_start_offset",
        "position",
        "preferred_replica",
        "preferred_until_ms",
        "reset",
        "retry_at_ms",
        "tp",
        "version",
    )

    def __init__(self, tp: TopicPartition) -> None:
        self.tp = tp
        self.position: int | None = None
        self.leader_epoch = NO_EPOCH  # of the last record before the position
        self.reset: OffsetReset | None = None
        self.version = 0
        self.is_paused = False
        self.is_pending_revocation = False
        self.is_fetching = False
        self.high_watermark = UNKNOWN
        self.last_stable_offset = UNKNOWN
        self.log_start_offset = UNKNOWN
        self.retry_at_ms = 0
        self.preferred_replica: int | None = None
        self.preferred_until_ms = 0

    @property
    def is_deliverable(self) -> bool:
        """Whether its records may be handed out."""
        return not (self.is_paused or self.is_pending_revocation) and self.position is not None

    def seek(self, offset: int, leader_epoch: int = NO_EPOCH) -> None:
        self.position = offset
        self.leader_epoch = leader_epoch
        self.reset = None
        self.version += 1

    def request_reset(self, reset: OffsetReset) -> None:
        self.position = None
        self.reset = reset
        self.version += 1

    def advance(self, offset: int, leader_epoch: int) -> None:
        """Records up to `offset` were handed out."""
        self.position = offset
        self.leader_epoch = leader_epoch

    def to_commit(self) -> OffsetAndMetadata | None:
        if self.position is None:
            return None
        return OffsetAndMetadata(self.position, "", self.leader_epoch)

    def lag(self, *, is_read_committed: bool) -> int | None:
        end = self.last_stable_offset if is_read_committed else self.high_watermark
        if end == UNKNOWN or self.position is None:
            return None
        return max(0, end - self.position)

    def lead(self) -> int | None:
        if self.log_start_offset == UNKNOWN or self.position is None:
            return None
        return max(0, self.position - self.log_start_offset)
