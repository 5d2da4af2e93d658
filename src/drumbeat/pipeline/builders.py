"""All builders of one log partition, and what they have to remember to go on later.

Builders look at a batch of records as a whole, and what they make of it may depend on where the
batch ends. So batches have a fixed number of records, counted from the first one of the log: then
it makes no difference how many runs there were, or where they stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.findings.compaction import LastValues
from drumbeat.pipeline.findings.marts import PartitionMarts
from drumbeat.pipeline.lag import ticks
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.pipeline.tables import builder
from drumbeat.pipeline.tables.builder import NONE, TableBatch
from drumbeat.pipeline.tables.group_events import GroupEvents
from drumbeat.pipeline.tables.group_tables import LogFacts
from drumbeat.pipeline.tables.partition_tables import PartitionTables

# Small enough to look at again in every run of a job that follows the log, up to this number.
CHUNK_RECORDS: Final = 8_192


class Builders:
    """Tables and marts of one log partition, together."""

    def __init__(
        self,
        source: LogPartition,
        log: LogFacts,
        events: GroupEvents,
        watermarks: Watermarks,
        lag: ticks.LagOptions = ticks.DEFAULT,
    ) -> None:
        of_log = builder.LogPartition(*source)
        self._tables = PartitionTables(of_log, log, events)
        self._marts = PartitionMarts(of_log, watermarks, lag)
        self.last_offset = NONE  # of the records that were fed
        self.newest_ms = 0

    def resume(self, log: LogFacts) -> None:
        """The log has grown since."""
        self._tables.resume(log)

    def feed(self, chunk: pa.RecordBatch) -> Iterator[TableBatch]:
        """Rows that these records complete. All chunks but the last have CHUNK_RECORDS."""
        self.last_offset = chunk.column("log_offset")[-1].as_py()
        self.newest_ms = max(self.newest_ms, pc.max(chunk.column("append_ts")).as_py())
        yield from self._marts.feed(LOG_RECORDS.name, chunk)
        for derived in self._tables.feed(chunk):
            yield derived
            yield from self._marts.feed(*derived)

    def finish(self, compacted: LastValues | None = None) -> Iterator[TableBatch]:
        """Rows that are open at the end of the log. Nothing can be fed afterwards."""
        still_open = list(self._tables.finish())
        yield from still_open
        yield from self._marts.finished(still_open, compacted)
