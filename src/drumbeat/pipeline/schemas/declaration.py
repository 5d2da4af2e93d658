"""How a table is declared: a name, the question that it answers, its columns.

Arrow's schema and Spark's are derived from the declaration. Instants are milliseconds since the
epoch, as Kafka has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa

_SPARK_TYPES: Final = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: pa.DataType
    doc: str
    is_nullable: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    name: str
    question: str
    columns: tuple[Column, ...]

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        fields = [pa.field(column.name, column.type, column.is_nullable) for column in self.columns]
        return pa.schema(fields)

    @cached_property
    def spark_schema(self) -> str:
        """The schema in the language that Spark takes wherever it takes a schema."""
        return ", ".join(map(_spark_column, self.columns))


def _spark_column(column: Column) -> str:
    declared = f"`{column.name}` {spark_type(column.type)}"
    return declared if column.is_nullable else f"{declared} NOT NULL"


def spark_type(arrow_type: pa.DataType) -> str:
    """Spark's name of an Arrow type; KeyError for a type that no table uses."""
    if pa.types.is_list(arrow_type):
        return f"ARRAY<{spark_type(arrow_type.value_type)}>"
    if pa.types.is_struct(arrow_type):
        fields = ", ".join(f"`{field.name}`: {spark_type(field.type)}" for field in arrow_type)
        return f"STRUCT<{fields}>"
    return _SPARK_TYPES[arrow_type]


def required(name: str, column_type: pa.DataType, doc: str) -> Column:
    return Column(name=name, type=column_type, doc=doc)


def optional(name: str, column_type: pa.DataType, doc: str) -> Column:
    return Column(name=name, type=column_type, doc=doc, is_nullable=True)
