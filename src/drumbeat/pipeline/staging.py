"""What a task of the stage job does: one range of the log to one Parquet file of `log_records`.

Runs in Spark's Python workers and imports nothing of Spark. Rows go from the decoder to the file
without passing through the JVM, which would cost several times as much as the decoding.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from drumbeat.log.files import FULL_ERRNOS
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.decode.errors import CorruptSegment, SegmentGone
from drumbeat.pipeline.decode.table import CODED
from drumbeat.pipeline.manifest import DataFile
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.pipeline.sources.offsets_log import LogRange, Segment
from drumbeat.pipeline.warehouse import StagedFile

ROW_GROUP_ROWS: Final = 250_000
_OFFSET_MAX: Final = 2**63 - 1
# Nearly every value is a new one, close to the one before.
_RISING: Final = ("log_offset", "append_ts", "batch_base_offset", "committed_offset", "commit_ts")
_SEARCHED: Final = ("log_offset", "append_ts", "key_type", "group_id", "topic", "commit_ts")


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeResult:
    """What became of a range. Without rows there is no file."""

    log_range: LogRange
    staged: StagedFile | None = None
    read: tuple[OffsetRange, ...] = ()
    damage: tuple[str, ...] = ()
    topics: frozenset[str] = frozenset()  # that are committed to
    is_gone: bool = False  # a segment was superseded and expired meanwhile: list again
    is_full: str | None = None  # what the disk said

    @property
    def rows(self) -> int:
        return 0 if self.staged is None else self.staged.file.rows


def stage_range(log_range: LogRange, directory: str, name: str) -> RangeResult:
    """Write the range's records to `directory`/`name`, durably."""
    task = _StageTask(log_range, os.path.join(directory, name))
    try:
        return task.run(name)
    except OSError as problem:
        task.discard()
        if problem.errno in FULL_ERRNOS:
            return RangeResult(log_range=log_range, is_full=os.strerror(problem.errno))
        raise


class _StageTask:
    def __init__(self, log_range: LogRange, path: str) -> None:
        self._range = log_range
        self._path = path
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[pa.RecordBatch] = []
        self._row_count = 0
        self._first_offset = self._last_offset = -1
        self._read: list[OffsetRange] = []
        self._damage: list[str] = []
        self._topics: set[str] = set()
        self._is_gone = False

    def run(self, name: str) -> RangeResult:
        for segment in self._range.segments:
            self._stage(segment)
        self._write_row_group()
        return RangeResult(
            log_range=self._range,
            staged=None if self._writer is None else self._close(self._writer, name),
            read=tuple(self._read),
            damage=tuple(self._damage),
            topics=frozenset(self._topics),
            is_gone=self._is_gone,
        )

    def discard(self) -> None:
        """Give up the file; closing it may fail for the same reason."""
        with suppress(OSError):
            if self._writer is not None:
                self._writer.close()
        with suppress(OSError):
            os.unlink(self._path)

    def _stage(self, segment: Segment) -> None:
        """As far as the segment can be read: what follows damage is not counted as read."""
        end = segment.start_offset
        try:
            for rows in self._range.decoded(segment, CODED):
                self._add(rows)
                end = self._last_offset + 1
        except CorruptSegment as damage:
            self._damage.append(str(damage))
        except SegmentGone:
            self._is_gone = True
        else:
            is_open = segment.end_offset == _OFFSET_MAX  # more is going to be appended
            end = end if is_open else segment.end_offset
        self._read.append(OffsetRange(segment.start_offset, end))

    def _add(self, rows: pa.RecordBatch) -> None:
        offsets = rows.column("log_offset")
        if self._first_offset < 0:
            self._first_offset = offsets[0].as_py()
        self._last_offset = offsets[-1].as_py()
        self._rows.append(rows)
        self._row_count += rows.num_rows
        if sum(batch.num_rows for batch in self._rows) >= ROW_GROUP_ROWS:
            self._write_row_group()

    def _write_row_group(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            self._writer = open_parquet(self._path)
        # A row group has one dictionary per column.
        rows = pa.Table.from_batches(self._rows).unify_dictionaries()
        self._topics.update(filter(None, rows["topic"].unique().to_pylist()))
        self._writer.write_table(rows, ROW_GROUP_ROWS * 2)
        self._rows.clear()

    def _close(self, writer: pq.ParquetWriter, name: str) -> StagedFile:
        writer.close()
        sync_path(self._path)
        file = DataFile(
            path=name,
            cluster_id=self._range.source.cluster_id,
            log_partition=self._range.source.log_partition,
            first_offset=self._first_offset,
            last_offset=self._last_offset,
            rows=self._row_count,
            bytes=os.stat(self._path).st_size,
        )
        return StagedFile(table=LOG_RECORDS.name, name=name, file=file)


def open_parquet(path: str) -> pq.ParquetWriter:
    """A writer of rows that are CODED: columns that rise are stored as differences, others by
    value. Readers get plain text, since the file does not tell them what it was written from."""
    return pq.ParquetWriter(
        path,
        CODED,
        compression="zstd",
        compression_level=1,
        use_dictionary=[name for name in CODED.names if name not in _RISING],
        column_encoding=dict.fromkeys(_RISING, "DELTA_BINARY_PACKED"),
        write_statistics=list(_SEARCHED),
        store_schema=False,
    )


def sync_path(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
