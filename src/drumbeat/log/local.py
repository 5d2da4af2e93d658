"""A partition's log in files: the handle that its owner holds.

All state belongs to the event loop. Disk work that may wait runs in the store's worker threads or
in the kernel and is reported back to the loop; reads come from the page cache and run where they
are asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence

from drumbeat.log.commit import SMALL_BYTES_MAX, Commit, CommitFailure
from drumbeat.log.errors import AppendFailed, LogFull
from drumbeat.log.growing import StagedWrite
from drumbeat.log.local_upkeep import LocalUpkeep
from drumbeat.log.opening import OpenedPartition
from drumbeat.log.owned import OwnedLog
from drumbeat.log.port import LOAD_CHUNK_BYTES, LogBatch, LogSettings, Records, TimestampOffset
from drumbeat.log.rounds import CommitRounds
from drumbeat.protocol.record_batch import Outline

_logger = logging.getLogger(__name__)


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
        self._segments = opened.segments
        self._notes = opened.notes
        self._rounds = rounds
        self._disk = rounds.workers.disk
        self._upkeep = LocalUpkeep(self, opened, rounds.workers, on_closed)

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

    def _stage(self, batch: bytes, outline: Outline, base_offset: int) -> None:
        self._segments.stage(batch, outline, base_offset, self._epoch, self._settings)

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

    # For the upkeep

    def advance_start(self, offset: int) -> None:
        if offset > self._start_offset:
            self._start_offset = offset
            self._epochs.truncate_from_start(offset)

    def roll(self) -> asyncio.Future[int]:
        """Put an empty segment behind what there is; done when that is on disk."""
        self._segments.roll(self.end_offset, self._settings)
        self._is_dirty = True
        return self._end_of_commit(self._begun + 1)
