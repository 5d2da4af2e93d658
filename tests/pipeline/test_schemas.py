"""Every table is declared once; Arrow's schema and Spark's follow from the declaration."""

import pyarrow as pa
import pytest

from drumbeat.pipeline.schemas import LOG_RECORDS, TABLES, spark_type

TYPES = {
    "BIGINT": pa.int64(),
    "ARRAY<STRING>": pa.list_(pa.string()),
    "STRUCT<`a`: INT, `b`: ARRAY<BINARY>>": pa.struct(
        [("a", pa.int32()), ("b", pa.list_(pa.binary()))]
    ),
}


@pytest.mark.parametrize("name", TYPES)
def test_spark_types(name):
    assert spark_type(TYPES[name]) == name


def test_spark_and_arrow_agree_on_order_and_nulls():
    declared = LOG_RECORDS.spark_schema.split(", ")
    assert declared[:2] == ["`cluster_id` STRING NOT NULL", "`log_partition` INT NOT NULL"]
    assert [(field.name, field.nullable) for field in LOG_RECORDS.arrow_schema] == [
        (text.split("`")[1], not text.endswith("NOT NULL")) for text in declared
    ]


@pytest.mark.parametrize("name", TABLES)
def test_tables_say_what_they_are_for(name):
    table = TABLES[name]
    assert table.name == name
    assert table.question.endswith("?")
    assert all(column.doc for column in table.columns)
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert table.spark_schema.count("`") >= 2 * len(names), "every type has a name in Spark"
