"""What every builder of tables is, and how its rows become Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drumbeat.pipeline.schemas import Table

TableBatch: TypeAlias = tuple[str, pa.RecordBatch]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Row: TypeAlias = Mapping[str, Any]

NONE = -1  # in arrays that cannot hold null: no offset, no row, no owner


class TableBuilder(Protocol):
    """State must be picklable: a stream keeps it between micro-batches."""

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        """Rows that these records complete. Batches come in offset order."""

    def finish(self) -> Iterator[TableBatch]:
        """Rows that are open at the end of what was fed so far; more may be fed afterwards."""


class LogPartition(NamedTuple):
    """Whose log it is: the columns that all rows of a builder share."""

    cluster_id: str
    partition: int

    @property
    def columns(self) -> dict[str, Any]:
        return {"cluster_id": self.cluster_id, "log_partition": self.partition}


def batch_of_rows(table: Table, source: LogPartition, rows: Iterable[Row]) -> Iterator[TableBatch]:
    """One batch of `table`, or none if there are no rows."""
    complete = [{**source.columns, **row} for row in rows]
    if complete:
        yield table.name, pa.RecordBatch.from_pylist(complete, schema=table.arrow_schema)


def batch_of_columns(
    table: Table, source: LogPartition, columns: Mapping[str, pa.Array], count: int
) -> Iterator[TableBatch]:
    if not count:
        return
    shared = {name: pa.repeat(pa.scalar(value), count) for name, value in source.columns.items()}
    arrays = [
        (columns[field.name] if field.name in columns else shared[field.name]).cast(field.type)
        for field in table.arrow_schema
    ]
    yield table.name, pa.RecordBatch.from_arrays(arrays, schema=table.arrow_schema)


def int_column(batch: pa.RecordBatch, name: str, missing: int = NONE) -> Ints:
    """A column as int64, null as `missing`."""
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(missing)
    values: Ints = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return values


def bool_column(batch: pa.RecordBatch, name: str) -> Bools:
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(False)
    values: Bools = column.to_numpy(zero_copy_only=False)
    return values


def optional_ints(values: Ints, is_null: Bools) -> pa.Array:
    return pa.array(values, mask=is_null)
