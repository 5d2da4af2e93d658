"""CreateTopics, CreatePartitions and DeleteTopics."""

import pytest

from drumbeat.protocol.apis.create_partitions import API as CREATE_PARTITIONS
from drumbeat.protocol.apis.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from drumbeat.protocol.apis.create_topics import API as CREATE_TOPICS
from drumbeat.protocol.apis.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID
from support.data_topics import (
    await_topic,
    batch,
    create_topic,
    fetch_from,
    fresh_name,
    lowest_and_highest,
    produce_to,
    values_in,
)
from support.topics import described, not_created, partition_count
from support.waiting import wait_until

NONE = ErrorCode.NONE


def create(wire, version, *topics, validate_only=False):
    request = CreateTopicsRequest(topics, timeout_ms=10_000, validate_only=validate_only)
    return {topic.name: topic for topic in wire.call(CREATE_TOPICS, version, request).topics}


def asked_for(name, num_partitions=1, replication_factor=1, **fields):
    return CreatableTopic(name, num_partitions, replication_factor, **fields)


def configured(**configs):
    return tuple(CreatableTopicConfig(k.replace("_", "."), v) for k, v in configs.items())


def assigned(*broker_ids):
    return tuple(CreatableReplicaAssignment(i, ids) for i, ids in enumerate(broker_ids))


# -- CreateTopics --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", CREATE_TOPICS.versions)
def test_a_created_topic_is_there_with_its_partitions(wire, version):
    name = fresh_name()
    created = create(wire, version, asked_for(name, 3, configs=configured(retention_ms="1234")))
    assert created.keys() == {name}
    topic = created[name]
    assert (topic.error_code, topic.error_message) == (NONE, None)
    if version >= 5:
        assert (topic.num_partitions, topic.replication_factor) == (3, 1)
        values = {config.name: config.value for config in topic.configs}
        assert values["retention.ms"] == "1234"
        assert values["cleanup.policy"] == "delete"
    found = described(wire, name)
    assert (found.error_code, len(found.partitions)) == (NONE, 3)
    if version >= 7:
        assert topic.topic_id == found.topic_id != NULL_UUID


def test_configs_are_answered_as_they_were_asked_for(wire):
    configs = configured(retention_ms=" +5", cleanup_policy=" compact , delete", preallocate="TRUE")
    name = fresh_name()
    topic = create(wire, CREATE_TOPICS.versions[-1], asked_for(name, configs=configs))[name]
    assert {(c.name, c.value) for c in configs} <= {(c.name, c.value) for c in topic.configs}


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_validate_only_creates_nothing(wire, version):
    name = fresh_name()
    topic = create(wire, version, asked_for(name, 2), validate_only=True)[name]
    assert topic.error_code == NONE
    assert not_created(wire, name).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    refused = create(wire, version, asked_for(name, 0), validate_only=True)[name]
    assert refused.error_code == ErrorCode.INVALID_PARTITIONS


REFUSED = {
    "an empty name": (asked_for(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a dot": (asked_for("."), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "two dots": (asked_for(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a slash": (asked_for("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a blank": (asked_for("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a letter of another script": (asked_for("grüße"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a name too long": (asked_for("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "no partitions": (asked_for("r1", 0), ErrorCode.INVALID_PARTITIONS),
    "fewer than none": (asked_for("r2", -2), ErrorCode.INVALID_PARTITIONS),
    "no replicas": (asked_for("r3", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
    "fewer replicas than none": (asked_for("r4", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
    "an unknown config": (
        asked_for("r6", configs=configured(no_such_config="1")),
        ErrorCode.INVALID_CONFIG,
    ),
    "a config that is no number": (
        asked_for("r7", configs=configured(retention_ms="soon")),
        ErrorCode.INVALID_CONFIG,
    ),
    "a config out of range": (
        asked_for("r8", configs=configured(min_insync_replicas="0")),
        ErrorCode.INVALID_CONFIG,
    ),
    "a config without a value": (
        asked_for("r9", configs=configured(retention_ms=None)),
        ErrorCode.INVALID_CONFIG,
    ),
    "an assignment and a count": (
        asked_for("r10", 1, -1, assignments=assigned((1,))),
        ErrorCode.INVALID_REQUEST,
    ),
    "an assignment and a factor": (
        asked_for("r11", -1, 1, assignments=assigned((1,))),
        ErrorCode.INVALID_REQUEST,
    ),
    "an assignment to a broker that is not there": (
        asked_for("r12", -1, -1, assignments=assigned((1,), (9,))),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ),
    "an assignment to nobody": (
        asked_for("r13", -1, -1, assignments=assigned((1,), ())),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ),
    "an assignment with a gap": (
        asked_for("r14", -1, -1, assignments=(CreatableReplicaAssignment(1, (1,)),)),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ),
    "the metadata topic": (asked_for("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
}


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
@pytest.mark.parametrize(("asked", "error_code"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_topic_does_not_hold_up_another(wire, version, asked, error_code):
    other = fresh_name()
    results = create(wire, version, asked, asked_for(other))
    refused = results[asked.name]
    assert refused.error_code == error_code
    assert refused.error_message
    assert (refused.num_partitions, refused.replication_factor) == (-1, -1)
    assert results[other].error_code == NONE
    assert not_created(wire, asked.name).error_code != NONE


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_a_longest_name_and_every_legal_character(wire, version):
    for name in (fresh_name("x").ljust(249, "x"), fresh_name("aZ9._-")):
        assert create(wire, version, asked_for(name))[name].error_code == NONE


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_names_that_are_taken(wire, version):
    name = fresh_name("with.dots_")
    assert create(wire, version, asked_for(name))[name].error_code == NONE
    assert create(wire, version, asked_for(name))[name].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    # Metrics of both would have one name.
    collides = name.replace(".", "_")
    refused = create(wire, version, asked_for(collides))[collides]
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_names_of_one_request_may_collide(wire, version):
    name = fresh_name("both.here_")
    names = (name, name.replace(".", "_"))
    created = create(wire, version, *map(asked_for, names))
    assert [created[name].error_code for name in names] == [NONE, NONE]


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_without_time_nothing_is_created(wire, version, timeout_ms):
    names = ("a/b", fresh_name(), fresh_name())
    asked = tuple(map(asked_for, (*names, names[-1])))
    answered = wire.call(CREATE_TOPICS, version, CreateTopicsRequest(asked, timeout_ms)).topics
    assert [(t.name, t.error_code) for t in answered] == [
        (one.name, ErrorCode.REQUEST_TIMED_OUT) for one in asked
    ]
    assert not_created(wire, names[1]).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # Where nothing is left to be done, no time is needed for it.
    (twice,) = wire.call(
        CREATE_TOPICS, version, CreateTopicsRequest((asked[0],) * 2, timeout_ms)
    ).topics
    assert twice.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_names_given_twice_do_not_count_towards_too_many_partitions(wire, version):
    name, twice = fresh_name(), fresh_name()
    asked = (asked_for(name, 2), asked_for(twice, 9_999), asked_for(twice, 9_999))
    results = create(wire, version, *asked, validate_only=True)
    assert results[name].error_code == NONE
    assert results[twice].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_a_name_given_twice_is_refused(wire, version):
    name = fresh_name()
    results = create(wire, version, asked_for(name), asked_for(name, 2))
    assert results[name].error_code == ErrorCode.INVALID_REQUEST
    assert not_created(wire, name).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [4, CREATE_TOPICS.versions[-1]])
def test_minus_one_takes_the_brokers_defaults(wire, version):
    name = fresh_name()
    assert create(wire, version, asked_for(name, -1, -1))[name].error_code == NONE
    assert partition_count(wire, name) == 1


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_an_assignment_by_hand(wire, version):
    name = fresh_name()
    asked = asked_for(name, -1, -1, assignments=assigned((1,), (1,), (1,)))
    assert create(wire, version, asked)[name].error_code == NONE
    wait_until(lambda: partition_count(wire, name) == 3, 10, "the broker knows what it created")
    assert [p.replica_nodes for p in described(wire, name).partitions] == [(1,)] * 3


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_TOPICS))
def test_a_request_for_too_many_partitions_creates_none(wire, version):
    names = [fresh_name() for _ in range(3)]
    counts = (9_999, 1, 1)
    results = create(wire, version, *map(asked_for, names, counts))
    assert [results[name].error_code for name in names] == [ErrorCode.POLICY_VIOLATION] * 3
    for name in names:
        assert not_created(wire, name).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- CreatePartitions ----------------------------------------------------------------------------


def grow(wire, version, *topics, validate_only=False):
    """Error code by topic name."""
    request = CreatePartitionsRequest(topics, timeout_ms=10_000, validate_only=validate_only)
    results = wire.call(CREATE_PARTITIONS, version, request).results
    return {result.name: result.error_code for result in results}


@pytest.mark.parametrize("version", CREATE_PARTITIONS.versions)
def test_a_topic_grows_and_keeps_its_records(wire, version):
    topic = create_topic(wire)
    produce_to(wire, topic, batch(b"old"))
    assert grow(wire, version, CreatePartitionsTopic(topic.name, 3, None)) == {topic.name: NONE}
    await_topic(wire, topic, 3)
    assert partition_count(wire, topic.name) == 3
    produce_to(wire, topic, batch(b"new"), partition=2)
    assert values_in(fetch_from(wire, topic).records) == [b"old"]
    assert values_in(fetch_from(wire, topic, partition=2).records) == [b"new"]


def by_hand(*broker_ids):
    return tuple(CreatePartitionsAssignment(ids) for ids in broker_ids)


NOT_GROWN = {
    "as many as before": (2, None, ErrorCode.INVALID_PARTITIONS),
    "fewer than before": (1, None, ErrorCode.INVALID_PARTITIONS),
    "none": (0, None, ErrorCode.INVALID_PARTITIONS),
    "a negative count": (-1, None, ErrorCode.INVALID_PARTITIONS),
    "fewer assignments than partitions": (
        4,
        by_hand((1,)),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ),
    "an unknown broker": (3, by_hand((9,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "nobody": (3, by_hand(()), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
}


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_PARTITIONS))
@pytest.mark.parametrize(("count", "assignments", "error_code"), NOT_GROWN.values(), ids=NOT_GROWN)
def test_a_topic_that_does_not_grow(wire, version, count, assignments, error_code):
    topic = create_topic(wire, partitions=2)
    asked = CreatePartitionsTopic(topic.name, count, assignments)
    assert grow(wire, version, asked) == {topic.name: error_code}
    assert partition_count(wire, topic.name) == 2


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_PARTITIONS))
def test_growing_is_checked_topic_by_topic(wire, version):
    topic, twice = create_topic(wire), create_topic(wire)
    results = grow(
        wire,
        version,
        CreatePartitionsTopic(topic.name, 2, by_hand((1,))),
        CreatePartitionsTopic(twice.name, 2, None),
        CreatePartitionsTopic(twice.name, 3, None),
        CreatePartitionsTopic("never-created", 3, None),
    )
    assert results == {
        topic.name: NONE,
        twice.name: ErrorCode.INVALID_REQUEST,
        "never-created": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert partition_count(wire, twice.name) == 1


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_PARTITIONS))
def test_without_time_nothing_grows(wire, version):
    topic = create_topic(wire)
    asked = (CreatePartitionsTopic(topic.name, 2, None), CreatePartitionsTopic("another", 2, None))
    results = wire.call(CREATE_PARTITIONS, version, CreatePartitionsRequest(asked, 0)).results
    assert [result.error_code for result in results] == [ErrorCode.REQUEST_TIMED_OUT] * 2
    (twice,) = wire.call(
        CREATE_PARTITIONS, version, CreatePartitionsRequest((asked[0],) * 2, 0)
    ).results
    assert twice.error_code == ErrorCode.INVALID_REQUEST
    assert partition_count(wire, topic.name) == 1


@pytest.mark.parametrize("version", lowest_and_highest(CREATE_PARTITIONS))
def test_validate_only_grows_nothing(wire, version):
    topic = create_topic(wire)
    asked = CreatePartitionsTopic(topic.name, 5, None)
    assert grow(wire, version, asked, validate_only=True) == {topic.name: NONE}
    assert partition_count(wire, topic.name) == 1
