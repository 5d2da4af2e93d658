"""The derive job: staged records become every other table, one Spark task per log partition.

A group lives in one log partition, so no task needs another's rows. A task goes on where the run
before has stopped; partitions whose inputs are what they were at the last time are left alone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

from drumbeat.client.clock import monotonic_ms, now_ms
from drumbeat.pipeline.builder_state import Read, code_fingerprint
from drumbeat.pipeline.deriving import DERIVED, DeriveResult, DeriveTask, derive_partition
from drumbeat.pipeline.inputs import Inputs
from drumbeat.pipeline.lag import ticks
from drumbeat.pipeline.manifest import NO_PARTITION, DataFile, Derived, LogPartition, Manifest
from drumbeat.pipeline.progress import Show, show_nothing
from drumbeat.pipeline.schemas import GROUP_EVENTS, LOG_RECORDS, WATERMARKS
from drumbeat.pipeline.sources.offsets_log import LogRange, OffsetsLog
from drumbeat.pipeline.staged_records import RecordFile
from drumbeat.pipeline.table_files import refuse_full
from drumbeat.pipeline.tasks import run_tasks
from drumbeat.pipeline.warehouse import Warehouse, WarehouseWriter

LAG_INTERVAL_MS: Final = ticks.DEFAULT.bucket_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveReport:
    """What a run did, and the state that it left."""

    manifest: Manifest
    partitions: int
    records: int
    elapsed_ms: int


class DeriveJob:
    """Of the cluster that has the log, for the holder of the warehouse.

    Lag is told for each stretch of `lag_interval_ms`. With another one than the run before had, all
    is derived anew.
    """

    def __init__(
        self, log: OffsetsLog, writer: WarehouseWriter, lag_interval_ms: int = LAG_INTERVAL_MS
    ) -> None:
        self._log, self._writer = log, writer
        self._lag = ticks.LagOptions(bucket_ms=lag_interval_ms)
        self._fingerprint = f"{code_fingerprint()}-{lag_interval_ms}"
        self._warehouse = Warehouse(writer.path)

    def run(self, spark: SparkSession, show: Show = show_nothing) -> DeriveReport:
        started_ms = monotonic_ms()
        manifest = Inputs(self._log, self._writer, self._lag.bucket_ms).gather(spark, now_ms())
        tasks = list(self.tasks(manifest))
        results = run_tasks(spark, tasks, self._writer.staging, derive_partition, show)
        return DeriveReport(
            manifest=self.publish(manifest, results),
            partitions=len(results),
            records=sum(result.rows for result in results),
            elapsed_ms=monotonic_ms() - started_ms,
        )

    def tasks(self, manifest: Manifest) -> Iterator[DeriveTask]:
        """One per log partition of this cluster whose inputs have changed."""
        records: defaultdict[LogPartition, list[DataFile]] = defaultdict(list)
        for file in manifest.files(LOG_RECORDS.name):
            if file.cluster_id == self._log.cluster_id:
                records[file.source].append(file)
        for source, files in records.items():
            task = self._task(manifest, source, files)
            derived = manifest.derived.get(source)
            if derived is None or derived.inputs != task.inputs:
                yield task

    def publish(self, manifest: Manifest, results: Sequence[DeriveResult]) -> Manifest:
        """The state with these results; the one before if that says nothing new."""
        refuse_full(self._writer.path, results)
        staged = [file for result in results for file in result.staged]
        moved: dict[str, list[DataFile]] = {table: [] for table in DERIVED}
        for one, file in zip(staged, self._writer.move_in(staged), strict=True):
            moved[one.table].append(file)
        derived = {result.task.source: self._derived(manifest, result) for result in results}
        anew = {result.task.source for result in results if result.is_anew}
        manifest = manifest.with_derived(derived, moved, anew)
        if manifest == self._writer.manifest:
            return manifest
        return self._writer.publish(manifest, now_ms())

    def _derived(self, manifest: Manifest, result: DeriveResult) -> Derived:
        """With the newest state that leads to the rows that are not open."""
        task = result.task
        if result.state is not None:
            [state] = self._writer.move_in([result.state])
            return Derived(inputs=task.inputs, state=state)
        before = None if result.is_anew else manifest.derived[task.source].state
        return Derived(inputs=task.inputs, state=before)

    def _task(
        self, manifest: Manifest, source: LogPartition, files: Sequence[DataFile]
    ) -> DeriveTask:
        cluster = LogPartition(source.cluster_id, NO_PARTITION)
        watermarks = manifest.files(WATERMARKS.name, cluster)
        events = [
            file
            for file in manifest.files(GROUP_EVENTS.name)
            if file.cluster_id == source.cluster_id
        ]
        read = Read(covered=manifest.covered.get(source, ()), log_start=self._log.log_start(source))
        compacted = self._log.compacted(source)
        derived, paths = manifest.derived.get(source), self._warehouse.paths
        state = None if derived is None else derived.state
        return DeriveTask(
            source=source,
            records=tuple(
                RecordFile(file.first_offset, file.last_offset, path)
                for file, path in zip(files, paths(files), strict=True)
            ),
            watermarks=tuple(paths(watermarks)),
            events=tuple(paths(events)),
            read=read,
            compacted=compacted,
            state=None if state is None else paths([state])[0],
            fingerprint=self._fingerprint,
            bytes=_bytes_after(files, -1 if state is None else state.last_offset),
            inputs=_digest((self._fingerprint, read), compacted, watermarks, events),
            lag=self._lag,
        )


def _bytes_after(files: Iterable[DataFile], last_offset: int) -> int:
    return sum(file.bytes for file in files if file.last_offset > last_offset)


def _digest(
    basis: tuple[str, Read],
    compacted: LogRange | None,
    watermarks: Sequence[DataFile],
    events: Sequence[DataFile],
) -> str:
    """Equal for equal inputs, however they are spread over files."""
    cleaned = None if compacted is None else compacted.segments
    told = (*basis, cleaned, *map(_contents, (watermarks, events)))
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _contents(files: Sequence[DataFile]) -> list[tuple[LogPartition, int, int]]:
    """Tables of facts only grow."""
    rows: defaultdict[LogPartition, int] = defaultdict(int)
    last: defaultdict[LogPartition, int] = defaultdict(int)
    for file in files:
        rows[file.source] += file.rows
        last[file.source] = max(last[file.source], file.last_offset)
    return [(source, rows[source], last[source]) for source in sorted(rows)]
