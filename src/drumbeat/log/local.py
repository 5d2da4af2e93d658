"""A partition's log in files: the handle that its owner holds.

All state belongs to the event loop. Disk work that may wait (commits, removals, checkpoints) runs
in the store's worker threads and is reported back to the loop; reads come from the page cache and
run where they are asked for.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from drumbeat.log.checkpoint import read_epochs, write_start_offset
from drumbeat.log.cleaner import LogCleaner, Run
from drumbeat.log.commit import (
    SMALL_BYTES_MAX,
    Commit,
    CommitFailure,
    remove_segment,
    write_indexes,
)
from drumbeat.log.epochs import EpochHistory
from drumbeat.log.errors import AppendFailed, LogError, LogFull, OffsetOutOfRange
from drumbeat.log.files import sync_directory
from drumbeat.log.growing import StagedWrite
from drumbeat.log.locks import is_directory_of
from drumbeat.log.owned import OwnedLog
from drumbeat.log.port import (
    LOAD_CHUNK_BYTES,
    UNLIMITED_BUDGET,
    Cleanable,
    CompactionBudget,
    CompactionResult,
    LogBatch,
    LogSettings,
    Records,
    TimestampOffset,
    TopicPartition,
)
from drumbeat.log.retention import expired_segments
from drumbeat.log.rounds import CommitRounds
from drumbeat.log.segment import Segment
from drumbeat.log.segments import Segments
from drumbeat.protocol.record_batch import BatchHeader

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class OpenedPartition(NamedTuple):
    """A partition's directory, locked and in order, with a new epoch that nobody uses yet."""

    topic_partition: TopicPartition
    directory: str
    lock: int  # the descriptor that holds the directory
    segments: Segments
    epochs: EpochHistory
    start_offset: int
    cleaned_offset: int
    notes: tuple[str, ...]


class LocalPartitionLog(OwnedLog):
    """See `port.PartitionLog` for what each method promises."""

    def __init__(
        self,
        opened: OpenedPartition,
        settings: LogSettings,
        rounds: CommitRounds,
        on_closed: Callable[[LocalPartitionLog, bool], None],
    ) -> None:
        super().__init__(
            opened.topic_partition,
            settings,
            opened.epochs,
            opened.segments.synced_offset,
        )
        self._start_offset = opened.start_offset
        self._directory = opened.directory
        self._lock = opened.lock
        self._segments = opened.segments
        self._notes = opened.notes
        self._rounds = rounds
        self._workers = rounds.workers
        self._disk = rounds.workers.disk
        self._on_closed = on_closed
        self._maintenance = asyncio.Lock()  # retention, compaction and release, one at a time
        self._cleaner = LogCleaner(
            opened.topic_partition,
            opened.directory,
            opened.segments,
            self._workers,
            opened.cleaned_offset,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    @property
    def start_offset(self) -> int:
        return self._start_offset

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    # Committing

    def _stage(self, batch: bytes, header: BatchHeader, base_offset: int) -> None:
        self._segments.stage(batch, header, base_offset, self._epoch, self._settings)

    def _restore(self) -> None:
        self._segments.restore()

    def _schedule_commit(self) -> None:
        self._rounds.gather(self)

    @property
    def has_grown_little(self) -> bool:
        """Whether what has gathered can be a small commit."""
        return self._segments.have_grown_at_most(SMALL_BYTES_MAX)

    def begin_commit(self) -> Commit | None:
        """A commit of everything that has gathered, if anything has."""
        return Commit(self._disk, self._segments.take(), self) if self._begin_next() else None

    def end_commit(self, writes: Sequence[StagedWrite], failure: CommitFailure | None) -> None:
        if failure is None:
            self._segments.publish(writes)
            self._commit_succeeded()
            return
        if not failure.is_harmless:
            _logger.error("%s: commit failed: %s", self._directory, failure.error)
        kind, outcome = (
            (LogFull, "nothing of it remains; reads go on, free some space")
            if failure.is_harmless
            else (AppendFailed, "its outcome is unknown; acquire the partition again")
        )
        text = f"{self._directory}: {failure.error}; {outcome}"
        self._commit_failed(lambda: kind(text), is_fatal=not failure.is_harmless)

    # Reading

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool = True) -> Records:
        self._check_readable(offset)
        if offset >= self.synced_offset:
            return b""
        return self._segments.read(offset, bytes_max, whole_first_batch=whole_first_batch)

    def batches_from(
        self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES
    ) -> Iterator[LogBatch]:
        self._check_readable(offset)
        if offset >= self.synced_offset:
            return iter(())
        return self._segments.batches(offset, self.synced_offset, chunk_bytes=chunk_bytes)

    def chunks_from(self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES) -> Iterator[bytes]:
        self._check_readable(offset)
        if offset >= self.synced_offset:
            return iter(())
        return self._segments.chunks(offset, self.synced_offset, chunk_bytes=chunk_bytes)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        self._check_readable(self._start_offset)
        return self._segments.offset_for_timestamp(timestamp, self._start_offset)

    def max_timestamp(self) -> TimestampOffset | None:
        self._check_readable(self._start_offset)
        return self._segments.max_timestamp()

    # Shrinking

    async def delete_records_before(self, offset: int) -> int:
        self._cleaner.stop()
        async with self._maintenance:
            self._check_writable()
            if offset > self.synced_offset:
                raise OffsetOutOfRange(offset, self._start_offset, self.synced_offset)
            if offset > self._start_offset:
                await self._in_worker(
                    write_start_offset, self._disk, self._directory, self._topic_partition, offset
                )
                self._advance_start(offset)
                await self._remove_first(self._segments.count_below(offset))
            return self._start_offset

    async def enforce_retention(self, now_ms: int) -> int:
        if self._cleaner.is_busy:
            return 0  # as in Kafka: one of the two at a time, and this one comes again soon
        async with self._maintenance:
            self._check_writable()
            await self._cleaner.expire_history(self._settings, now_ms)
            removed = await self._remove_first(self._expired(now_ms))
            if self._segments.is_single and self._expired(now_ms):
                # Everything is old. Kafka too leaves an empty segment that keeps the end offset.
                self._segments.roll(self.end_offset, self._settings)
                self._is_dirty = True
                await self._commit_number(self._begun + 1)
                removed += await self._remove_first(1)
            return removed

    def _expired(self, now_ms: int) -> int:
        return expired_segments(
            self._segments.summaries(),
            self._settings,
            now_ms=now_ms,
            start_offset=self._start_offset,
            synced_offset=self.synced_offset,
        )

    async def _remove_first(self, count: int) -> int:
        removed = self._segments.remove_first(count)
        if removed:
            self._advance_start(self._segments.first_offset)
            await self._in_worker(_remove_files, self._directory, removed)
        return len(removed)

    def _advance_start(self, offset: int) -> None:
        if offset > self._start_offset:
            self._start_offset = offset
            self._epochs.truncate_from_start(offset)

    # Compacting

    def cleanable(self, now_ms: int) -> Cleanable | None:
        return self._cleaner.cleanable(self._settings, now_ms)

    async def compact(
        self, now_ms: int, budget: CompactionBudget = UNLIMITED_BUDGET
    ) -> CompactionResult | None:
        with self._cleaner.begin(now_ms, budget) as run:
            running = asyncio.ensure_future(self._compact(run))
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                # A worker cannot be abandoned: it must not rename what somebody else owns by then.
                run.stop.set()
                await asyncio.wait([running])
                if not running.cancelled():
                    running.exception()  # nobody is left to hear of it
                raise

    async def _compact(self, run: Run) -> CompactionResult | None:
        async with self._maintenance:
            self._check_writable()
            result = await self._cleaner.run(self._settings, run)
            await self._cleaner.expire_history(self._settings, run.now_ms)
            return result

    # Ending

    async def confirm(self) -> None:
        self._check_writable()
        if not await self._in_worker(self._is_still_ours):
            self._fence("its directory was replaced or its epoch file is another's")
        self._check_writable()

    def _is_still_ours(self) -> bool:
        """In a worker thread."""
        if not is_directory_of(self._lock, self._directory):
            return False
        return EpochHistory(read_epochs(self._directory) or ()).latest == self._epoch

    async def release(self) -> None:
        self._cleaner.stop()
        async with self._maintenance:
            if not self._is_open:
                return
            is_clean = False
            try:
                while self._refusal is None and self.end_offset > self.synced_offset:
                    await self.sync()
                is_clean = self._refusal is None
            finally:
                self._refuse("released")
                await self._give_up(is_clean=is_clean)

    async def expel(self, reason: str) -> None:
        """End the epoch for a newer owner; a commit in flight is waited for, as it may land."""
        self._fence(reason)
        self._cleaner.stop()
        async with self._maintenance:
            if self._is_open:
                await self._give_up(is_clean=False)

    async def _give_up(self, *, is_clean: bool) -> None:
        await self._drained()
        self._is_open = False
        try:
            if is_clean:
                await self._in_worker(write_indexes, self._disk, self._segments.end())
        except LogError:
            is_clean = False  # the next owner rebuilds them
            raise
        finally:
            self._segments.close()
            os.close(self._lock)
            self._on_closed(self, is_clean)

    async def _in_worker(self, function: Callable[..., T], *args: object) -> T:
        return await self._workers.run(self._directory, function, *args)


def _remove_files(directory: str, segments: Sequence[Segment]) -> None:
    """Oldest first, so that a crash leaves no hole; in a worker thread."""
    for segment in segments:
        remove_segment(segment.paths)
    sync_directory(directory)
