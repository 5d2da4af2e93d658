"""What a task of the derive job does: one log partition's staged records to all derived tables.

Runs in Spark's Python workers and imports nothing of Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from drumbeat.pipeline.findings.marts import PartitionMarts
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.manifest import DataFile, LogPartition
from drumbeat.pipeline.schemas import GROUP_EVENTS, LOG_RECORDS, WATERMARKS
from drumbeat.pipeline.staged_records import RecordFile, read_columns, read_in_order
from drumbeat.pipeline.table_files import DiskFull, table_files
from drumbeat.pipeline.tables import builder
from drumbeat.pipeline.tables.builder import TableBatch
from drumbeat.pipeline.tables.group_events import CAUSE_COLUMNS, GroupEvents
from drumbeat.pipeline.tables.group_tables import LogFacts
from drumbeat.pipeline.tables.partition_tables import PartitionTables
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveTask:
    source: LogPartition
    records: tuple[RecordFile, ...]
    watermarks: tuple[str, ...]  # paths
    events: tuple[str, ...]
    log: LogFacts
    bytes: int
    inputs: str  # a digest of all the above


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveResult:
    task: DeriveTask
    rows: int = 0
    staged: tuple[StagedFile, ...] = ()
    is_full: str | None = None  # what the disk said


def derive_partition(task: DeriveTask, directory: str, name: str) -> DeriveResult:
    """Write all rows of all derived tables to files in `directory`."""
    builders = Builders(
        task.source,
        task.log,
        GroupEvents(read_columns(GROUP_EVENTS, task.events, CAUSE_COLUMNS)),
        Watermarks(read_columns(WATERMARKS, task.watermarks)),
    )
    try:
        with table_files(directory, name) as files:
            for batch in builders.derived(read_in_order(task.records)):
                files.add(batch)
            staged = files.close(_about(task))
    except DiskFull as problem:
        return DeriveResult(task=task, is_full=str(problem))
    return DeriveResult(task=task, rows=builders.records, staged=tuple(staged))


class Builders:
    """Tables and marts of one log partition, together."""

    def __init__(
        self, source: LogPartition, log: LogFacts, events: GroupEvents, watermarks: Watermarks
    ) -> None:
        of_log = builder.LogPartition(*source)
        self._tables = PartitionTables(of_log, log, events)
        self._marts = PartitionMarts(of_log, watermarks)
        self.records = 0  # that were read

    def derived(self, records: Iterable[pa.RecordBatch]) -> Iterator[TableBatch]:
        """All rows, given all records in the order of the log."""
        for batch in records:
            self.records += len(batch)
            yield from self._marts.feed(LOG_RECORDS.name, batch)
            for derived in self._tables.feed(batch):
                yield derived
                yield from self._marts.feed(*derived)
        still_open = list(self._tables.finish())
        yield from still_open
        yield from self._marts.finished(still_open, None)


def _about(task: DeriveTask) -> DataFile:
    return DataFile(
        path="",
        cluster_id=task.source.cluster_id,
        log_partition=task.source.log_partition,
        first_offset=min(file.first_offset for file in task.records),
        last_offset=max(file.last_offset for file in task.records),
        rows=0,
        bytes=0,
    )
