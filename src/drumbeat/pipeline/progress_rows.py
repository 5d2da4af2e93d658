"""Rows of `pipeline_progress`: how far a batch got in each log partition, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from drumbeat.pipeline.manifest import NO_PARTITION, DataFile, LogPartition
from drumbeat.pipeline.schemas import PIPELINE_PROGRESS
from drumbeat.pipeline.table_files import TableFiles
from drumbeat.pipeline.warehouse import StagedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Of one log partition, after a batch."""

    source: LogPartition
    batch_id: str
    read_offset: int
    log_end: int | None
    records: int
    elapsed_ms: int

    def row(self, at_ms: int) -> dict[str, Any]:
        return {
            **self.source._asdict(),
            "batch_id": self.batch_id,
            "read_offset": self.read_offset,
            "hw": self.log_end,
            "lag": None if self.log_end is None else max(self.log_end - self.read_offset, 0),
            "records": self.records,
            "rec_s": self.records * 1000 / max(self.elapsed_ms, 1),
            "at_ms": at_ms,
        }


def stage_progress(directory: str, batch: Sequence[Freshness], at_ms: int) -> list[StagedFile]:
    """One small file in `directory`; none for a batch without records."""
    if not batch:
        return []
    rows = [freshness.row(at_ms) for freshness in batch]
    files = TableFiles(directory, f"{at_ms}.parquet")
    schema = PIPELINE_PROGRESS.arrow_schema
    files.add((PIPELINE_PROGRESS.name, pa.RecordBatch.from_pylist(rows, schema=schema)))
    return files.close(about_cluster(batch[0].source.cluster_id, at_ms))


def about_cluster(cluster_id: str, at_ms: int) -> DataFile:
    """What a file is about that belongs to no log partition."""
    return DataFile(
        path="",
        cluster_id=cluster_id,
        log_partition=NO_PARTITION,
        first_offset=at_ms,
        last_offset=at_ms,
        rows=0,
        bytes=0,
    )
