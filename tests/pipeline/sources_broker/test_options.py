"""Options: what they mean, and what is said of those that mean nothing."""

import pytest

from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.offsets_spec import (
    AtEdge,
    AtOffsets,
    AtTimes,
    format_offsets,
    read_offsets,
)
from drumbeat.pipeline.sources.options import ReadOptions, WriteOptions, includes_headers
from drumbeat.pipeline.sources.topic_choice import Assigned, Matching, Named

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
TOPIC = {**SERVERS, "subscribe": "a"}
FIRST, SECOND = TopicPartition("a", 0), TopicPartition("a", 1)


def parse(is_stream=False, **options):
    return ReadOptions.parse({**TOPIC, **options}, is_stream=is_stream)


CHOICES = [
    ({"subscribe": "a, b,"}, Named(("a", "b"))),
    ({"subscribePattern": "a.*"}, Matching("a.*")),
    ({"subscribepattern": "a.*"}, Matching("a.*")),
    ({"assign": '{"a": [0, 1]}'}, Assigned((FIRST, SECOND))),
]


@pytest.mark.parametrize(("options", "expected"), CHOICES)
def test_one_option_says_what_is_read(options, expected):
    assert ReadOptions.parse({**SERVERS, **options}, is_stream=False).choice == expected


STARTS = [
    ({}, AtEdge(is_earliest=True)),
    ({"startingOffsets": " Earliest"}, AtEdge(is_earliest=True)),
    (
        {"startingOffsets": '{"a": {"0": 7, "1": -2}}'},
        AtOffsets(option="startingOffsets", offsets={FIRST: 7, SECOND: -2}),
    ),
    (
        {"startingTimestamp": "1000", "startingOffsets": "earliest"},
        AtTimes(option="startingTimestamp", times=1000, has_to_match=True),
    ),
    (
        {
            "startingOffsetsByTimestamp": '{"a": {"0": 5}}',
            "startingOffsetsByTimestampStrategy": "latest",
        },
        AtTimes(option="startingOffsetsByTimestamp", times={FIRST: 5}, has_to_match=False),
    ),
]


@pytest.mark.parametrize(("options", "expected"), STARTS)
def test_where_a_batch_begins(options, expected):
    assert parse(**options).start == expected


ENDS = [
    ({}, AtEdge(is_earliest=False)),
    (
        {"endingOffsets": '{"a": {"0": -1}}'},
        AtOffsets(option="endingOffsets", offsets={FIRST: -1}),
    ),
    (
        {"endingTimestamp": "9"},
        AtTimes(option="endingTimestamp", times=9, has_to_match=False),
    ),
    (
        {"endingOffsetsByTimestamp": '{"a": {"1": 5}}'},
        AtTimes(option="endingOffsetsByTimestamp", times={SECOND: 5}, has_to_match=False),
    ),
]


@pytest.mark.parametrize(("options", "expected"), ENDS)
def test_where_a_batch_ends(options, expected):
    assert parse(**options).end == expected


def test_a_stream_begins_at_the_end_unless_told_otherwise():
    assert parse(is_stream=True).start == AtEdge(is_earliest=False)
    assert parse(is_stream=True, startingOffsets="earliest").start == AtEdge(is_earliest=True)


@pytest.mark.parametrize("name", ["group.id", "kafka.group.id", "KAFKA.GROUP.ID"])
def test_the_group_with_and_without_the_prefix(name):
    assert parse(**{name: "g"}).group_id == "g"


def test_configuration_of_the_client_reaches_it():
    options = parse(**{"kafka.isolation.level": "read_committed", "kafka.fetch.max.wait.ms": "9"})
    assert options.brokers.isolation_level == "read_committed"
    assert options.brokers.config().fetch_max_wait_ms == 9
    assert options.brokers.config().allow_auto_create_topics is False
    assert parse(**{"isolation.level": "read_committed"}).brokers.isolation_level == (
        "read_committed"
    )


def test_the_remaining_options():
    options = parse(
        maxOffsetsPerTrigger="5", minPartitions="3", failOnDataLoss="FALSE", includeHeaders="true"
    )
    assert (options.max_offsets_per_trigger, options.min_partitions) == (5, 3)
    assert (options.fails_on_data_loss, options.includes_headers) == (False, True)
    assert not includes_headers({})


REFUSED = [
    ({"subscribe": "a"}, "kafka.bootstrap.servers is missing"),
    (SERVERS, "one of the options subscribe, subscribePattern, assign"),
    ({**TOPIC, "assign": '{"a": [0]}'}, "there is subscribe and assign"),
    ({**SERVERS, "subscribe": " ,"}, "takes names of topics"),
    ({**SERVERS, "subscribePattern": "a("}, "subscribePattern is 'a\\('"),
    ({**SERVERS, "assign": '{"a": 0}'}, "takes JSON with partitions by topic"),
    ({**TOPIC, "startingOffset": "earliest"}, "did you mean startingOffsets"),
    ({**TOPIC, "zzz": "1"}, "has no option zzz: there are subscribe"),
    ({**TOPIC, "path": "a"}, "topics are no path"),
    ({**TOPIC, "groupIdPrefix": "x"}, "groupIdPrefix of Spark's own source is not needed"),
    ({**TOPIC, "startingOffsets": "latest"}, 'may be "earliest", or JSON'),
    ({**TOPIC, "endingOffsets": "earliest"}, 'may be "latest", or JSON'),
    ({**TOPIC, "startingOffsets": '{"a": {"0": -1}}'}, "-1 is no offset that a-0"),
    ({**TOPIC, "endingOffsets": '{"a": {"0": -2}}'}, "-2 is no offset that a-0"),
    ({**TOPIC, "startingOffsets": '{"a": {"0": -3}}'}, "-3 is no offset"),
    ({**TOPIC, "startingOffsets": '{"a": {"0": true}}'}, "JSON with a number"),
    ({**TOPIC, "startingOffsets": '{"a": {"-1": 5}}'}, "JSON with a number"),
    ({**TOPIC, "startingOffsetsByTimestamp": "noon"}, "startingOffsetsByTimestamp is 'noon'"),
    ({**TOPIC, "startingTimestamp": "noon"}, "takes a number from 0 on"),
    ({**TOPIC, "startingOffsetsByTimestampStrategy": "x"}, "may be error or latest"),
    ({**TOPIC, "maxOffsetsPerTrigger": "0"}, "takes a number from 1 on"),
    ({**TOPIC, "failOnDataLoss": "maybe"}, "may be true or false"),
    ({**TOPIC, "kafka.auto.offset.reset": "latest"}, "use startingOffsets"),
    ({**TOPIC, "kafka.fetch.max.byte": "1"}, "did you mean kafka.fetch.max.bytes"),
    ({**TOPIC, "kafka.fetch.max.bytes": "x"}, "fetch_max_bytes takes an integer"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_is_wrong_is_named(options, message):
    with pytest.raises(SourceError, match=message):
        ReadOptions.parse(options, is_stream=False)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name):
    with pytest.raises(SourceError, match=f"{name} has no meaning for a stream"):
        parse(is_stream=True, **{name: "1"})


def test_options_of_writing():
    options = WriteOptions.parse({**SERVERS, "topic": "t", "kafka.compression.type": "zstd"})
    assert options.topic == "t"
    assert options.producer == {"bootstrap.servers": "localhost:9092", "compression.type": "zstd"}


WRITING_REFUSED = [
    ({"topic": "t"}, "kafka.bootstrap.servers is missing"),
    ({**SERVERS, "subscribe": "t"}, "has no option subscribe"),
    ({**SERVERS, "kafka.key.serializer": "x"}, "cast them to string or binary"),
    ({**SERVERS, "kafka.acks": "2"}, "acks takes all, -1, 0 or 1"),
]


@pytest.mark.parametrize(("options", "message"), WRITING_REFUSED)
def test_what_is_wrong_about_writing_is_named(options, message):
    with pytest.raises(SourceError, match=message):
        WriteOptions.parse(options)


def test_offsets_as_in_checkpoints():
    offsets = {TopicPartition("b", 0): 3, TopicPartition("a", 10): 1, TopicPartition("a", 2): 2}
    told = format_offsets(offsets)
    assert told == {"a": {"2": 2, "10": 1}, "b": {"0": 3}}
    assert read_offsets(told) == offsets
