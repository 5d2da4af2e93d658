"""ListOffsets: the ends of a log, and offsets by timestamp."""

import pytest

from drumbeat.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import Record, encode_batch
from support.data_topics import (
    BASE_TIMESTAMP,
    EARLIEST,
    LATEST,
    LIST_OFFSETS,
    MAX_TIMESTAMP,
    create_topic,
    lowest_and_highest,
    produce_to,
)
from support.wire import Wire

VERSIONS = lowest_and_highest(LIST_OFFSETS)
LOWEST, HIGHEST = VERSIONS
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
NONE = ErrorCode.NONE

# Three batches; timestamps are not in the order of the offsets.
TIMESTAMPS = ((0, 10, 10), (5, 30, 20), (30, 15))


@pytest.fixture(scope="module")
def topic(bootstrap_servers):
    with Wire(bootstrap_servers) as connection:
        created = create_topic(connection, partitions=2)
        for times in TIMESTAMPS:
            records = [Record(i, BASE_TIMESTAMP + t, b"k", b"v") for i, t in enumerate(times)]
            produce_to(connection, created, encode_batch(records))
        yield created


def ask(wire, version, name, partition=0, **fields):
    """Error code, offset, timestamp (counted from BASE_TIMESTAMP) and leader epoch."""
    asked = ListOffsetsTopic(name, (ListOffsetsPartition(partition_index=partition, **fields),))
    request = ListOffsetsRequest(replica_id=-1, topics=(asked,), timeout_ms=1000)
    (answered,) = wire.call(LIST_OFFSETS, version, request).topics
    assert answered.name == name
    (found,) = answered.partitions
    assert found.partition_index == partition
    timestamp = found.timestamp if found.timestamp < 0 else found.timestamp - BASE_TIMESTAMP
    return found.error_code, found.offset, timestamp, found.leader_epoch


BY_TIMESTAMP = [
    # asked, offset, timestamp: the first record at or after the time asked for
    (-100, 0, 0),
    (0, 0, 0),
    (1, 1, 10),
    (10, 1, 10),
    (11, 4, 30),
    (20, 4, 30),
    (30, 4, 30),
    (31, -1, -1),
]


@pytest.mark.parametrize("version", LIST_OFFSETS.versions)
@pytest.mark.parametrize(("asked", "offset", "timestamp"), BY_TIMESTAMP)
def test_by_timestamp(wire, topic, version, asked, offset, timestamp):
    answer = ask(wire, version, topic.name, timestamp=BASE_TIMESTAMP + asked)
    assert answer[:3] == (NONE, offset, timestamp)


SPECIAL = [
    # name, first version, offset and timestamp of the filled and of the empty partition
    (LATEST, 0, ((8, -1), (0, -1))),
    (EARLIEST, 0, ((0, -1), (0, -1))),
    (MAX_TIMESTAMP, 7, ((4, 30), (-1, -1))),
    (EARLIEST_LOCAL, 8, ((0, -1), (0, -1))),
    (LATEST_TIERED, 9, ((-1, -1), (-1, -1))),
    (EARLIEST_PENDING_UPLOAD, 11, ((-1, -1), (-1, -1))),
]


@pytest.mark.parametrize("version", LIST_OFFSETS.versions)
@pytest.mark.parametrize(("special", "since", "found"), SPECIAL)
def test_special_timestamps(wire, topic, version, special, since, found):
    for partition, expected in enumerate(found):
        answer = ask(wire, version, topic.name, partition, timestamp=special)
        if version >= since:
            assert answer[:3] == (NONE, *expected)
        else:
            assert answer[:3] == (ErrorCode.UNSUPPORTED_VERSION, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("special", [-7, -(2**63)])
def test_timestamps_that_mean_nothing(wire, topic, version, special):
    answer = ask(wire, version, topic.name, timestamp=special)
    assert answer[:3] == (ErrorCode.UNSUPPORTED_VERSION, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_topics_and_partitions(wire, topic, version):
    for name, partition in (("never-created", 0), (topic.name, 2)):
        answer = ask(wire, version, name, partition, timestamp=LATEST)
        assert answer == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_is_to_be_named_once(wire, topic, version):
    twice = (ListOffsetsPartition(partition_index=0, timestamp=LATEST),) * 2
    other = (ListOffsetsPartition(partition_index=1, timestamp=LATEST),)
    request = ListOffsetsRequest(
        replica_id=-1, topics=(ListOffsetsTopic(topic.name, (*twice, *other)),), timeout_ms=1000
    )
    answers = {
        (found.partition_index, found.error_code)
        for answered in wire.call(LIST_OFFSETS, version, request).topics
        for found in answered.partitions
    }
    assert answers == {(0, ErrorCode.INVALID_REQUEST), (1, NONE)}


@pytest.mark.parametrize("version", [4, HIGHEST])
def test_leader_epochs(wire, topic, version):
    _, _, _, epoch = ask(wire, version, topic.name, timestamp=LATEST)
    assert epoch >= 0
    for asked, error_code in (
        (-1, NONE),
        (epoch, NONE),
        (epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        answer = ask(wire, version, topic.name, timestamp=LATEST, current_leader_epoch=asked)
        assert answer[0] == error_code


@pytest.mark.parametrize("version", VERSIONS)
def test_all_partitions_of_many_topics_in_one_request(wire, version):
    topics = [create_topic(wire, partitions=3) for _ in range(3)]
    asked = tuple(
        ListOffsetsTopic(
            topic.name,
            tuple(ListOffsetsPartition(partition_index=p, timestamp=EARLIEST) for p in range(3)),
        )
        for topic in topics
    )
    request = ListOffsetsRequest(replica_id=-1, topics=asked, timeout_ms=1000)
    answers = {
        (answered.name, found.partition_index): (found.error_code, found.offset)
        for answered in wire.call(LIST_OFFSETS, version, request).topics
        for found in answered.partitions
    }
    assert answers == {(topic.name, p): (NONE, 0) for topic in topics for p in range(3)}
