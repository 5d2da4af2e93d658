"""The staged records of one log partition, read back in the order of their offsets.

Files follow each other, unless a damaged stretch was read later than what surrounds it: then the
offsets of files interleave, and those files are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from drumbeat.pipeline.decode.sections import ROWS_MAX
from drumbeat.pipeline.schemas import Table
from drumbeat.pipeline.tables.builder import NONE, int_column


class RecordFile(NamedTuple):
    first_offset: int
    last_offset: int
    path: str


def read_in_order(
    files: Iterable[RecordFile], after_offset: int = NONE
) -> Iterator[pa.RecordBatch]:
    """Batches of `log_records` behind an offset; memory does not grow with the files."""
    wanted = sorted(file for file in files if file.last_offset > after_offset)
    for interleaved in _interleaved(wanted):
        yield from _merged([read_batches(file.path, after_offset) for file in interleaved])


def in_chunks(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of equal size; the last may have less."""
    waiting: list[pa.RecordBatch] = []
    missing = rows
    for batch in batches:
        rest = batch
        while len(rest) >= missing:
            yield _joined([*waiting, rest.slice(0, missing)])
            rest, waiting, missing = rest.slice(missing), [], rows
        if len(rest):
            waiting.append(rest)
            missing -= len(rest)
    if waiting:
        yield _joined(waiting)


def read_batches(path: str, after_offset: int = NONE) -> Iterator[pa.RecordBatch]:
    """A file's rows; of row groups that are known to be wholly before the offset, none is read."""
    with pq.ParquetFile(path) as file:
        groups = [n for n in range(file.num_row_groups) if _has_after(file, n, after_offset)]
        for batch in file.iter_batches(ROWS_MAX, row_groups=groups):
            yield batch.slice(_rows_through(batch, after_offset)) if after_offset >= 0 else batch


def _has_after(file: pq.ParquetFile, row_group: int, after_offset: int) -> bool:
    column = file.schema_arrow.get_field_index("log_offset")
    statistics = file.metadata.row_group(row_group).column(column).statistics
    return statistics is None or not statistics.has_min_max or statistics.max > after_offset


def read_columns(
    table: Table, paths: Iterable[str], columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Some columns of a table's files, or all of them."""
    names = list(columns or table.arrow_schema.names)
    for path in paths:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(ROWS_MAX, columns=names)


def _interleaved(files: Sequence[RecordFile]) -> Iterator[list[RecordFile]]:
    """Files whose offsets may interleave, together."""
    gathered: list[RecordFile] = []
    for file in files:
        if gathered and file.first_offset > max(each.last_offset for each in gathered):
            yield gathered
            gathered = []
        gathered.append(file)
    if gathered:
        yield gathered


def _merged(sources: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    heads = [(batch, source) for source in sources for batch in _next(source)]
    while heads:
        end = min(int(int_column(batch, "log_offset")[-1]) for batch, _ in heads)
        counts = [_rows_through(batch, end) for batch, _ in heads]
        yield _sorted([head[0].slice(0, n) for head, n in zip(heads, counts, strict=True) if n])
        heads = [
            (rest, source)
            for (batch, source), n in zip(heads, counts, strict=True)
            for rest in ([batch.slice(n)] if n < len(batch) else _next(source))
        ]


def _next(source: Iterator[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The next batch with rows, or none at the end."""
    return next(([batch] for batch in source if len(batch)), [])


def _rows_through(batch: pa.RecordBatch, log_offset: int) -> int:
    return int(np.searchsorted(int_column(batch, "log_offset"), log_offset, "right"))


def _sorted(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else _joined(parts).sort_by("log_offset")


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)
