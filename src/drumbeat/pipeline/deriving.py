"""What a task of the derive job does: one log partition's staged records to all derived tables.

It goes on where the run before has stopped, and its rows are of two kinds: those that no later
record can change, and those that the next run makes anew. Runs in Spark's Python workers and
imports nothing of Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.builder_state import (
    Circumstances,
    Read,
    Resumed,
    is_settled,
    read_state,
    write_state,
)
from drumbeat.pipeline.builders import CHUNK_RECORDS, Builders
from drumbeat.pipeline.decode.errors import CorruptSegment, SegmentGone
from drumbeat.pipeline.findings.compaction import LastValues
from drumbeat.pipeline.lag import ticks
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.manifest import DataFile, LogPartition
from drumbeat.pipeline.schemas import GROUP_EVENTS, LOG_RECORDS, WATERMARKS
from drumbeat.pipeline.sources.offsets_log import LogRange
from drumbeat.pipeline.staged_records import RecordFile, in_chunks, read_columns, read_in_order
from drumbeat.pipeline.table_files import DiskFull, TableFiles, table_files
from drumbeat.pipeline.tables.builder import NONE
from drumbeat.pipeline.tables.coverage import ReadRange
from drumbeat.pipeline.tables.group_events import CAUSE_COLUMNS, GroupEvents
from drumbeat.pipeline.tables.group_tables import LogFacts
from drumbeat.pipeline.warehouse import StagedFile

DERIVED: Final = (
    "log_coverage",
    "offset_commits",
    "txn_offset_commits",
    "group_generations",
    "assignments",
    "members",
    "rebalances",
    "group_state_snapshots",
    "lag_points",
    "lag_status",
    "findings",
    "group_activity_daily",
    "compaction_report",
    "verification",
)
STATES: Final = "_states"  # the folder of states, which are no table


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveTask:
    source: LogPartition
    records: tuple[RecordFile, ...]
    watermarks: tuple[str, ...]  # paths
    events: tuple[str, ...]
    read: Read
    state: str | None  # a path
    fingerprint: str  # of the code and its options
    bytes: int
    inputs: str  # a digest of all the above
    compacted: LogRange | None = None  # the log as it stands, if the cleaner has been through it
    lag: ticks.LagOptions = ticks.DEFAULT

    @property
    def log_facts(self) -> LogFacts:
        return LogFacts(
            read_ranges=tuple(ReadRange(start, end - 1) for start, end in self.read.covered),
            log_start_offset=self.read.log_start,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveResult:
    task: DeriveTask
    rows: int = 0
    staged: tuple[StagedFile, ...] = ()
    state: StagedFile | None = None  # None: that of the task remains, if it was taken up
    is_anew: bool = False
    is_full: str | None = None  # what the disk said


def derive_partition(task: DeriveTask, directory: str, name: str) -> DeriveResult:
    """Write the rows of all derived tables to files in `directory`."""
    now = Circumstances(
        task.read,
        GroupEvents(read_columns(GROUP_EVENTS, task.events, CAUSE_COLUMNS)),
        Watermarks(read_columns(WATERMARKS, task.watermarks)),
    )
    try:
        with (
            table_files(directory, f"final-{name}") as final,
            table_files(directory, f"open-{name}") as still_open,
        ):
            return _Derivation(task, now).run(final, still_open, directory, name)
    except DiskFull as problem:
        return DeriveResult(task=task, is_full=str(problem))


class _Derivation:
    def __init__(self, task: DeriveTask, now: Circumstances) -> None:
        self._task, self._now = task, now
        self._resumed = _resumed(task, now)
        if self._resumed is None:
            self._builders = Builders(
                task.source, task.log_facts, now.events, now.watermarks, task.lag
            )
        else:
            self._builders = self._resumed.builders
            self._builders.resume(task.log_facts)
        self._start = self._builders.last_offset
        self._rows = 0

    def run(
        self, final: TableFiles, still_open: TableFiles, directory: str, name: str
    ) -> DeriveResult:
        rest = self._feed_whole_chunks(final)
        through = self._builders.last_offset
        state = self._state(directory, f"{name}.pickle") if through > self._start else None
        if rest is not None:
            self._feed(rest, still_open)
        for batch in self._builders.finish(_compacted(self._task, self._builders.last_offset)):
            still_open.add(batch)
        is_final = state is not None
        about = self._about(self._start + 1, self._builders.last_offset)
        staged = [
            *final.close(replace(about, last_offset=through, is_open=not is_final)),
            *still_open.close(replace(about, first_offset=through + 1, is_open=True)),
        ]
        return DeriveResult(
            task=self._task,
            rows=self._rows,
            staged=tuple(staged),
            state=state,
            is_anew=self._resumed is None,
        )

    def _feed_whole_chunks(self, final: TableFiles) -> pa.RecordBatch | None:
        """What is left at the end of the log."""
        for chunk in self._chunks():
            if len(chunk) < CHUNK_RECORDS:
                return chunk
            self._feed(chunk, final)
        return None

    def _chunks(self) -> Iterator[pa.RecordBatch]:
        return in_chunks(read_in_order(self._task.records, self._start), CHUNK_RECORDS)

    def _feed(self, chunk: pa.RecordBatch, files: TableFiles) -> None:
        self._rows += len(chunk)
        for batch in self._builders.feed(chunk):
            files.add(batch)

    def _state(self, directory: str, name: str) -> StagedFile | None:
        """None while later samples may change rows: then all of them are open."""
        builders, now = self._builders, self._now
        if not is_settled(builders, now.watermarks):
            return None
        path = os.path.join(directory, name)
        before = None if self._resumed is None else self._resumed.assumed
        write_state(path, builders, now, before, self._task.fingerprint)
        about = self._about(0, builders.last_offset)
        file = replace(about, bytes=os.stat(path).st_size)
        return StagedFile(table=STATES, name=name, file=file)

    def _about(self, first_offset: int, last_offset: int) -> DataFile:
        return DataFile(
            path="",
            cluster_id=self._task.source.cluster_id,
            log_partition=self._task.source.log_partition,
            first_offset=first_offset,
            last_offset=max(first_offset, last_offset),
            rows=0,
            bytes=0,
        )


def _compacted(task: DeriveTask, last_offset: int) -> LastValues | None:
    """What the log as it stands has of the same records; None if it cannot be told."""
    if task.compacted is None:
        return None
    values = LastValues()
    try:
        for segment in task.compacted.segments:
            for batch in task.compacted.decoded(segment, LOG_RECORDS.arrow_schema):
                values.feed(batch.filter(pc.less_equal(batch.column("log_offset"), last_offset)))
    except (CorruptSegment, SegmentGone):
        return None
    return values


def _resumed(task: DeriveTask, now: Circumstances) -> Resumed | None:
    if task.state is None:
        return None
    resumed = read_state(task.state, now, task.fingerprint)
    if resumed is not None:
        assert resumed.builders.last_offset != NONE
    return resumed
