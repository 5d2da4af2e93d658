"""Every builder over one log partition: what a Spark task, or a stream, runs."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from drumbeat.pipeline.tables.builder import LogPartition, TableBatch, TableBuilder
from drumbeat.pipeline.tables.group_events import GroupEvents
from drumbeat.pipeline.tables.group_tables import UNKNOWN, GroupTables, LogFacts
from drumbeat.pipeline.tables.snapshots import INTERVAL_MS, Snapshots


class PartitionTables:
    """Feeds each batch to all builders."""

    def __init__(
        self,
        source: LogPartition,
        log: LogFacts = UNKNOWN,
        events: GroupEvents | None = None,
        snapshot_interval_ms: int = INTERVAL_MS,
    ) -> None:
        self._groups = GroupTables(source, log, events)
        self._builders: tuple[TableBuilder, ...] = (
            self._groups,
            Snapshots(source, snapshot_interval_ms),
        )

    def resume(self, log: LogFacts) -> None:
        """Go on where the same builders ended, with a log that has grown."""
        self._groups.resume(log)

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        for builder in self._builders:
            yield from builder.feed(batch)

    def finish(self) -> Iterator[TableBatch]:
        for builder in self._builders:
            yield from builder.finish()
