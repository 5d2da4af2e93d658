"""What the derived tables need besides the log, from the data directory that the log is in.

Where topics begin and end now goes to `watermarks`, new records of `__group_events` to
`group_events`. A directory with neither, such as a copy of the offsets log alone, leaves both as
they are: lag is null then, and causes are inferred.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from drumbeat.pipeline.manifest import NO_PARTITION, LogPartition, Manifest
from drumbeat.pipeline.progress import show_nothing
from drumbeat.pipeline.progress_rows import about_cluster
from drumbeat.pipeline.schemas import GROUP_EVENTS, WATERMARKS
from drumbeat.pipeline.sources.end_offsets import LogEnds, topic_ends, watermark_rows
from drumbeat.pipeline.sources.event_log import (
    EventsTask,
    event_partitions,
    events_task,
    stage_events,
)
from drumbeat.pipeline.sources.log_folder import LogFolder
from drumbeat.pipeline.staged_records import read_columns
from drumbeat.pipeline.table_files import TableFiles, refuse_full
from drumbeat.pipeline.tasks import run_tasks
from drumbeat.pipeline.warehouse import StagedFile, Warehouse, WarehouseWriter

_PLACE = ("topic", "partition", "log_start", "high_watermark")


class Inputs:
    def __init__(self, folder: LogFolder, writer: WarehouseWriter) -> None:
        self._folder, self._writer = folder, writer
        self._cluster = LogPartition(folder.cluster_id, NO_PARTITION)

    def gather(self, spark: SparkSession, now_ms: int) -> Manifest:
        """The newest state with what is new. It is moved in, and not published."""
        manifest = self._writer.manifest
        samples = self._writer.move_in(self._sampled(manifest, now_ms))
        manifest = manifest.with_files(WATERMARKS.name, samples)
        events = run_tasks(
            spark, self._event_tasks(manifest), self._writer.staging, stage_events, show_nothing
        )
        refuse_full(self._writer.path, events)
        staged = [file for result in events for file in result.staged]
        return manifest.with_files(GROUP_EVENTS.name, self._writer.move_in(staged))

    def _event_tasks(self, manifest: Manifest) -> Sequence[EventsTask]:
        sources = (
            LogPartition(self._folder.cluster_id, partition)
            for partition in event_partitions(self._folder.path)
        )
        return [
            events_task(self._folder.path, source, _next_event(manifest, source))
            for source in sources
        ]

    def _sampled(self, manifest: Manifest, now_ms: int) -> list[StagedFile]:
        """A sample if anything changed since the newest one."""
        ends = topic_ends(self._folder.path)
        if not ends or self._known_ends(manifest) == ends:
            return []
        files = TableFiles(self._writer.staging, f"{now_ms}.parquet")
        files.add((WATERMARKS.name, watermark_rows(self._folder.cluster_id, ends, now_ms)))
        return files.close(about_cluster(self._folder.cluster_id, now_ms))

    def _known_ends(self, manifest: Manifest) -> dict[tuple[str, int], LogEnds]:
        newest = manifest.files(WATERMARKS.name, self._cluster)[-1:]
        paths = Warehouse(self._writer.path).paths(newest)
        return {
            (topic, partition): LogEnds(log_start, log_end)
            for batch in read_columns(WATERMARKS, paths, _PLACE)
            for topic, partition, log_start, log_end in zip(
                *(batch.column(name).to_pylist() for name in _PLACE), strict=True
            )
        }


def _next_event(manifest: Manifest, source: LogPartition) -> int:
    files = manifest.files(GROUP_EVENTS.name, source)
    return max((file.last_offset for file in files), default=-1) + 1
