"""Compaction of one partition in files: what is dirty, one run at a time, and how it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from drumbeat.log import history
from drumbeat.log.checkpoint import write_cleaned_offset
from drumbeat.log.cleaning import Cleaned, CleaningJob, clean
from drumbeat.log.errors import LogError
from drumbeat.log.port import (
    NEVER_MS,
    Cleanable,
    CompactionBudget,
    CompactionResult,
    LogSettings,
    TopicPartition,
)
from drumbeat.log.segment import Segment
from drumbeat.log.segments import Segments
from drumbeat.log.swap import commit_swap, finish_swap
from drumbeat.log.throttle import Stopped
from drumbeat.log.workers import Workers

_logger = logging.getLogger(__name__)

T = TypeVar("T")


class Run(NamedTuple):
    """One compaction: when, within which limits, and how others end it."""

    now_ms: int
    budget: CompactionBudget
    stop: threading.Event


class LogCleaner:
    """Belongs to the event loop. Whoever calls `run` sees to it that no segment goes meanwhile."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        directory: str,
        segments: Segments,
        workers: Workers,
        cleaned_offset: int,
    ) -> None:
        self._topic_partition = topic_partition
        self._directory = directory
        self._segments = segments
        self._workers = workers
        self._first_dirty_offset = cleaned_offset
        self._runs: list[Run] = []  # the one at work, and those that wait for their turn
        self._is_swapping = False
        self._fruitless_end: int | None = None  # where the segments ended that gave nothing

    @property
    def is_busy(self) -> bool:
        return bool(self._runs)

    def stop(self) -> None:
        """Have runs end soon, as if they had not begun; one that is past that point ends well."""
        for run in self._runs:
            run.stop.set()

    @contextmanager
    def begin(self, now_ms: int, budget: CompactionBudget) -> Iterator[Run]:
        """From here on `stop` is for this run too."""
        run = Run(now_ms, budget, threading.Event())
        self._runs.append(run)
        try:
            yield run
        finally:
            self._runs.remove(run)

    def cleanable(self, settings: LogSettings, now_ms: int) -> Cleanable | None:
        segments = self._cleanable_segments(settings, now_ms)
        dirty = self._dirty(segments)
        cleanable_bytes = sum(segment.extent.size for segment in dirty)
        if not cleanable_bytes or segments[-1].extent.next_offset == self._fruitless_end:
            return None
        clean_bytes = sum(segment.extent.size for segment in segments) - cleanable_bytes
        is_overdue = _is_overdue(dirty, settings.max_compaction_lag_ms, now_ms)
        return Cleanable(clean_bytes, cleanable_bytes, is_overdue)

    async def run(self, settings: LogSettings, run: Run) -> CompactionResult | None:
        if self._is_swapping:
            raise LogError(f"{self._directory}: a compaction failed; open the partition again")
        segments = self._cleanable_segments(settings, run.now_ms)
        if not self._dirty(segments) or run.stop.is_set():
            return None
        await self._in_worker(history.check_folder, self._directory)
        try:
            cleaned = await self._in_worker(clean, self._job(settings, segments, run))
            if cleaned is None:
                self._fruitless_end = segments[-1].extent.next_offset
                return None
            await self._swap(cleaned, run.now_ms)
        except Stopped:
            return None
        return cleaned.result

    async def expire_history(self, settings: LogSettings, now_ms: int) -> None:
        """What cannot be removed stays: the log itself does not depend on it."""
        if self._segments.has_readers:
            return
        disk, retention_ms = self._workers.disk, settings.history_retention_ms
        try:
            await self._in_worker(history.expire, disk, self._directory, retention_ms, now_ms)
        except LogError as error:
            _logger.warning("what compaction has replaced could not be removed: %s", error)

    def _cleanable_segments(self, settings: LogSettings, now_ms: int) -> Sequence[Segment]:
        """Closed, and old enough; LogCleanerManager.cleanableOffsets."""
        if not settings.is_compacted:
            return ()
        closed = self._segments.closed
        if settings.min_compaction_lag_ms > 0:
            newest_ms = now_ms - settings.min_compaction_lag_ms
            for place, segment in enumerate(closed):
                is_dirty = segment.extent.next_offset > self._first_dirty_offset
                if is_dirty and segment.largest_timestamp() > newest_ms:
                    return closed[:place]
        return closed

    def _dirty(self, segments: Sequence[Segment]) -> list[Segment]:
        first_dirty_offset = self._first_dirty_offset
        return [
            segment
            for segment in segments
            if segment.extent.next_offset > first_dirty_offset and segment.extent.size
        ]

    def _job(self, settings: LogSettings, segments: Sequence[Segment], run: Run) -> CleaningJob:
        return CleaningJob(
            disk=self._workers.disk,
            directory=self._directory,
            settings=settings,
            segments=segments,
            following=self._segments.following(len(segments)),
            first_dirty_offset=self._first_dirty_offset,
            now_ms=run.now_ms,
            budget=run.budget,
            stop=run.stop,
        )

    async def _swap(self, cleaned: Cleaned, now_ms: int) -> None:
        """If the disk fails on the way, this handle compacts no more: an opening finds out how far
        it came. Readers are served from the sources before the swap counts, and not after."""
        sources, compacted, result = cleaned
        disk, directory = self._workers.disk, self._directory
        self._is_swapping = True
        await self._in_worker(commit_swap, disk, directory, compacted)
        self._segments.replace_first(len(sources), compacted)
        self._first_dirty_offset = result.end_offset
        await self._in_worker(finish_swap, disk, directory, sources, compacted, now_ms)
        self._is_swapping = False
        # Lost in a crash, it only means that the same is compacted again.
        await self._in_worker(
            write_cleaned_offset, disk, directory, self._topic_partition, result.end_offset
        )

    async def _in_worker(self, function: Callable[..., T], *args: object) -> T:
        return await self._workers.run(self._directory, function, *args)


def _is_overdue(dirty: Sequence[Segment], max_compaction_lag_ms: int, now_ms: int) -> bool:
    if max_compaction_lag_ms == NEVER_MS:
        return False
    first_timestamps = (next(segment.headers()).max_timestamp for segment in dirty)
    return any(0 < first_ms < now_ms - max_compaction_lag_ms for first_ms in first_timestamps)
