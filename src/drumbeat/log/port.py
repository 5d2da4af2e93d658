"""The port between the coordinator and whatever keeps its bytes.

A `LogStore` hands out partitions; a `PartitionLog` is one acquired partition, and holding it is
holding its epoch. Adapters: `memory` (tests, simulation), `store` (files). All obey one contract,
which is a test suite: epochs only grow; an older owner cannot append; an append lands exactly at
the expected end; what is synced survives; damage is reported, never skipped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple, Protocol, TypeAlias

from drumbeat.log.file_records import FileRecords
from drumbeat.protocol.record_batch import BatchHeader

NO_TIMESTAMP: Final = -1
UNDEFINED_EPOCH: Final = -1
EPOCH_MAX: Final = 2**31 - 2  # batches have 32 bits for it, and somebody may follow
UNDEFINED_OFFSET: Final = -1
UNLIMITED: Final = -1

LOAD_CHUNK_BYTES: Final = 1 << 20
NEVER_MS: Final = 2**63 - 1

# Whole batches, the last one perhaps cut off, to be sent as they are.
Records: TypeAlias = bytes | FileRecords

_DAY_MS = 24 * 60 * 60 * 1000


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class EpochEntry(NamedTuple):
    """The first offset an epoch's owner could write; as in Kafka's leader-epoch-checkpoint."""

    epoch: int
    start_offset: int


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int


class LogBatch(NamedTuple):
    """A whole, checked batch. `data` is a window on a larger buffer: copy it to keep it."""

    header: BatchHeader
    data: memoryview


class LogSettings(NamedTuple):
    """Limits of one partition's log; the defaults are those of Kafka's topic configuration."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * _DAY_MS
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * _DAY_MS
    retention_bytes: int = UNLIMITED
    batch_bytes_max: int = 1_048_588
    is_compacted: bool = False
    delete_retention_ms: int = _DAY_MS  # how long compaction keeps a tombstone it has seen
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER_MS
    producer_id_expiration_ms: int = _DAY_MS
    history_retention_ms: int = 0  # of superseded segments; 0 keeps none, -1 all


class Cleanable(NamedTuple):
    """What compaction could do for a log now, measured as Kafka's cleaner does."""

    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool  # something has waited for longer than the log's max_compaction_lag_ms

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


class CompactionBudget(NamedTuple):
    """What one compaction may take: time of one core, traffic on the disk, memory for keys."""

    cpu_share: float = 1.0
    bytes_per_second: float = float("inf")
    dedupe_buffer_bytes: int = 128 << 20


class CompactionResult(NamedTuple):
    """What one compaction did to the segments it replaced."""

    segments_before: int
    segments_after: int
    records_before: int
    records_after: int
    bytes_before: int
    bytes_after: int
    end_offset: int  # everything below holds each key once


UNLIMITED_BUDGET: Final = CompactionBudget()


class Durability(NamedTuple):
    """What a successful sync survives: what the adapter has checked, and what it takes on trust."""

    proven: tuple[str, ...]
    assumed: tuple[str, ...]


class PartitionLog(Protocol):
    """An acquired partition. Used from one event loop only; `append` and reads never suspend."""

    @property
    def topic_partition(self) -> TopicPartition: ...

    @property
    def epoch(self) -> int: ...

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int:
        """The offset the next record gets; goes back to `synced_offset` when a sync fails."""

    @property
    def synced_offset(self) -> int:
        """Everything below is durable and readable: on one node, the high watermark."""

    @property
    def size_bytes(self) -> int: ...

    @property
    def settings(self) -> LogSettings: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was repaired when the log was opened, in sentences for the operator."""

    def configure(self, settings: LogSettings) -> None: ...

    def append(self, batch: bytes, *, expected: int) -> int:
        """Queue one v2 batch at the end, which must be `expected`; returns its base offset.

        The batch is kept by reference until synced. It is in the log once `sync` covers it.
        Raises Fenced, UnexpectedEndOffset, BatchTooLarge, AppendFailed.
        """

    def sync(self) -> Awaitable[int]:
        """Make everything appended so far durable; returns `synced_offset`.

        Concurrent callers share one write and one fdatasync. Raises LogFull, AppendFailed, Fenced.
        """

    def request_sync(self) -> None:
        """Start a sync if none runs, else have one follow; outcomes go to the listeners."""

    def listen(
        self,
        on_synced: Callable[[int], None] | None,
        on_failed: Callable[[Exception], None] | None,
    ) -> None:
        """Call back on the event loop: with each new `synced_offset`, with each failed sync."""

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool = True) -> Records:
        """Synced records from the batch that holds `offset` on; the last batch may be cut off.

        A first batch larger than `bytes_max` is returned whole if so asked. Empty at the end.
        Raises OffsetOutOfRange, CorruptLog.
        """

    def batches_from(
        self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES
    ) -> Iterator[LogBatch]:
        """Each synced batch from the one that holds `offset` on, checked; memory stays bounded.

        May be read in another thread. What is compacted or appended meanwhile makes no difference.
        """

    def chunks_from(self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES) -> Iterator[bytes]:
        """The same batches, end to end and several at a time, for readers who are in a hurry."""

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is at least `timestamp`."""

    def max_timestamp(self) -> TimestampOffset | None:
        """The first record that has the log's largest timestamp."""

    def epochs(self) -> list[EpochEntry]: ...

    def end_offset_for_epoch(self, epoch: int) -> EpochEntry:
        """The largest known epoch up to `epoch` and the offset where it ended, as Kafka's
        OffsetForLeaderEpoch answers; both undefined (-1) for an epoch yet to come."""

    async def delete_records_before(self, offset: int) -> int:
        """Durably advance the start offset (never beyond what is synced); returns it."""

    async def enforce_retention(self, now_ms: int) -> int:
        """Remove what the settings no longer keep; returns the number of segments removed."""

    def cleanable(self, now_ms: int) -> Cleanable | None:
        """What `compact` would begin with; None if the log is not compacted or nothing is dirty."""

    async def compact(
        self, now_ms: int, budget: CompactionBudget = UNLIMITED_BUDGET
    ) -> CompactionResult | None:
        """Keep the newest record of each key in the closed segments, as Kafka's cleaner does.

        Original offsets stay. Atomic: a crash leaves the old segments or the new, and who reads
        meanwhile goes on with what was there when it began. None if there was nothing to do, or
        if release, trimming or a cancellation cut it short. Raises LogFull, CorruptLog, Fenced.
        """

    async def confirm(self) -> None:
        """Return only if this handle still owns the partition; raises Fenced."""

    async def release(self) -> None:
        """Sync, leave everything in order for the next owner, and give the partition up."""


class LogStore(Protocol):
    """A place that keeps partitions."""

    def partitions(self) -> list[TopicPartition]: ...

    def topic_id(self, topic_partition: TopicPartition) -> str | None:
        """The Kafka topic id stored with the partition, in its 22-character text form."""

    async def acquire(
        self,
        topic_partition: TopicPartition,
        settings: LogSettings,
        *,
        topic_id: str | None = None,
    ) -> PartitionLog:
        """Take the partition, creating it if absent: a new epoch, durable; older owners are out.

        Raises LogHeld, LogFull, CorruptLog, TopicIdMismatch; ValueError for an impossible name.
        """

    async def delete(self, topic_partition: TopicPartition) -> None:
        """Remove the partition and all its data, ending its owner's epoch. Absent is no error."""

    def durability(self) -> Durability: ...

    async def close(self) -> None:
        """Release every partition and leave the store clean."""
