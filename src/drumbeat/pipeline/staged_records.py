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
from drumbeat.pipeline.tables.builder import int_column


class RecordFile(NamedTuple):
    first_offset: int
    last_offset: int
    path: str


def read_in_order(files: Iterable[RecordFile]) -> Iterator[pa.RecordBatch]:
    """Batches of `log_records`; memory does not grow with the files."""
    for interleaved in _interleaved(sorted(files)):
        yield from _merged([read_batches(file.path) for file in interleaved])


def read_batches(path: str) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(ROWS_MAX)


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
    if len(parts) == 1:
        return parts[0]
    return pa.concat_batches(parts).sort_by("log_offset")
