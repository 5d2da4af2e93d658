"""Small files of many runs become one: readers open fewer, and the rows are the same.

A table's files of one log partition are merged when there are many small ones side by side. The
manifest that names the new file in their stead appears as any other state does, so that each row
counts once whatever happens. Open rows are left alone: the next run replaces them anyway.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from drumbeat.client.clock import now_ms
from drumbeat.pipeline.decode.table import CODED
from drumbeat.pipeline.manifest import DataFile, LogPartition, Manifest
from drumbeat.pipeline.progress import show_nothing
from drumbeat.pipeline.schemas import LOG_RECORDS, TABLES
from drumbeat.pipeline.staged_records import RecordFile, in_chunks, read_columns, read_in_order
from drumbeat.pipeline.staging import ROW_GROUP_ROWS, open_parquet, sync_path
from drumbeat.pipeline.table_files import DiskFull, TableFiles, refuse_full, table_files
from drumbeat.pipeline.tasks import run_tasks
from drumbeat.pipeline.warehouse import StagedFile, Warehouse, WarehouseWriter

SMALL_BYTES_MAX: Final = 8 << 20
SMALL_FILES_MAX: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    table: str
    files: tuple[DataFile, ...]  # in order
    paths: tuple[str, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def merged(self) -> DataFile:
        """What the new file is about."""
        return replace(
            self.files[0],
            first_offset=min(file.first_offset for file in self.files),
            last_offset=max(file.last_offset for file in self.files),
            rows=sum(file.rows for file in self.files),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    task: MergeTask
    staged: StagedFile | None = None
    is_full: str | None = None  # what the disk said

    @property
    def rows(self) -> int:
        return self.task.merged.rows


class MergeJob:
    def __init__(self, writer: WarehouseWriter, files_max: int = SMALL_FILES_MAX) -> None:
        self._writer, self._files_max = writer, files_max
        self._warehouse = Warehouse(writer.path)

    def run(self, spark: SparkSession) -> Manifest:
        """The newest state, with fewer files if there were too many."""
        tasks = list(self.tasks())
        results = run_tasks(spark, tasks, self._writer.staging, merge_files, show_nothing)
        return self.publish(results)

    def tasks(self) -> Iterator[MergeTask]:
        for table, files in self._writer.manifest.tables.items():
            by_source: defaultdict[LogPartition, list[DataFile]] = defaultdict(list)
            for file in files:
                if not file.is_open:
                    by_source[file.source].append(file)
            for of_source in by_source.values():
                for small in _side_by_side(of_source):
                    if len(small) > self._files_max:
                        paths = tuple(self._warehouse.paths(small))
                        yield MergeTask(table=table, files=tuple(small), paths=paths)

    def publish(self, results: Sequence[MergeResult]) -> Manifest:
        refuse_full(self._writer.path, results)
        manifest = self._writer.manifest
        for result in results:
            assert result.staged is not None  # or the disk was full
            [file] = self._writer.move_in([result.staged])
            manifest = manifest.with_files(result.task.table, [file], result.task.files)
        return self._writer.publish(manifest, now_ms()) if results else manifest


def merge_files(task: MergeTask, directory: str, name: str) -> MergeResult:
    """Write the rows of all these files to one in `directory`. Imports nothing of Spark."""
    write = _write_records if task.table == LOG_RECORDS.name else _write_rows
    try:
        with table_files(directory, name) as files:
            staged = write(task, files, os.path.join(directory, name))
    except DiskFull as problem:
        return MergeResult(task=task, is_full=str(problem))
    assert staged.file.rows == task.merged.rows
    return MergeResult(task=task, staged=staged)


def _write_rows(task: MergeTask, files: TableFiles, _path: str) -> StagedFile:
    for batch in read_columns(TABLES[task.table], task.paths):
        files.add((task.table, batch))
    [staged] = files.close(task.merged)
    return staged


def _write_records(task: MergeTask, _files: TableFiles, path: str) -> StagedFile:
    """In order of offsets, and stored as the stage job stores them."""
    records = [
        RecordFile(file.first_offset, file.last_offset, at)
        for file, at in zip(task.files, task.paths, strict=True)
    ]
    rows = 0
    with open_parquet(path) as writer:
        for chunk in in_chunks(read_in_order(records), ROW_GROUP_ROWS):
            rows += len(chunk)
            writer.write_table(pa.Table.from_batches([chunk]).cast(CODED), ROW_GROUP_ROWS)
    sync_path(path)
    file = replace(task.merged, rows=rows, bytes=os.stat(path).st_size)
    return StagedFile(table=task.table, name=os.path.basename(path), file=file)


def _side_by_side(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Stretches of small files that follow each other."""
    stretch: list[DataFile] = []
    for file in files:
        if file.bytes < SMALL_BYTES_MAX:
            stretch.append(file)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch
