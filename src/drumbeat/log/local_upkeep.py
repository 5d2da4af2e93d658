"""The upkeep of a partition's log in files: retention, compaction, and giving the partition up.

Belongs to the event loop; its disk work runs in the store's worker threads.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from drumbeat.log.checkpoint import (
    read_epochs,
    read_recovery_point,
    write_recovery_point,
    write_start_offset,
)
from drumbeat.log.cleaner import LogCleaner, Run
from drumbeat.log.commit import remove_segment, write_indexes
from drumbeat.log.epochs import EpochHistory
from drumbeat.log.errors import LogError, OffsetOutOfRange
from drumbeat.log.files import sync_directory
from drumbeat.log.locks import is_directory_of
from drumbeat.log.opening import OpenedPartition
from drumbeat.log.port import Cleanable, CompactionBudget, CompactionResult
from drumbeat.log.retention import expired_segments
from drumbeat.log.room import give_back_room
from drumbeat.log.segment import Segment
from drumbeat.log.upkeep import drained, sync_all
from drumbeat.log.workers import Workers

if TYPE_CHECKING:
    from drumbeat.log.local import LocalPartitionLog

    OnClosed = Callable[[LocalPartitionLog, bool], None]

T = TypeVar("T")


class LocalUpkeep:
    """See `port.PartitionLog` for what each method promises."""

    def __init__(
        self,
        log: LocalPartitionLog,
        opened: OpenedPartition,
        workers: Workers,
        on_closed: OnClosed,
    ) -> None:
        self._log = log
        self._directory = opened.directory
        self._lock = opened.lock
        self._segments = opened.segments
        self._workers = workers
        self._disk = workers.disk
        self._on_closed = on_closed
        self._maintenance = asyncio.Lock()  # retention, compaction and release, one at a time
        self._cleaner = LogCleaner(
            opened.topic_partition,
            opened.directory,
            opened.segments,
            workers,
            opened.cleaned_offset,
        )

    # Shrinking

    async def delete_records_before(self, offset: int) -> int:
        log = self._log
        self._cleaner.stop()
        async with self._maintenance:
            log.check_writable()
            if offset > log.synced_offset:
                raise OffsetOutOfRange(offset, log.start_offset, log.synced_offset)
            if offset > log.start_offset:
                await self._in_worker(
                    write_start_offset, self._disk, self._directory, log.topic_partition, offset
                )
                log.advance_start(offset)
                await self._remove_first(self._segments.count_below(offset))
            return log.start_offset

    async def enforce_retention(self, now_ms: int) -> int:
        log = self._log
        if self._cleaner.is_busy:
            return 0  # as in Kafka: one of the two at a time, and this one comes again soon
        async with self._maintenance:
            log.check_writable()
            await self._cleaner.expire_history(log.settings, now_ms)
            removed = await self._remove_first(self._expired(now_ms))
            if self._segments.is_single and self._expired(now_ms):
                # Everything is old. Kafka too leaves an empty segment that keeps the end offset.
                await log.roll()
                removed += await self._remove_first(1)
            return removed

    def _expired(self, now_ms: int) -> int:
        return expired_segments(
            self._segments.summaries(),
            self._log.settings,
            now_ms=now_ms,
            start_offset=self._log.start_offset,
            synced_offset=self._log.synced_offset,
        )

    async def _remove_first(self, count: int) -> int:
        removed = self._segments.remove_first(count)
        if removed:
            self._log.advance_start(self._segments.first_offset)
            await self._in_worker(_remove_files, self._directory, removed)
        return len(removed)

    # Compacting

    def cleanable(self, now_ms: int) -> Cleanable | None:
        return self._cleaner.cleanable(self._log.settings, now_ms)

    async def compact(self, now_ms: int, budget: CompactionBudget) -> CompactionResult | None:
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
            self._log.check_writable()
            result = await self._cleaner.run(self._log.settings, run)
            await self._cleaner.expire_history(self._log.settings, run.now_ms)
            return result

    # Ending

    async def confirm(self) -> None:
        self._log.check_writable()
        if not await self._in_worker(self._is_still_ours):
            self._log.fence("its directory was replaced or its epoch file is another's")
        self._log.check_writable()

    def _is_still_ours(self) -> bool:
        """In a worker thread."""
        if not is_directory_of(self._lock, self._directory):
            return False
        return EpochHistory(read_epochs(self._directory) or ()).latest == self._log.epoch

    async def release(self) -> None:
        log = self._log
        self._cleaner.stop()
        async with self._maintenance:
            if not log.is_open:
                return
            is_clean = False
            try:
                await sync_all(log)
                is_clean = not log.is_refused
            finally:
                log.refuse("released")
                await self._give_up(is_clean=is_clean)

    async def expel(self, reason: str) -> None:
        self._log.fence(reason)
        self._cleaner.stop()
        async with self._maintenance:
            if self._log.is_open:
                await self._give_up(is_clean=False)

    async def _give_up(self, *, is_clean: bool) -> None:
        await drained(self._log)
        self._log.close()
        try:
            if is_clean:
                await self._in_worker(self._leave_in_order)
        except LogError:
            is_clean = False  # the next owner looks at every batch
            raise
        finally:
            self._segments.close()
            os.close(self._lock)
            self._on_closed(self._log, is_clean)

    def _leave_in_order(self) -> None:
        """In a worker thread: what saves the next owner a scan, and where the log ended."""
        segment = self._segments.end()
        give_back_room(self._disk, segment)
        write_indexes(self._disk, segment)
        topic_partition, end_offset = self._log.topic_partition, self._segments.synced_offset
        if read_recovery_point(self._directory, topic_partition) != end_offset:
            write_recovery_point(self._disk, self._directory, topic_partition, end_offset)

    async def _in_worker(self, function: Callable[..., T], *args: object) -> T:
        return await self._workers.run(self._directory, function, *args)


def _remove_files(directory: str, segments: Sequence[Segment]) -> None:
    """Oldest first, so that a crash leaves no hole; in a worker thread."""
    for segment in segments:
        remove_segment(segment.paths)
    sync_directory(directory)
