"""Rows of many tables to Parquet files, one file per table, written aside and durably.

Runs in Spark's Python workers and imports nothing of Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from drumbeat.log.files import FULL_ERRNOS
from drumbeat.pipeline.errors import WarehouseError
from drumbeat.pipeline.manifest import DataFile
from drumbeat.pipeline.schemas import TABLES
from drumbeat.pipeline.staging import ROW_GROUP_ROWS, sync_path
from drumbeat.pipeline.tables.builder import TableBatch
from drumbeat.pipeline.warehouse import StagedFile

_BATCH_ROWS_MAX: Final = 2 * ROW_GROUP_ROWS


class DiskFull(Exception):  # noqa: N818 - named after the log's own LogFull
    """No space is left for the tables."""


class TableFiles:
    """Files `<table>-<name>` in a directory; a table without rows has none."""

    def __init__(self, directory: str, name: str) -> None:
        self._directory, self._name = directory, name
        self._files: dict[str, _TableFile] = {}

    def add(self, batch: TableBatch) -> None:
        table, rows = batch
        if table not in self._files:
            path = os.path.join(self._directory, f"{table}-{self._name}")
            self._files[table] = _TableFile(table, path)
        self._files[table].add(rows)

    def close(self, about: DataFile) -> list[StagedFile]:
        """Finish all files; each is `about` the same, with a size of its own."""
        return [file.close(about) for file in self._files.values()]

    def discard(self) -> None:
        for file in self._files.values():
            file.discard()


@contextmanager
def table_files(directory: str, name: str) -> Iterator[TableFiles]:
    """For a task: DiskFull, and no file, when there is no space."""
    files = TableFiles(directory, name)
    try:
        yield files
    except OSError as problem:
        files.discard()
        if problem.errno in FULL_ERRNOS:
            raise DiskFull(os.strerror(problem.errno)) from problem
        raise
    except DiskFull:
        files.discard()
        raise


class Written(Protocol):
    """What became of a task that writes."""

    @property
    def is_full(self) -> str | None:
        """What the disk said, if there was no space."""


def refuse_full(path: str, results: Iterable[Written]) -> None:
    """WarehouseError if one of the tasks found no space."""
    for result in results:
        if result.is_full is not None:
            raise WarehouseError(
                f"cannot write to {path}: {result.is_full}; free some space and run again: the "
                "tables are as they were"
            )


class _TableFile:
    def __init__(self, table: str, path: str) -> None:
        self._table, self._path = table, path
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._rows = 0
        self._writer: pq.ParquetWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._waiting_rows += len(batch)
        if self._waiting_rows >= ROW_GROUP_ROWS:
            self._write_row_group()

    def close(self, about: DataFile) -> StagedFile:
        self._write_row_group().close()
        sync_path(self._path)
        name = os.path.basename(self._path)
        size = os.stat(self._path).st_size
        file = replace(about, path=name, rows=self._rows, bytes=size)
        return StagedFile(table=self._table, name=name, file=file)

    def discard(self) -> None:
        """Closing may fail for the same reason."""
        with suppress(OSError):
            if self._writer is not None:
                self._writer.close()
        with suppress(OSError):
            os.unlink(self._path)

    def _write_row_group(self) -> pq.ParquetWriter:
        if self._writer is None:
            schema = TABLES[self._table].arrow_schema
            self._writer = pq.ParquetWriter(
                self._path, schema, compression="zstd", compression_level=1
            )
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), _BATCH_ROWS_MAX)
            self._rows += self._waiting_rows
            self._waiting, self._waiting_rows = [], 0
        return self._writer
