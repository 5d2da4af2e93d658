"""Every mart of one log partition, from its records and the tables that were built of them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from drumbeat.pipeline.findings.activity import GroupActivity
from drumbeat.pipeline.findings.builder import Findings
from drumbeat.pipeline.findings.compaction import LastValues, report
from drumbeat.pipeline.findings.invariants import Verification
from drumbeat.pipeline.findings.rule import Limits
from drumbeat.pipeline.lag.builder import LagTables
from drumbeat.pipeline.lag.ticks import LagOptions
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.tables.builder import LogPartition, TableBatch

_OPTIONS: Final = LagOptions()
_LIMITS: Final = Limits()


class PartitionMarts:
    """Fed with `log_records` and with whatever the builders of other tables yield."""

    def __init__(
        self,
        source: LogPartition,
        watermarks: Watermarks,
        options: LagOptions = _OPTIONS,
        limits: Limits = _LIMITS,
    ) -> None:
        self._source, self._watermarks = source, watermarks
        self._lag = LagTables(source, watermarks, options)
        self._findings = Findings(source, watermarks, limits)
        self._activity = GroupActivity(source)
        self._verification = Verification(source)
        self._last_values = LastValues()

    def feed(self, table: str, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        if table in Findings.tables:
            self._findings.feed(table, batch)
        if table in GroupActivity.tables:
            self._activity.feed(table, batch)
        if table in Verification.tables:
            yield from self._verification.feed(table, batch)
        if table == "log_records":
            self._last_values.feed(batch)
        if table == "offset_commits":
            yield from self._with_findings(self._lag.feed(batch))

    def finish(
        self, open_rows: Iterable[TableBatch] = (), compacted: LastValues | None = None
    ) -> Iterator[TableBatch]:
        """Marts as of now, given the rows that the other builders have open; more may be fed
        afterwards, because a copy of the state takes those rows."""
        shared = {id(self._watermarks): self._watermarks}
        snapshot = copy.deepcopy(self, shared)
        yield from snapshot.finished(open_rows, compacted)

    def finished(
        self, open_rows: Iterable[TableBatch], compacted: LastValues | None
    ) -> Iterator[TableBatch]:
        """The same without a copy: for the last time."""
        for table, batch in open_rows:
            yield from self.feed(table, batch)
        yield from self._with_findings(self._lag.finish())
        yield from self._findings.finish()
        yield from self._activity.finish()
        yield from self._verification.finish()
        yield from report(self._source, self._last_values, compacted)

    def _with_findings(self, batches: Iterator[TableBatch]) -> Iterator[TableBatch]:
        for table, batch in batches:
            self._findings.feed(table, batch)
            yield table, batch
