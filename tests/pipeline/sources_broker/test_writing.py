"""Rows to records, with the writer that Spark is given."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from drumbeat.client.errors import NoBrokersAvailable
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.broker_source import BrokerDataSource
from drumbeat.pipeline.sources.broker_writer import Written
from pipeline.sources_broker.kit import new_topic, options_for, read_rows
from support.ports import free_ports

HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
WHEN = datetime(2026, 5, 4, 3, 2, 1, 123456, tzinfo=UTC)


def schema(**types):
    return StructType([StructField(name, kind) for name, kind in types.items()])


def write(servers, types, *batches, is_stream=False, **options):
    told = {"kafka.bootstrap.servers": servers, **options}
    source = BrokerDataSource(told)
    make = source.streamWriter if is_stream else source.writer
    writer = make(schema(**types), False)
    return writer.write(pa.RecordBatch.from_pylist(list(rows)) for rows in batches)


def read(servers, topic):
    return read_rows(options_for(servers, topic, includeHeaders="true"))


@pytest.mark.parametrize("is_stream", [False, True])
def test_text_and_bytes_to_one_topic(servers, admin, is_stream):
    topic = new_topic(admin)
    types = {"key": StringType(), "value": BinaryType()}
    first = [{"key": "ä", "value": b"1"}, {"key": None, "value": None}]
    second = [{"key": "b", "value": b"3"}]
    done = write(servers, types, first, second, is_stream=is_stream, topic=topic)
    assert done == Written(rows=3)
    assert [(row["key"], row["value"]) for row in read(servers, topic)] == [
        ("ä".encode(), b"1"),
        (None, None),
        (b"b", b"3"),
    ]


def test_every_column(servers, admin):
    topic = new_topic(admin, partitions=3)
    types = {
        "topic": StringType(),
        "VALUE": StringType(),
        "partition": IntegerType(),
        "timestamp": TimestampType(),
        "headers": HEADERS,
        "offset": LongType(),
    }
    row = {
        "topic": topic,
        "VALUE": "v",
        "partition": 2,
        "timestamp": WHEN,
        "headers": [{"key": "h", "value": b"x"}, {"key": "n", "value": None}],
        "offset": 99,
    }
    write(servers, types, [row])
    (found,) = read(servers, topic)
    assert (found["partition"], found["offset"]) == (2, 0)
    assert found["timestamp"] == WHEN.replace(microsecond=123000)
    assert found["headers"] == row["headers"]


def test_nothing_to_write(servers, admin):
    topic = new_topic(admin)
    assert write(servers, {"value": StringType()}, topic=topic) == Written(rows=0)


def test_the_option_goes_before_the_column(servers, admin):
    topic = new_topic(admin)
    types = {"topic": StringType(), "value": StringType()}
    write(servers, types, [{"topic": "elsewhere", "value": "v"}], topic=topic)
    assert len(read(servers, topic)) == 1


BAD_COLUMNS = [
    ({"key": StringType()}, {"topic": "t"}, "there is no column value"),
    ({"value": StringType()}, {}, "set the option topic, or add a column topic"),
    ({"value": LongType()}, {"topic": "t"}, "value is of type bigint; cast it to string or binary"),
    ({"value": StringType(), "x": StringType()}, {"topic": "t"}, "column x has no place"),
]


@pytest.mark.parametrize(("types", "options", "message"), BAD_COLUMNS)
def test_columns_that_make_no_records(types, options, message):
    with pytest.raises(SourceError, match=message):
        write("localhost:9092", types, **options)


def test_topics_cannot_be_overwritten():
    source = BrokerDataSource({"kafka.bootstrap.servers": "localhost:9092", "topic": "t"})
    with pytest.raises(SourceError, match="only added to"):
        source.writer(schema(value=StringType()), True)


def test_a_row_without_a_topic(servers):
    types = {"topic": StringType(), "value": StringType()}
    with pytest.raises(SourceError, match="a row has no topic"):
        write(servers, types, [{"topic": None, "value": "v"}])


def test_what_brokers_refuse_is_named_with_its_topic(servers, admin):
    topic = new_topic(admin, **{"max.message.bytes": "200"})
    with pytest.raises(SourceError, match=f"to topic {topic}: MESSAGE_TOO_LARGE"):
        write(servers, {"value": StringType()}, [{"value": "x" * 1000}], topic=topic)


def test_what_the_producer_refuses_is_named_with_its_topic(servers, admin):
    topic = new_topic(admin)
    rows = [{"value": "x", "partition": 5}]
    types = {"value": StringType(), "partition": IntegerType()}
    with pytest.raises(SourceError, match=f"could not be written to topic {topic}"):
        write(servers, types, rows, topic=topic, **{"kafka.max.block.ms": "200"})


def test_nobody_answers():
    (port,) = free_ports(1)
    with pytest.raises(NoBrokersAvailable, match="connection refused"):
        write(f"127.0.0.1:{port}", {"value": StringType()}, [{"value": "v"}], topic="t")
