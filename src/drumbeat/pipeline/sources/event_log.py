"""The topic `__group_events`: its new records as rows of `group_events`.

Events are told, never needed: where a segment is damaged, or a record is none of the coordinator's,
the tables do without, and causes are inferred instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from drumbeat.log.names import parse_directory_name
from drumbeat.pipeline.decode.arena import Arena
from drumbeat.pipeline.decode.errors import SegmentGone
from drumbeat.pipeline.decode.headers import Batches
from drumbeat.pipeline.decode.listing import SegmentFile, open_segment, segments_of
from drumbeat.pipeline.decode.stretches import read_stretches
from drumbeat.pipeline.manifest import DataFile, LogPartition
from drumbeat.pipeline.schemas import GROUP_EVENTS
from drumbeat.pipeline.sources.offsets_log import EventReader
from drumbeat.pipeline.table_files import DiskFull, table_files
from drumbeat.pipeline.tables.group_events import is_event, read_group_events
from drumbeat.pipeline.warehouse import StagedFile
from drumbeat.protocol.record_batch import CorruptBatch
from drumbeat.protocol.records import Record, decode_records

EVENTS_TOPIC: Final = "__group_events"
_ROWS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsTask:
    """One partition of the topic, from an offset on."""

    source: LogPartition
    reader: EventReader
    start_offset: int

    @property
    def bytes(self) -> int:
        return self.reader.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsResult:
    rows: int = 0
    staged: tuple[StagedFile, ...] = ()
    is_full: str | None = None  # what the disk said


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFolder:
    """A partition's segments in a data directory."""

    directory: str
    start_offset: int
    bytes: int

    @classmethod
    def of(cls, directory: str, start_offset: int) -> EventFolder:
        size = sum(entry.stat().st_size for entry in os.scandir(directory) if entry.is_file())
        return cls(directory=directory, start_offset=start_offset, bytes=size)

    def records(self) -> Iterator[Record]:
        for segment in segments_of(self.directory):
            if segment.end_offset > self.start_offset:
                yield from _records(segment)


def event_partitions(data_directory: str) -> list[int]:
    parsed = map(parse_directory_name, os.listdir(data_directory))
    return sorted(each.partition for each in parsed if each and each.topic == EVENTS_TOPIC)


def stage_events(task: EventsTask, directory: str, name: str) -> EventsResult:
    """Write the partition's new events to a file in `directory`, if there are any."""
    first = last = -1
    rows = 0
    try:
        with table_files(directory, name) as files:
            for records in _portions(_events(task)):
                first = records[0].offset if first < 0 else first
                last = records[-1].offset
                rows += len(records)
                values = (record.value for record in records if record.value is not None)
                files.add((GROUP_EVENTS.name, read_group_events(values)))
            staged = files.close(_about(task, first, last))
    except DiskFull as problem:
        return EventsResult(is_full=str(problem))
    return EventsResult(rows=rows, staged=tuple(staged))


def _portions(records: Iterator[Record]) -> Iterator[list[Record]]:
    portion: list[Record] = []
    for record in records:
        portion.append(record)
        if len(portion) == _ROWS_MAX:
            yield portion
            portion = []
    if portion:
        yield portion


def _events(task: EventsTask) -> Iterator[Record]:
    for record in task.reader.records():
        if record.offset >= task.start_offset and is_event(record.value):
            yield record


def _records(segment: SegmentFile) -> Iterator[Record]:
    """As far as the segment can be read."""
    try:
        with open_segment(segment) as fd:
            for stretch in read_stretches(fd):
                yield from records_of(stretch.arena, stretch.batches)
    except (SegmentGone, CorruptBatch):
        return


def records_of(arena: Arena, batches: Batches) -> Iterator[Record]:
    """What these batches hold, one record after the other."""
    spans = zip(batches.positions.tolist(), batches.sizes.tolist(), strict=True)
    for position, size in spans:
        yield from decode_records(arena.bytes(position, position + size))


def _about(task: EventsTask, first_offset: int, last_offset: int) -> DataFile:
    return DataFile(
        path="",
        cluster_id=task.source.cluster_id,
        log_partition=task.source.log_partition,
        first_offset=first_offset,
        last_offset=last_offset,
        rows=0,
        bytes=0,
    )
