"""What the options of a batch choose, with the reader that Spark is given."""

import json

import pytest
from pyspark.sql.datasource import InputPartition

from drumbeat.client.errors import UnknownTopicOrPartitionError
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.broker_source import BrokerDataSource
from pipeline.sources_broker.kit import (
    FIRST_TIMESTAMP,
    new_topic,
    options_for,
    places,
    produce,
    read_rows,
)


@pytest.fixture(scope="module")
def topic(servers, admin):
    """Three partitions: 0 with offsets 0-19, 1 with 0-9, 2 with none."""
    name = new_topic(admin, partitions=3)
    produce(servers, name, range(20), partition=0)
    produce(servers, name, range(100, 110), partition=1)
    return name


def span(partition, *bounds):
    return [(partition, offset) for offset in range(*bounds)]


def told(servers, topic, options):
    """With numbers by partition as JSON."""
    texts = {
        name: json.dumps({topic: value}) if isinstance(value, dict) else value
        for name, value in options.items()
    }
    return options_for(servers, topic, **texts)


EVERYTHING = [*span(0, 20), *span(1, 10)]
CHOSEN = [
    ({}, EVERYTHING),
    ({"startingOffsets": "earliest", "endingOffsets": "latest"}, EVERYTHING),
    (
        {
            "startingOffsets": {"0": 15, "1": -2, "2": -2},
            "endingOffsets": {"0": -1, "1": 2, "2": 0},
        },
        [*span(0, 15, 20), *span(1, 2)],
    ),
    (
        {
            "startingTimestamp": FIRST_TIMESTAMP + 17,
            "startingOffsetsByTimestampStrategy": "latest",
        },
        [*span(0, 17, 20), *span(1, 10)],
    ),
    ({"endingTimestamp": FIRST_TIMESTAMP + 105}, [*span(0, 20), *span(1, 5)]),
    (
        {
            "startingOffsetsByTimestamp": {"0": 0, "1": FIRST_TIMESTAMP + 108, "2": 0},
            "startingOffsetsByTimestampStrategy": "latest",
            "endingOffsetsByTimestamp": {"0": FIRST_TIMESTAMP + 3, "1": 10**15, "2": 0},
        },
        [*span(0, 3), *span(1, 8, 10)],
    ),
    ({"minPartitions": 7}, EVERYTHING),
]


@pytest.mark.parametrize(("options", "expected"), CHOSEN)
def test_offsets_and_times(servers, topic, options, expected):
    assert places(read_rows(told(servers, topic, options))) == expected


def test_rows_have_what_was_produced(servers, topic):
    rows = read_rows(options_for(servers, topic))
    assert [row["value"] for row in rows[:4]] == [b"0", b"1", b"2", b"3"]
    assert [row["key"] for row in rows[:4]] == [None, b"k1", b"k2", None]
    assert {row["topic"] for row in rows} == {topic}
    assert [int(row["timestamp"].timestamp() * 1000) for row in rows[:2]] == [
        FIRST_TIMESTAMP,
        FIRST_TIMESTAMP + 1,
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_compression(servers, admin, codec):
    topic = new_topic(admin)
    produce(servers, topic, range(300), compression_type=codec)
    rows = read_rows(options_for(servers, topic))
    assert [row["value"] for row in rows] == [b"%d" % number for number in range(300)]


def test_single_partitions_and_patterns(servers, topic):
    base = {"kafka.bootstrap.servers": servers}
    assigned = {**base, "assign": json.dumps({topic: [1, 2]})}
    assert places(read_rows(assigned)) == span(1, 10)
    assert places(read_rows({**base, "subscribePattern": f"(x|{topic})"})) == EVERYTHING
    assert read_rows({**base, "subscribePattern": topic[1:]}) == []


def test_a_task_for_each_partition_and_more_on_demand(servers, topic):
    def tasks(**options):
        reader = BrokerDataSource(options_for(servers, topic, **options)).reader(None)
        return len(reader.partitions())

    assert tasks() == 2
    assert tasks(minPartitions=2) == 2
    assert tasks(minPartitions=6) >= 6


REFUSED = [
    ({"startingOffsets": {"0": 0}}, "says nothing of {t}-1, {t}-2"),
    ({"startingOffsets": {"0": 0, "1": 0, "2": 0, "9": 0}}, "names {t}-9, which are not among"),
    ({"startingOffsets": {"0": 21, "1": 0, "2": 0}}, "from offset 21 up to 20, but has 0 up to 20"),
    ({"endingOffsets": {"0": 0, "1": 11, "2": 0}}, "from offset 0 up to 11, but has 0 up to 10"),
    ({"startingTimestamp": FIRST_TIMESTAMP + 200}, "no record is that young in {t}-0, {t}-1"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_cannot_be_read(servers, topic, options, message):
    with pytest.raises(SourceError, match=message.format(t=topic)):
        read_rows(told(servers, topic, options))


def test_what_is_lost_is_passed_over_on_demand(servers, admin):
    topic = new_topic(admin)
    produce(servers, topic, range(10))
    admin.delete_records({TopicPartition(topic, 0): 4})
    wanted = {
        "startingOffsets": json.dumps({topic: {"0": 1}}),
        "endingOffsets": json.dumps({topic: {"0": 99}}),
    }
    with pytest.raises(SourceError, match="failOnDataLoss=false"):
        read_rows(options_for(servers, topic, **wanted))
    rows = read_rows(options_for(servers, topic, **wanted, failOnDataLoss="false"))
    assert places(rows) == span(0, 4, 10)


def test_a_partition_that_a_topic_does_not_have(servers, topic):
    options = {"kafka.bootstrap.servers": servers, "assign": json.dumps({topic: [3]})}
    with pytest.raises(UnknownTopicOrPartitionError, match=f"assign names {topic}-3"):
        read_rows(options)


def test_what_spark_plans_where_there_is_nothing_to_read(servers, admin):
    reader = BrokerDataSource(options_for(servers, new_topic(admin))).reader(None)
    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []
