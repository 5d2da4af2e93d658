"""One compaction of a log in files, in a worker thread: read the sources, write what they become.

Nothing of the log is touched here, and what is written counts for nothing yet; see `swap`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from drumbeat.log.cleaned import CleanedWriter
from drumbeat.log.compaction import OffsetMap, Rules
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk
from drumbeat.log.port import (
    LOAD_CHUNK_BYTES,
    CompactionBudget,
    CompactionResult,
    LogBatch,
    LogSettings,
)
from drumbeat.log.segment import DAMAGE_ADVICE, Segment
from drumbeat.log.survey import Survey, SurveyedBatch, survey
from drumbeat.log.throttle import Throttle
from drumbeat.protocol.record_batch import CorruptBatch


class CleaningJob(NamedTuple):
    """What to compact, and how."""

    disk: Disk
    directory: str
    settings: LogSettings
    segments: Sequence[Segment]  # all that may be touched, the oldest first
    following: Sequence[Segment]  # the rest, which may know how a transaction ended
    first_dirty_offset: int
    now_ms: int
    budget: CompactionBudget
    stop: threading.Event


class Cleaned(NamedTuple):
    """Segments complete under .cleaned names, and those whose place they are to take."""

    sources: Sequence[Segment]
    compacted: Sequence[Segment]
    result: CompactionResult


def clean(job: CleaningJob) -> Cleaned | None:
    """None if an open transaction leaves nothing to compact. Raises Stopped."""
    return _Cleaning(job).run()


class _Cleaning:
    def __init__(self, job: CleaningJob) -> None:
        self._job = job
        self._throttle = Throttle(job.budget, job.stop)
        self._last_offsets: dict[int, int] = {}  # by a segment's base offset

    def run(self) -> Cleaned | None:
        job = self._job
        surveyed = self._survey(job.segments)
        if surveyed.open_offset is not None:
            surveyed = self._survey([*job.segments, *job.following])
        cleanable = _before_open_transaction(job.segments, surveyed)
        offset_map = self._map_offsets(cleanable, surveyed)
        if offset_map.end_offset <= job.first_dirty_offset:
            return None
        sources = [segment for segment in cleanable if segment.base_offset < offset_map.end_offset]
        rules = Rules(
            offset_map=offset_map,
            survey=surveyed,
            last_offset=self._last_offsets[sources[-1].base_offset],
            now_ms=job.now_ms,
            delete_retention_ms=job.settings.delete_retention_ms,
        )
        return self._write(sources, rules)

    def _survey(self, segments: Sequence[Segment]) -> Survey:
        active_since_ms = self._job.now_ms - self._job.settings.producer_id_expiration_ms
        return survey(self._surveyed(segments), active_since_ms=active_since_ms)

    def _surveyed(self, segments: Sequence[Segment]) -> Iterator[SurveyedBatch]:
        for segment in segments:
            for batch in _in_order(segment):
                yield batch
                self._last_offsets[segment.base_offset] = batch.header.last_offset
                self._throttle.spend(batch.header.size)

    def _map_offsets(self, segments: Sequence[Segment], surveyed: Survey) -> OffsetMap:
        job = self._job
        offset_map = OffsetMap(job.first_dirty_offset, job.budget.dedupe_buffer_bytes)
        for segment in segments:
            if segment.extent.next_offset <= job.first_dirty_offset:
                continue
            for batch in self._batches(segment):
                _learn(offset_map, surveyed, segment, batch)
                if offset_map.is_full:
                    return offset_map
            # Kafka leaves gaps between segments: there is nothing in them to come back for.
            offset_map.end_offset = max(offset_map.end_offset, segment.extent.next_offset)
        return offset_map

    def _write(self, sources: Sequence[Segment], rules: Rules) -> Cleaned:
        job = self._job
        writer = CleanedWriter(job.disk, job.directory, job.settings, sources[0].base_offset)
        records = 0
        try:
            for segment in sources:
                for batch in self._batches(segment):
                    records += batch.header.record_count
                    kept = _judge(rules, segment, batch)
                    if kept is not None:
                        writer.write(kept)
                        self._throttle.spend(kept.header.size)
            compacted = writer.finish(os.stat(sources[-1].path).st_mtime_ns)
        except BaseException:
            writer.discard()
            raise
        result = CompactionResult(
            segments_before=len(sources),
            segments_after=len(compacted),
            records_before=records,
            records_after=writer.records,
            bytes_before=sum(segment.extent.size for segment in sources),
            bytes_after=sum(segment.extent.size for segment in compacted),
            end_offset=rules.offset_map.end_offset,
        )
        return Cleaned(sources, compacted, result)

    def _batches(self, segment: Segment) -> Iterator[LogBatch]:
        for batch in segment.batches(segment.base_offset, chunk_bytes=LOAD_CHUNK_BYTES):
            yield batch
            self._throttle.spend(batch.header.size)


def _in_order(segment: Segment) -> Iterator[SurveyedBatch]:
    """A batch's offset is outside its checksum, so it is compared with its neighbours'.

    What a wrong one says would decide which of two records is the newer.
    """
    position, next_offset = 0, segment.base_offset
    for batch in segment.surveyed():
        first, following = batch.header.base_offset, batch.header.next_offset
        end_offset = segment.extent.next_offset
        if first < next_offset or following > end_offset:
            found = (
                f"offsets {first} to {following - 1} where {next_offset} to {end_offset - 1} fit"
            )
            raise CorruptLog(segment.path, position, found, DAMAGE_ADVICE)
        yield batch
        position += batch.header.size
        next_offset = following


def _before_open_transaction(segments: Sequence[Segment], surveyed: Survey) -> list[Segment]:
    """Nobody knows yet how it ends. Empty segments at the end have nothing to compact either."""
    cleanable = list(segments)
    if surveyed.open_offset is not None:
        open_offset = surveyed.open_offset
        cleanable = [s for s in segments if s.extent.next_offset <= open_offset]
    while cleanable and not cleanable[-1].extent.size:
        cleanable.pop()
    return cleanable


def _learn(offset_map: OffsetMap, surveyed: Survey, segment: Segment, batch: LogBatch) -> None:
    try:
        offset_map.add(batch, surveyed)
    except CorruptBatch as error:
        raise _damage(segment, batch, error) from error


def _judge(rules: Rules, segment: Segment, batch: LogBatch) -> LogBatch | None:
    try:
        return rules.judge(batch)
    except CorruptBatch as error:
        raise _damage(segment, batch, error) from error


def _damage(segment: Segment, batch: LogBatch, error: CorruptBatch) -> CorruptLog:
    """The checksum is right, yet the records cannot be read."""
    found = f"the batch at offset {batch.header.base_offset}: {error}"
    return CorruptLog(segment.path, 0, found, DAMAGE_ADVICE)
