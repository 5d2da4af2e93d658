"""Rows of tables, written as what matters in them: the rest gets values that fit the schema."""

import pyarrow as pa

from drumbeat.pipeline.schemas import TABLES


def _plain(kind):
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_list(kind):
        return []
    if pa.types.is_string(kind):
        return ""
    return b"" if pa.types.is_binary(kind) else 0


def batch(table, *rows):
    """A batch of the table; columns that a row does not name are null, or empty where required."""
    schema = TABLES[table].arrow_schema
    filled = [
        {field.name: None if field.nullable else _plain(field.type) for field in schema} | row
        for row in rows
    ]
    return pa.RecordBatch.from_pylist(filled, schema=schema)
