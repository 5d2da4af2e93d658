"""The nullable columns of `log_records` while they are filled, a few rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drumbeat.pipeline.decode.arena import Ints
from drumbeat.pipeline.decode.distinct import Codes
from drumbeat.pipeline.schemas import LOG_RECORDS

TYPES: Final = {column.name: column.type for column in LOG_RECORDS.columns}
_NO_CODE: Final = -1


class IntColumn:
    """Numbers; rows that were never set are null."""

    def __init__(self, count: int, column_type: pa.DataType) -> None:
        self._values: npt.NDArray[Any] = np.zeros(count, column_type.to_pandas_dtype())
        self._is_null = np.ones(count, np.bool_)

    def set(self, rows: Ints, values: npt.ArrayLike) -> None:
        """The n-th value, or the only one, for the n-th of the rows, which are in order."""
        chosen = _chosen(rows, len(self._values))
        self._values[chosen] = values
        self._is_null[chosen] = False

    def to_arrow(self) -> pa.Array:
        return pa.array(self._values, mask=self._is_null if self._is_null.any() else None)


class TextColumn:
    """Strings or bytes, each held once; rows that were never set are null."""

    def __init__(self, count: int, column_type: pa.DataType) -> None:
        self._type = column_type
        self._codes: Codes = np.full(count, _NO_CODE, np.int32)
        self._values: list[pa.Array] = []
        self._value_count = 0

    def set(self, rows: Ints, values: Sequence[Any]) -> None:
        """The n-th value for the n-th of the rows, which are in order."""
        codes = np.arange(len(values), dtype=np.int32)
        self.set_coded(rows, codes, pa.array(values, self._type))

    def set_coded(self, rows: Ints, codes: Codes | int, values: pa.Array) -> None:
        """For the n-th row, the value that its code, or the only code, says."""
        self._codes[_chosen(rows, len(self._codes))] = codes + np.int32(self._value_count)
        self._values.append(values)
        self._value_count += len(values)

    def to_arrow(self) -> pa.Array:
        return pa.concat_arrays(self._values).take(self._to_arrow(self._codes))

    def to_dictionary(self) -> pa.DictionaryArray:
        values = pa.concat_arrays(self._values).dictionary_encode()
        # Different keys have the same group or topic, yet a dictionary may say nothing twice.
        renumbered = values.indices.fill_null(_NO_CODE).to_numpy()
        codes = np.append(renumbered, np.int32(_NO_CODE))[self._codes]
        return pa.DictionaryArray.from_arrays(self._to_arrow(codes), values.dictionary)

    def _to_arrow(self, codes: Codes) -> pa.Array:
        is_null = self._codes == _NO_CODE
        return pa.array(codes, mask=is_null if is_null.any() else None)


def _chosen(rows: Ints, count: int) -> Ints | slice:
    """All rows as a slice: that is what most calls are about, and many times as fast."""
    return slice(None) if len(rows) == count else rows


_Column: TypeAlias = IntColumn | TextColumn


class Columns:
    """Made as they are needed: a column that nothing sets is all null."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._columns: dict[str, _Column] = {}

    def ints(self, name: str) -> IntColumn:
        column = self._column(name)
        assert isinstance(column, IntColumn)
        return column

    def texts(self, name: str) -> TextColumn:
        column = self._column(name)
        assert isinstance(column, TextColumn)
        return column

    def set(self, name: str, rows: Ints, values: Sequence[Any]) -> None:
        self._column(name).set(rows, values)

    def to_arrow(self, field: pa.Field) -> pa.Array:
        """The column of that name, as the type that the field has."""
        column = self._columns.get(field.name)
        if column is None:
            return pa.nulls(self._count, field.type)
        if pa.types.is_dictionary(field.type):
            assert isinstance(column, TextColumn)
            return column.to_dictionary()
        return column.to_arrow()

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            kind = IntColumn if pa.types.is_integer(TYPES[name]) else TextColumn
            self._columns[name] = kind(self._count, TYPES[name])
        return self._columns[name]
