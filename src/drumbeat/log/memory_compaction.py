"""Compaction of a partition in memory: the rules are those of the disk, without a history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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
) -> CompactionResult | None:
    segments = _cleanable_segments(partition, settings, now_ms)
    if not segments:
        return None
    # What follows may know how a transaction ended.
    known = [*segments, *partition.following(segments[-1].base_offset)]
    surveyed = survey(_surveyed(known), active_since_ms=now_ms - settings.producer_id_expiration_ms)
    if surveyed.open_offset is not None:
        segments = [s for s in segments if s.next_offset <= surveyed.open_offset]
    offset_map = _map_offsets(partition, segments, surveyed, budget)
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
    return _replace(partition, settings, sources, rules)


def _cleanable_segments(
    partition: MemoryPartition, settings: LogSettings, now_ms: int
) -> list[MemorySegment]:
    if not settings.is_compacted:
        return []
    closed = [segment for segment in partition.closed if segment.batches]
    newest_ms = now_ms - settings.min_compaction_lag_ms
    for place, segment in enumerate(closed):
        is_dirty = segment.next_offset > partition.cleaned_offset
        if settings.min_compaction_lag_ms and is_dirty and segment.max_timestamp > newest_ms:
            return closed[:place]
    return closed


def _surveyed(segments: Iterable[MemorySegment]) -> Iterator[SurveyedBatch]:
    for header, data in _stored(segments):
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
) -> OffsetMap:
    offset_map = OffsetMap(partition.cleaned_offset, budget.dedupe_buffer_bytes)
    for batch in _batches(partition, segments):
        offset_map.add(batch, surveyed)
        if offset_map.is_full:
            break
    return offset_map


def _replace(
    partition: MemoryPartition,
    settings: LogSettings,
    sources: Sequence[MemorySegment],
    rules: Rules,
) -> CompactionResult:
    timeless = replace(settings, segment_ms=NEVER_MS)
    compacted = [MemorySegment(sources[0].base_offset)]
    for header, data in rules.apply(_batches(partition, sources)):
        stored = StoredBatch(header, bytes(data))
        if compacted[-1].is_full_for(stored, timeless):
            compacted.append(MemorySegment(header.base_offset))
        compacted[-1].add(stored)
    count = partition.closed.index(sources[-1]) + 1
    partition.replace_first(count, compacted)
    partition.cleaned_offset = rules.offset_map.end_offset
    return CompactionResult(
        segments_before=len(sources),
        segments_after=len(compacted),
        records_before=sum(batch.header.record_count for batch in _stored(sources)),
        records_after=sum(batch.header.record_count for batch in _stored(compacted)),
        bytes_before=sum(segment.size for segment in sources),
        bytes_after=sum(segment.size for segment in compacted),
        end_offset=rules.offset_map.end_offset,
    )
