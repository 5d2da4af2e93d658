"""The stage job: what is new in a log becomes Parquet files of a warehouse, each record once.

The manifest says which offsets were read; a run reads the others and publishes both at once. So a
run may be repeated, killed or overtaken by compaction, and every record still appears once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from drumbeat.client.clock import monotonic_ms, now_ms
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.errors import PipelineError, WarehouseError
from drumbeat.pipeline.manifest import LogPartition, Manifest
from drumbeat.pipeline.progress import Show, show_nothing
from drumbeat.pipeline.progress_rows import Freshness, stage_progress
from drumbeat.pipeline.schemas import LOG_RECORDS, PIPELINE_PROGRESS
from drumbeat.pipeline.sources.offsets_log import LogRange, OffsetsLog
from drumbeat.pipeline.sources.open_log import open_log
from drumbeat.pipeline.staging import RangeResult, stage_range
from drumbeat.pipeline.table_files import refuse_full
from drumbeat.pipeline.tasks import run_tasks
from drumbeat.pipeline.warehouse import StagedFile, Warehouse, WarehouseWriter

LISTINGS_MAX: Final = 3  # compaction that deletes what was listed, twice in one run, is no chance
SHARED_BYTES_MAX: Final = 16 << 20  # of the log in one task; takes some 200 ms
_EVERYTHING: Final = OffsetRange.of(None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """What a run did, and the state that it left."""

    manifest: Manifest
    rows: int
    bytes: int  # of the log that was read
    files: int
    elapsed_ms: int
    damage: tuple[str, ...]


@contextmanager
def open_stage_job(
    source: str,
    warehouse: str,
    cluster_id: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Iterator[StageJob]:
    """Holds the warehouse. What can be refused is refused here, before Spark has to start.

    The source is a data directory, or addresses of brokers; `options` are a client's, for these.
    """
    log = open_log(source, cluster_id, options)
    try:
        with Warehouse(warehouse).writer(new_run_id()) as writer:
            yield StageJob(log, writer)
    except ConnectionError:
        raise
    except OSError as problem:
        raise WarehouseError(
            f"cannot write to {os.path.abspath(warehouse)}: {problem.strerror or problem}"
        ) from problem


def new_run_id() -> str:
    """Unlike that of any other run, whose tasks may still be at work after its driver's death."""
    return f"{now_ms()}-{os.urandom(4).hex()}"


class StageJob:
    def __init__(self, log: OffsetsLog, writer: WarehouseWriter) -> None:
        self.log = log
        self.writer = writer
        self.staging = writer.staging

    def run(self, spark: SparkSession, show: Show = show_nothing) -> StageReport:
        """Read what is there by now. May be called again and again."""
        started_ms = monotonic_ms()
        done: list[RangeResult] = []
        for _ in range(LISTINGS_MAX):
            began_ms = monotonic_ms()
            self.log = self.log.refreshed()
            results = run_tasks(
                spark, self.plan(), self.staging, stage_range, show, SHARED_BYTES_MAX
            )
            self.publish(results, monotonic_ms() - began_ms)
            done += results
            if not any(result.is_gone for result in results):
                break
        else:
            raise PipelineError(
                f"segments were deleted while they were read, {LISTINGS_MAX} times in a row; what "
                "could be read is published: run again for the rest"
            )
        return self._report(done, monotonic_ms() - started_ms)

    def plan(self) -> list[LogRange]:
        """What the manifest does not count as read."""
        return [
            log_range
            for source in self.log.sources()
            for log_range in self._unread(source, self.writer.manifest)
        ]

    def publish(self, results: Sequence[RangeResult], elapsed_ms: int = 0) -> None:
        """Nothing, if there is no news; but a first manifest says that there are no records."""
        refuse_full(self.writer.path, results)
        staged = [result.staged for result in results if result.staged is not None]
        read = [(result.log_range.source, offsets) for result in results for offsets in result.read]
        before = self.writer.manifest
        manifest = before.with_covered(read)
        if not staged and manifest.covered == before.covered and manifest.number:
            return
        topics = {topic for result in results for topic in result.topics}
        manifest = manifest.with_cluster(self.log.cluster_id, len(self.log.sources()), topics)
        progress = self._progress(results, manifest, elapsed_ms)
        manifest = manifest.with_files(LOG_RECORDS.name, self.writer.move_in(staged))
        manifest = manifest.with_files(PIPELINE_PROGRESS.name, self.writer.move_in(progress))
        self.writer.publish(manifest, now_ms())

    def _unread(self, source: LogPartition, manifest: Manifest) -> Iterator[LogRange]:
        return self.log.ranges(source, _EVERYTHING, manifest.covered.get(source, ()))

    def _progress(
        self, results: Sequence[RangeResult], manifest: Manifest, elapsed_ms: int
    ) -> list[StagedFile]:
        """How far each partition is that has news."""
        records = Counter[LogPartition]()
        for result in results:
            records[result.log_range.source] += result.rows
        return stage_progress(
            self.staging,
            [
                Freshness(
                    source=source,
                    batch_id=self.writer.run_id,
                    read_offset=self._next_offset(source, manifest),
                    log_end=self.log.log_end(source),
                    records=count,
                    elapsed_ms=elapsed_ms,
                )
                for source, count in sorted(records.items())
                if count
            ],
            now_ms(),
        )

    def _next_offset(self, source: LogPartition, manifest: Manifest) -> int:
        """Where the next run begins: behind all that was read, or where a part is damaged."""
        unread = (part.segments[0].start_offset for part in self._unread(source, manifest))
        return min(unread, default=manifest.covered[source][-1].end)

    def _report(self, results: Sequence[RangeResult], elapsed_ms: int) -> StageReport:
        return StageReport(
            manifest=self.writer.manifest,
            rows=sum(result.rows for result in results),
            bytes=sum(result.log_range.bytes for result in results),
            files=sum(result.staged is not None for result in results),
            elapsed_ms=elapsed_ms,
            damage=tuple(text for result in results for text in result.damage),
        )
