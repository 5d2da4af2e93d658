"""What the derived tables need besides the log: where topics end, and what coordinators tell.

Ends go to `watermarks`, new records of `__group_events` to `group_events`. A cluster or directory
with neither, such as a copy of the offsets log alone, leaves both as they are: lag is null then,
and causes are inferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

from drumbeat.pipeline.manifest import NO_PARTITION, DataFile, LogPartition, Manifest
from drumbeat.pipeline.progress import show_nothing
from drumbeat.pipeline.progress_rows import about_cluster
from drumbeat.pipeline.schemas import GROUP_EVENTS, PIPELINE_PROGRESS, WATERMARKS
from drumbeat.pipeline.sources.end_offsets import past_rows, watermark_rows
from drumbeat.pipeline.sources.event_log import EventsTask, stage_events
from drumbeat.pipeline.sources.offsets_log import Between, LogEnds, OffsetsLog
from drumbeat.pipeline.staged_records import read_columns
from drumbeat.pipeline.table_files import TableFiles, refuse_full
from drumbeat.pipeline.tasks import run_tasks
from drumbeat.pipeline.warehouse import StagedFile, Warehouse, WarehouseWriter

Ends: TypeAlias = Mapping[tuple[str, int], LogEnds]

_PLACE = ("topic", "partition", "log_start", "high_watermark", "lso")


class Inputs:
    def __init__(self, log: OffsetsLog, writer: WarehouseWriter, every_ms: int) -> None:
        """`every_ms` is how finely ends of the past are wanted."""
        self._log, self._writer, self._every_ms = log, writer, every_ms
        self._cluster = LogPartition(log.cluster_id, NO_PARTITION)

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
        tasks = []
        for partition in self._log.event_partitions():
            source = LogPartition(self._log.cluster_id, partition)
            start = _next_event(manifest, source)
            reader = self._log.event_reader(partition, start)
            if reader.bytes:
                tasks.append(EventsTask(source=source, reader=reader, start_offset=start))
        return tasks

    def _sampled(self, manifest: Manifest, now_ms: int) -> list[StagedFile]:
        """A sample, and what is remembered of the time since the newest one before; nothing if
        that still holds.

        It is not older than the newest record that is staged: between two samples the end is
        interpolated, and behind the last one nobody knows.
        """
        topics = manifest.topics.get(self._log.cluster_id, ())
        ends = self._log.topic_ends(topics)
        newest = self._newest(manifest, WATERMARKS.name)
        known = self._known(newest)
        if not ends or (not self._has_news(manifest, newest) and known == ends):
            return []
        sampled_at = now_ms if newest is None else max(now_ms, newest.last_offset + 1)
        files = TableFiles(self._writer.staging, f"{sampled_at}.parquet")
        files.add((WATERMARKS.name, watermark_rows(self._log, ends, sampled_at)))
        consumed = {place: found for place, found in ends.items() if place[0] in topics}
        span = (0 if newest is None else newest.last_offset, sampled_at)
        for rows in self._past(known, consumed, span):
            files.add((WATERMARKS.name, rows))
        return files.close(about_cluster(self._log.cluster_id, sampled_at))

    def _past(self, known: Ends, ends: Ends, span: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        """Between two samples. Where a log began at that time is not remembered: it may have been
        where it was at the first one, or at its very beginning."""
        from_ms, until_ms = span
        if until_ms - from_ms <= self._every_ms:
            return
        for place, (_, log_end, _) in sorted(ends.items()):
            log_start, start, _ = known.get(place, LogEnds(0, 0))
            is_anew = log_end < start
            asked = Between(*span, 0 if is_anew else start, log_end)
            past = self._log.past_ends(place, asked, self._every_ms)
            if past:
                yield past_rows(self._log, place, 0 if is_anew else log_start, past)

    def _has_news(self, manifest: Manifest, sample: DataFile | None) -> bool:
        """Whether records were staged after the sample was taken."""
        staged = self._newest(manifest, PIPELINE_PROGRESS.name)
        return staged is not None and sample is not None and staged.last_offset > sample.last_offset

    def _newest(self, manifest: Manifest, table: str) -> DataFile | None:
        files = manifest.files(table, self._cluster)
        return max(files, key=lambda file: file.last_offset, default=None)

    def _known(self, sample: DataFile | None) -> Ends:
        """What the newest sample says; its file may hold others before it."""
        if sample is None:
            return {}
        [path] = Warehouse(self._writer.path).paths([sample])
        names = (*_PLACE, "sampled_at")
        return {
            (topic, partition): LogEnds(log_start, log_end, lso)
            for batch in read_columns(WATERMARKS, [path], names)
            for topic, partition, log_start, log_end, lso, sampled_at in zip(
                *(batch.column(name).to_pylist() for name in names), strict=True
            )
            if sampled_at == sample.last_offset
        }


def _next_event(manifest: Manifest, source: LogPartition) -> int:
    files = manifest.files(GROUP_EVENTS.name, source)
    return max((file.last_offset for file in files), default=-1) + 1
