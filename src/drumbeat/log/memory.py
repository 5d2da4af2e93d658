"""Partition logs in memory, for tests, simulation and servers that keep nothing.

The store plays the disk, which outlives its owners. `Faults` makes it misbehave on purpose.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from drumbeat.log import memory_compaction
from drumbeat.log.errors import AppendFailed, LogFull, OffsetOutOfRange, TopicIdMismatch
from drumbeat.log.memory_partition import MemoryPartition, StoredBatch
from drumbeat.log.names import check_topic_id, directory_name
from drumbeat.log.owned import OwnedLog
from drumbeat.log.port import (
    LOAD_CHUNK_BYTES,
    UNLIMITED_BUDGET,
    Cleanable,
    CompactionBudget,
    CompactionResult,
    Durability,
    EpochEntry,
    LogBatch,
    LogSettings,
    TimestampOffset,
    TopicPartition,
)
from drumbeat.log.retention import expired_segments
from drumbeat.protocol.record_batch import BatchHeader, assign


class SyncFault(NamedTuple):
    """How one sync fails: which error, and whether its data reached the disk all the same."""

    error: type[LogFull | AppendFailed]
    lands: bool


class Faults:
    """Switches of a memory store; all of them act on the syncs that begin next."""

    def __init__(self) -> None:
        self._is_holding = False
        self._held: list[Callable[[], None]] = []
        self._failures: deque[SyncFault] = deque()

    def hold_syncs(self) -> None:
        """From now on syncs begin but do not end."""
        self._is_holding = True

    def release_syncs(self) -> None:
        """Let held syncs end, in the order in which they began, and hold no more."""
        self._is_holding = False
        held, self._held = self._held, []
        for end in held:
            end()

    def fail_next_sync(self, error: type[LogFull | AppendFailed], *, lands: bool = False) -> None:
        """`lands` is for AppendFailed: the outcome that its caller cannot know."""
        self._failures.append(SyncFault(error, lands))

    def schedule(self, end: Callable[[SyncFault | None], None]) -> None:
        """Called by a log whose sync begins: when and how will it end?"""
        failure = self._failures.popleft() if self._failures else None
        if self._is_holding:
            self._held.append(lambda: end(failure))
        else:
            asyncio.get_running_loop().call_soon(end, failure)


class MemoryPartitionLog(OwnedLog):
    """See `port.PartitionLog` for what each method promises."""

    def __init__(
        self,
        partition: MemoryPartition,
        settings: LogSettings,
        faults: Faults,
        on_closed: Callable[[MemoryPartitionLog], None],
    ) -> None:
        super().__init__(
            partition.topic_partition, settings, partition.epochs, partition.end_offset
        )
        self._partition = partition
        self._faults = faults
        self._on_closed = on_closed
        self._staged: list[StoredBatch] = []
        self._in_flight: list[StoredBatch] = []

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    @property
    def start_offset(self) -> int:
        return self._partition.start_offset

    @property
    def size_bytes(self) -> int:
        unsynced = sum(len(batch.data) for batch in (*self._in_flight, *self._staged))
        return self._partition.size_bytes + unsynced

    # Committing

    def _stage(self, batch: bytes, header: BatchHeader, base_offset: int) -> None:
        stamped = BatchHeader(base_offset, header.batch_length, self._epoch, *header[3:])
        self._staged.append(StoredBatch(stamped, assign(batch, base_offset, self._epoch)))

    def _restore(self) -> None:
        self._staged = []
        self._in_flight = []

    def _schedule_commit(self) -> None:
        if self._begin_next():
            self._in_flight, self._staged = self._staged, []
            self._faults.schedule(self._end_commit)

    def _end_commit(self, fault: SyncFault | None) -> None:
        if not self._is_open:  # the power went before the sync was through
            return
        if fault is None or fault.lands:
            self._partition.store(self._in_flight, self._settings)
        if fault is None:
            self._in_flight = []
            self._commit_succeeded()
            self.tell_synced()
        else:
            kind, text = fault.error, f"{self._topic_partition}: injected fault"
            self._commit_failed(lambda: kind(text), is_fatal=kind is AppendFailed)

    # Reading

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool = True) -> bytes:
        self._check_readable(offset)
        if offset >= self.synced_offset:
            return b""
        return self._partition.read(offset, bytes_max, whole_first_batch=whole_first_batch)

    def batches_from(
        self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES
    ) -> Iterator[LogBatch]:
        self._check_readable(offset)
        return self._partition.batches(offset, self.synced_offset)

    def chunks_from(self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES) -> Iterator[bytes]:
        return (bytes(batch.data) for batch in self.batches_from(offset, chunk_bytes=chunk_bytes))

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        self._check_readable(self.start_offset)
        return self._partition.offset_for_timestamp(timestamp)

    def max_timestamp(self) -> TimestampOffset | None:
        self._check_readable(self.start_offset)
        return self._partition.max_timestamp()

    # Shrinking

    async def delete_records_before(self, offset: int) -> int:
        self._check_writable()
        if offset > self.synced_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.synced_offset)
        if offset > self.start_offset:
            self._partition.remove_below(offset)
        return self.start_offset

    async def enforce_retention(self, now_ms: int) -> int:
        self._check_writable()
        expired = expired_segments(
            self._partition.summaries(self.end_offset),
            self._settings,
            now_ms=now_ms,
            start_offset=self.start_offset,
            synced_offset=self.synced_offset,
        )
        return self._partition.remove_first(expired)

    # Compacting

    def cleanable(self, now_ms: int) -> Cleanable | None:
        return memory_compaction.cleanable(self._partition, self._settings, now_ms)

    async def compact(
        self, now_ms: int, budget: CompactionBudget = UNLIMITED_BUDGET
    ) -> CompactionResult | None:
        steps = memory_compaction.compact(self._partition, self._settings, now_ms, budget)
        while True:
            self._check_writable()
            try:
                next(steps)
            except StopIteration as done:
                result: CompactionResult | None = done.value
                return result
            await asyncio.sleep(0)

    # Ending

    async def confirm(self) -> None:
        self._check_writable()

    async def release(self) -> None:
        if not self._is_open:
            return
        try:
            while self._refusal is None and self.end_offset > self.synced_offset:
                await self.sync()
        finally:
            self._refuse("released")
            await self._give_up()

    async def expel(self, reason: str) -> None:
        """End the epoch for a newer owner; a sync in flight is waited for, as it may land."""
        self._fence(reason)
        await self._give_up()

    async def _give_up(self) -> None:
        await self._drained()
        self._is_open = False
        self._on_closed(self)

    def lose_power(self) -> None:
        """Drop everything that is not synced, a sync in flight included."""
        self._is_open = False
        self._is_committing = False
        self._fence("power cut")
        self._on_closed(self)


class MemoryStore:
    """See `port.LogStore`."""

    def __init__(self) -> None:
        self.faults = Faults()
        self._partitions: dict[TopicPartition, MemoryPartition] = {}
        self._held: dict[TopicPartition, MemoryPartitionLog] = {}

    def partitions(self) -> list[TopicPartition]:
        return sorted(self._partitions)

    def topic_id(self, topic_partition: TopicPartition) -> str | None:
        partition = self._partitions.get(topic_partition)
        return None if partition is None else partition.topic_id

    async def acquire(
        self,
        topic_partition: TopicPartition,
        settings: LogSettings,
        *,
        topic_id: str | None = None,
    ) -> MemoryPartitionLog:
        directory_name(topic_partition)  # the same names as on disk
        await self._expel_owner(topic_partition, "a newer owner acquired the partition")
        partition = self._partitions.setdefault(topic_partition, MemoryPartition(topic_partition))
        _ensure_topic_id(partition, topic_id)
        epoch = partition.epochs.latest + 1
        partition.epochs.assign(EpochEntry(epoch, partition.end_offset))
        log = MemoryPartitionLog(partition, settings, self.faults, self._on_closed)
        self._held[topic_partition] = log
        return log

    async def delete(self, topic_partition: TopicPartition) -> None:
        await self._expel_owner(topic_partition, "the partition was deleted")
        self._partitions.pop(topic_partition, None)

    def durability(self) -> Durability:
        return Durability(
            proven=(), assumed=("this process lives: everything is in memory and ends with it",)
        )

    async def close(self) -> None:
        for log in list(self._held.values()):
            await log.release()

    # Faults that concern more than a sync

    def power_cut(self) -> None:
        """Every owner is gone, and whatever was not synced."""
        for log in list(self._held.values()):
            log.lose_power()

    def corrupt(self, topic_partition: TopicPartition, offset: int) -> None:
        self._partitions[topic_partition].corrupt(offset)

    async def _expel_owner(self, topic_partition: TopicPartition, reason: str) -> None:
        while (owner := self._held.get(topic_partition)) is not None:
            await owner.expel(reason)

    def _on_closed(self, log: MemoryPartitionLog) -> None:
        if self._held.get(log.topic_partition) is log:
            del self._held[log.topic_partition]


def _ensure_topic_id(partition: MemoryPartition, topic_id: str | None) -> None:
    if topic_id is None:
        return
    if partition.topic_id is None:
        partition.topic_id = check_topic_id(topic_id)
    elif partition.topic_id != topic_id:
        raise TopicIdMismatch(
            f"{partition.topic_partition} belongs to topic id {partition.topic_id}, not {topic_id}"
        )
