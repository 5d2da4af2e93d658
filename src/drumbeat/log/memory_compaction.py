"""Compaction of a partition in memory: the rules are those of the disk, without a history."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final

from drumbeat.log.compaction import OffsetMap, Rules
from drumbeat.log.memory_partition import MemoryPartition, MemorySegment, StoredBatch
from drumbeat.log.port import (
    NEVER_MS,
    Cleanable,
    CompactionBudget,
    CompactionResult,
    LogBatch,
    LogSettings,
)
from drumbeat.log.survey import Survey, SurveyedBatch, read_control_type, survey

BATCHES_PER_TURN: Final = 100


def cleanable(partition: MemoryPartition, settings: LogSettings, now_ms: int) -> Cleanable | None:
    segments = _cleanable_segments(partition, settings, now_ms)
    dirty = [s for s in segments if s.next_offset > partition.cleaned_offset]
    if not dirty:
        return None
    dirty_bytes = sum(segment.size for segment in dirty)
    overdue_ms = now_ms - settings.max_compaction_lag_ms
    return Cleanable(
        sum(segment.size for segment in segments) - dirty_bytes,
        dirty_bytes,
        any(0 < segment.batches[0].header.max_timestamp < overdue_ms for segment in dirty),
    )


def compact(
    partition: MemoryPartition, settings: LogSettings, now_ms: int, budget: CompactionBudget
) -> Generator[None, None, CompactionResult | None]:
    """Pauses now and then, for others to have their turn; the log changes in the last step."""
    segments = _cleanable_segments(partition, settings, now_ms)
    if not segments:
        return None
    # What follows may know how a transaction ended.
    known = [*segments, *partition.following(segments[-1].base_offset)]
    active_since_ms = now_ms - settings.producer_id_expiration_ms
    surveyed = survey(_surveyed(partition, known), active_since_ms=active_since_ms)
    if surveyed.open_offset is not None:
        segments = [s for s in segments if s.next_offset <= surveyed.open_offset]
    offset_map = yield from _map_offsets(partition, segments, surveyed, budget)
    if offset_map.end_offset <= partition.cleaned_offset:
        return None
    sources = [segment for segment in segments if segment.base_offset < offset_map.end_offset]
    rules = Rules(
        offset_map=offset_map,
        survey=surveyed,
        last_offset=sources[-1].next_offset - 1,
        now_ms=now_ms,
        delete_retention_ms=settings.delete_retention_ms,
    )
    compacted = yield from _rewrite(partition, settings, sources, rules)
    if partition.closed[: len(sources)] != sources:
        return None  # retention was quicker
    partition.replace_first(len(sources), compacted)
    partition.cleaned_offset = offset_map.end_offset
    return _result(sources, compacted, offset_map.end_offset)


def _cleanable_segments(
    partition: MemoryPartition, settings: LogSettings, now_ms: int
) -> list[MemorySegment]:
    if not settings.is_compacted:
        return []
    closed = partition.closed
    newest_ms = now_ms - settings.min_compaction_lag_ms
    for place, segment in enumerate(closed):
        is_dirty = segment.next_offset > partition.cleaned_offset
        if settings.min_compaction_lag_ms and is_dirty and segment.max_timestamp > newest_ms:
            return closed[:place]
    return closed


def _surveyed(
    partition: MemoryPartition, segments: Iterable[MemorySegment]
) -> Iterator[SurveyedBatch]:
    for header, data in _batches(partition, segments):
        yield SurveyedBatch(header, read_control_type(data) if header.is_control else None)


def _stored(segments: Iterable[MemorySegment]) -> Iterator[StoredBatch]:
    for segment in segments:
        yield from segment.batches


def _batches(partition: MemoryPartition, segments: Iterable[MemorySegment]) -> Iterator[LogBatch]:
    for batch in _stored(segments):
        partition.check(batch)
        yield LogBatch(batch.header, memoryview(batch.data))


def _map_offsets(
    partition: MemoryPartition,
    segments: Iterable[MemorySegment],
    surveyed: Survey,
    budget: CompactionBudget,
) -> Generator[None, None, OffsetMap]:
    offset_map = OffsetMap(partition.cleaned_offset, budget.dedupe_buffer_bytes)
    for number, batch in enumerate(_batches(partition, segments)):
        offset_map.add(batch, surveyed)
        if offset_map.is_full:
            break
        if number % BATCHES_PER_TURN == 0:
            yield
    return offset_map


def _rewrite(
    partition: MemoryPartition,
    settings: LogSettings,
    sources: Sequence[MemorySegment],
    rules: Rules,
) -> Generator[None, None, list[MemorySegment]]:
    timeless = settings._replace(segment_ms=NEVER_MS)
    compacted = [MemorySegment(sources[0].base_offset)]
    for number, batch in enumerate(_batches(partition, sources)):
        kept = rules.judge(batch)
        if kept is not None:
            stored = StoredBatch(kept.header, bytes(kept.data))
            if compacted[-1].is_full_for(stored, timeless):
                compacted.append(MemorySegment(kept.header.base_offset))
            compacted[-1].add(stored)
        if number % BATCHES_PER_TURN == 0:
            yield
    return compacted


def _result(
    sources: Sequence[MemorySegment], compacted: Sequence[MemorySegment], end_offset: int
) -> CompactionResult:
    return CompactionResult(
        segments_before=len(sources),
        segments_after=len(compacted),
        records_before=sum(batch.header.record_count for batch in _stored(sources)),
        records_after=sum(batch.header.record_count for batch in _stored(compacted)),
        bytes_before=sum(segment.size for segment in sources),
        bytes_after=sum(segment.size for segment in compacted),
        end_offset=end_offset,
    )
