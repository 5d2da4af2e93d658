"""DeleteTopics: by name and by id; what is gone, and what the name means afterwards."""

import pytest

from drumbeat.protocol.apis.delete_topics import API as DELETE_TOPICS
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID
from support.brokers import start_broker
from support.data_topics import (
    FETCH,
    batch,
    create_topic,
    fetch_from,
    fetch_request,
    lowest_and_highest,
    offset_of,
    partitions_of,
    produce_to,
    values_in,
)
from support.topics import await_gone, described
from support.wire import Wire

NONE = ErrorCode.NONE
IDS_SINCE = 6
HIGHEST = DELETE_TOPICS.versions[-1]


def delete(wire, version, *topics):
    """The results, as (name, id, error code)."""
    if version < IDS_SINCE:
        request = DeleteTopicsRequest(topic_names=topics, timeout_ms=10_000)
    else:
        asked = tuple(
            DeleteTopicState(name=t) if isinstance(t, str) else DeleteTopicState(None, t)
            for t in topics
        )
        request = DeleteTopicsRequest(topics=asked, timeout_ms=10_000)
    responses = wire.call(DELETE_TOPICS, version, request).responses
    return [(r.name, r.topic_id, r.error_code) for r in responses]


@pytest.mark.parametrize("version", DELETE_TOPICS.versions)
def test_by_name(wire, version):
    topic = create_topic(wire)
    produce_to(wire, topic, batch(b"a"))
    told_id = topic.topic_id if version >= IDS_SINCE else NULL_UUID
    assert delete(wire, version, topic.name) == [(topic.name, told_id, NONE)]
    await_gone(wire, topic.name)
    assert fetch_from(wire, topic, version=12).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch_from(wire, topic, version=13).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert produce_to(wire, topic, batch(b"b")).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_by_id(wire):
    topic = create_topic(wire)
    assert delete(wire, HIGHEST, topic.topic_id) == [(topic.name, topic.topic_id, NONE)]
    await_gone(wire, topic.name)


@pytest.mark.parametrize("version", lowest_and_highest(DELETE_TOPICS))
def test_each_topic_is_answered_for_itself(wire, version):
    topic = create_topic(wire)
    results = delete(wire, version, "never-created", topic.name)
    assert {(name, error_code) for name, _, error_code in results} == {
        ("never-created", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (topic.name, NONE),
    }


def test_an_unknown_id(wire):
    assert delete(wire, HIGHEST, b"\x03" * 16) == [(None, b"\x03" * 16, ErrorCode.UNKNOWN_TOPIC_ID)]


def test_a_topic_is_named_by_name_or_by_id(wire):
    topic = create_topic(wire)
    asked = (DeleteTopicState(topic.name, topic.topic_id),)
    request = DeleteTopicsRequest(topics=asked, timeout_ms=10_000)
    (result,) = wire.call(DELETE_TOPICS, HIGHEST, request).responses
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert described(wire, topic.name).error_code == NONE


def test_a_topic_given_twice_stays(wire):
    topic = create_topic(wire)
    for pair in ((topic.name, topic.name), (topic.topic_id, topic.topic_id)):
        results = delete(wire, HIGHEST, *pair)
        assert {error_code for _, _, error_code in results} == {ErrorCode.INVALID_REQUEST}
    assert described(wire, topic.name).error_code == NONE


def test_a_topic_given_by_name_and_by_id_stays(wire):
    topic, other = create_topic(wire), create_topic(wire)
    assert set(delete(wire, HIGHEST, topic.name, other.topic_id, topic.topic_id)) == {
        (topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST),
        (other.name, other.topic_id, NONE),
    }
    await_gone(wire, other.name)
    assert described(wire, topic.name).error_code == NONE


def test_no_name_and_no_id(wire):
    nothing = (None, NULL_UUID, ErrorCode.INVALID_REQUEST)
    assert delete(wire, HIGHEST, NULL_UUID, NULL_UUID) == [nothing, nothing]


@pytest.mark.parametrize("timeout_ms", [0, -1])
@pytest.mark.parametrize("version", lowest_and_highest(DELETE_TOPICS))
def test_without_time_nothing_is_deleted(wire, version, timeout_ms):
    topic, twice = create_topic(wire), create_topic(wire)

    def errors(*names):
        asked = tuple(map(DeleteTopicState, names))
        request = DeleteTopicsRequest(asked, names, timeout_ms)
        return [r.error_code for r in wire.call(DELETE_TOPICS, version, request).responses]

    timed_out = [ErrorCode.REQUEST_TIMED_OUT] * 3
    assert errors(topic.name, twice.name, twice.name) == timed_out
    # Where nothing is left to be done, no time is needed for it.
    assert errors(twice.name, twice.name) == [ErrorCode.INVALID_REQUEST]
    assert described(wire, topic.name).error_code == NONE


def test_a_topic_of_the_same_name_is_another_topic(wire):
    old = create_topic(wire)
    produce_to(wire, old, batch(b"old", b"old"))
    delete(wire, HIGHEST, old.name)
    await_gone(wire, old.name)
    new = create_topic(wire, old.name)
    assert new.topic_id != old.topic_id
    assert offset_of(wire, new) == (0, -1)
    assert produce_to(wire, new, batch(b"new")).base_offset == 0
    assert values_in(fetch_from(wire, new).records) == [b"new"]
    # Who still has the old id does not get the new topic's records.
    assert fetch_from(wire, old).error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("version", "error_code"),
    [
        (1, ErrorCode.INVALID_REQUEST),
        (2, ErrorCode.INVALID_REQUEST),
        (3, ErrorCode.TOPIC_DELETION_DISABLED),
        (HIGHEST, ErrorCode.TOPIC_DELETION_DISABLED),
    ],
)
def test_delete_topic_enable(undeletable, version, error_code):
    wire, topic = undeletable
    ((_, _, answer),) = delete(wire, version, topic.name)
    assert answer == error_code
    assert described(wire, topic.name).error_code == NONE


@pytest.fixture(scope="module")
def undeletable(tmp_path_factory):
    settings = {"delete.topic.enable": "false"}
    with (
        start_broker(tmp_path_factory.mktemp("undeletable"), settings) as servers,
        Wire(servers) as connection,
    ):
        yield connection, create_topic(connection)


def test_a_long_poll_on_a_deleted_topic_ends(wire, bootstrap_servers):
    topic = create_topic(wire)
    with Wire(bootstrap_servers) as waiting:
        waiting.send(FETCH, 12, fetch_request(topic, max_wait_ms=2_000, min_bytes=1))
        delete(wire, HIGHEST, topic.name)
        (data,) = partitions_of(waiting.receive())
    assert data.records == b""
