"""The derive job: staged records become every other table, one Spark task per log partition.

A group lives in one log partition, so no task needs another's rows. A partition's derived tables
are made anew from all its records, and replaced at once; partitions whose inputs are what they were
at the last time are left alone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

from drumbeat.client.clock import monotonic_ms, now_ms
from drumbeat.pipeline.deriving import DERIVED, DeriveResult, DeriveTask, derive_partition
from drumbeat.pipeline.inputs import Inputs
from drumbeat.pipeline.manifest import NO_PARTITION, DataFile, LogPartition, Manifest
from drumbeat.pipeline.progress import Show, show_nothing
from drumbeat.pipeline.schemas import GROUP_EVENTS, LOG_RECORDS, WATERMARKS
from drumbeat.pipeline.sources.log_folder import LogFolder
from drumbeat.pipeline.staged_records import RecordFile
from drumbeat.pipeline.table_files import refuse_full
from drumbeat.pipeline.tables.coverage import ReadRange
from drumbeat.pipeline.tables.group_tables import LogFacts
from drumbeat.pipeline.tasks import run_tasks
from drumbeat.pipeline.warehouse import Warehouse, WarehouseWriter

# Part of what tells whether a partition is to be derived again: a version of drumbeat that gives
# other rows for the same log has another number.
DERIVATION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveReport:
    """What a run did, and the state that it left."""

    manifest: Manifest
    partitions: int
    records: int
    elapsed_ms: int


class DeriveJob:
    """Of the cluster whose log is in `folder`, for the holder of the warehouse."""

    def __init__(self, folder: LogFolder, writer: WarehouseWriter) -> None:
        self._folder, self._writer = folder, writer
        self._warehouse = Warehouse(writer.path)

    def run(self, spark: SparkSession, show: Show = show_nothing) -> DeriveReport:
        started_ms = monotonic_ms()
        manifest = Inputs(self._folder, self._writer).gather(spark, now_ms())
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
            if file.cluster_id == self._folder.cluster_id:
                records[file.source].append(file)
        for source, files in records.items():
            task = self._task(manifest, source, files)
            if manifest.derived.get(source) != task.inputs:
                yield task

    def publish(self, manifest: Manifest, results: Sequence[DeriveResult]) -> Manifest:
        """The state with these results; the one before if that says nothing new."""
        refuse_full(self._writer.path, results)
        staged = [file for result in results for file in result.staged]
        moved: defaultdict[str, list[DataFile]] = defaultdict(list)
        for one, file in zip(staged, self._writer.move_in(staged), strict=True):
            moved[one.table].append(file)
        inputs = {result.task.source: result.task.inputs for result in results}
        manifest = manifest.with_derived(DERIVED, inputs, moved)
        if manifest == self._writer.manifest:
            return manifest
        return self._writer.publish(manifest, now_ms())

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
        covered = manifest.covered.get(source, ())
        log = LogFacts(
            read_ranges=tuple(ReadRange(start, end - 1) for start, end in covered),
            log_start_offset=self._folder.log_start(source),
        )
        paths = self._warehouse.paths
        return DeriveTask(
            source=source,
            records=tuple(
                RecordFile(file.first_offset, file.last_offset, path)
                for file, path in zip(files, paths(files), strict=True)
            ),
            watermarks=tuple(paths(watermarks)),
            events=tuple(paths(events)),
            log=log,
            bytes=sum(file.bytes for file in files),
            inputs=_digest([*files, *watermarks, *events], log),
        )


def _digest(files: Sequence[DataFile], log: LogFacts) -> str:
    """Equal for equal inputs. A file never changes, and its name is never used again."""
    told = repr((DERIVATION, [file.path for file in files], log))
    return hashlib.sha256(told.encode()).hexdigest()
