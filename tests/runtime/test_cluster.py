"""DescribeCluster, DescribeLogDirs, DescribeTopicPartitions and OffsetForLeaderEpoch."""

import pytest

from drumbeat.protocol.apis.describe_cluster import API as DESCRIBE_CLUSTER
from drumbeat.protocol.apis.describe_cluster import DescribeClusterRequest
from drumbeat.protocol.apis.describe_log_dirs import API as DESCRIBE_LOG_DIRS
from drumbeat.protocol.apis.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from drumbeat.protocol.apis.describe_topic_partitions import API as DESCRIBE_TOPIC_PARTITIONS
from drumbeat.protocol.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from drumbeat.protocol.apis.metadata import API as METADATA
from drumbeat.protocol.apis.metadata import MetadataRequest
from drumbeat.protocol.apis.offset_for_leader_epoch import API as OFFSET_FOR_LEADER_EPOCH
from drumbeat.protocol.apis.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from drumbeat.protocol.errors import ErrorCode
from support.data_topics import batch, create_topic, fresh_name, produce_to
from support.topics import described

NONE = ErrorCode.NONE
NOT_ASKED = -(2**31)


# -- DescribeCluster -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", DESCRIBE_CLUSTER.versions)
def test_the_cluster(wire, bootstrap_servers, version):
    response = wire.call(DESCRIBE_CLUSTER, version, DescribeClusterRequest())
    assert (response.error_code, response.error_message) == (NONE, None)
    (broker,) = response.brokers
    assert (broker.broker_id, f"{broker.host}:{broker.port}") == (1, bootstrap_servers)
    assert (broker.rack, broker.is_fenced, response.controller_id) == (None, False, 1)
    assert response.cluster_authorized_operations == NOT_ASKED
    known = wire.call(METADATA, 2, MetadataRequest(()))
    assert response.cluster_id == known.cluster_id
    told = wire.call(DESCRIBE_CLUSTER, version, DescribeClusterRequest(True))
    assert told.cluster_authorized_operations == 0b1_1111_1010_0000


@pytest.mark.parametrize(
    ("endpoint_type", "error_code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
@pytest.mark.parametrize("version", [1, DESCRIBE_CLUSTER.versions[-1]])
def test_only_brokers_are_described(wire, version, endpoint_type, error_code):
    request = DescribeClusterRequest(endpoint_type=endpoint_type)
    assert wire.call(DESCRIBE_CLUSTER, version, request).error_code == error_code


# -- DescribeLogDirs -----------------------------------------------------------------------------


def log_dirs(wire, version, topics):
    response = wire.call(DESCRIBE_LOG_DIRS, version, DescribeLogDirsRequest(topics))
    (directory,) = response.results
    assert directory.error_code == NONE
    sizes = {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in directory.topics
        for partition in topic.partitions
    }
    return directory, sizes


@pytest.mark.parametrize("version", DESCRIBE_LOG_DIRS.versions)
def test_log_dirs(wire, version):
    topic, other = create_topic(wire, partitions=2), create_topic(wire)
    written = batch(b"x" * 1000)
    produce_to(wire, topic, written, partition=1)
    directory, sizes = log_dirs(wire, version, None)
    assert directory.log_dir.startswith("/")
    assert sizes[topic.name, 0] == sizes[other.name, 0] == 0
    assert sizes[topic.name, 1] == len(written)
    if version >= 4:
        assert 0 < directory.usable_bytes <= directory.total_bytes
    asked = (
        DescribableLogDirTopic(topic.name, (1,)),
        DescribableLogDirTopic("never-created", (0,)),
    )
    assert log_dirs(wire, version, asked)[1] == {(topic.name, 1): len(written)}


# -- DescribeTopicPartitions ---------------------------------------------------------------------


def page(wire, names, limit=2000, cursor=None):
    """(topic, error code, partitions) of each topic, and the cursor to go on with."""
    request = DescribeTopicPartitionsRequest(
        tuple(map(TopicRequest, names)), limit, Cursor(*cursor) if cursor else None
    )
    response = wire.call(DESCRIBE_TOPIC_PARTITIONS, 0, request)
    found = [
        (topic.name, topic.error_code, [p.partition_index for p in topic.partitions])
        for topic in response.topics
    ]
    return found, response.next_cursor and tuple(response.next_cursor)


def test_topics_page_by_page(wire):
    a, b = (create_topic(wire, fresh_name(f"page-{x}-"), partitions=3).name for x in "ab")
    unknown = "page-c"
    assert page(wire, (b, unknown, a)) == (
        [
            (a, NONE, [0, 1, 2]),
            (b, NONE, [0, 1, 2]),
            (unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        ],
        None,
    )
    assert page(wire, (a, b), 2) == ([(a, NONE, [0, 1])], (a, 2))
    assert page(wire, (a, b), 2, (a, 2)) == ([(a, NONE, [2]), (b, NONE, [0])], (b, 1))
    assert page(wire, (a, b), 2, (b, 1)) == ([(b, NONE, [1, 2])], None)
    names = {name for name, _, _ in page(wire, ())[0]}
    assert {a, b} <= names


def test_a_cursor_behind_the_last_partition_leaves_the_limit_alone(wire):
    a, b = (create_topic(wire, fresh_name(f"past-{x}-"), partitions=2).name for x in "ab")
    assert page(wire, (a, b), 1, (a, 9)) == ([(a, NONE, []), (b, NONE, [0])], (b, 1))


def test_a_cursor_that_no_page_has_ended_with(wire):
    a, b = (create_topic(wire, fresh_name(f"lost-{x}-")).name for x in "ab")
    refused = [(b, ErrorCode.INVALID_REQUEST, []), (a, ErrorCode.INVALID_REQUEST, [])]
    for cursor in ((a, -1), (f"{a}x", 0), ("", 0)):
        assert page(wire, (b, a), cursor=cursor) == (refused, None)
    assert page(wire, (), cursor=(a, -1)) == ([], None)
    # Of all topics, the one that is next may be gone meanwhile.
    assert b in {name for name, _, _ in page(wire, (), cursor=(f"{a}x", 0))[0]}


def test_internal_topics_are_told_before_they_are_there(wire):
    names = ("__share_group_state", "__transaction_state")
    request = DescribeTopicPartitionsRequest(tuple(map(TopicRequest, names)))
    found = wire.call(DESCRIBE_TOPIC_PARTITIONS, 0, request).topics
    assert [(topic.name, topic.is_internal) for topic in found] == [(n, True) for n in names]


def test_a_described_topic(wire):
    topic = create_topic(wire)
    request = DescribeTopicPartitionsRequest((TopicRequest(topic.name),))
    (found,) = wire.call(DESCRIBE_TOPIC_PARTITIONS, 0, request).topics
    assert (found.topic_id, found.is_internal) == (topic.topic_id, False)
    (partition,) = found.partitions
    assert (partition.leader_id, partition.replica_nodes) == (1, (1,))
    assert (partition.isr_nodes, partition.offline_replicas) == ((1,), ())
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((), ())


# -- OffsetForLeaderEpoch ------------------------------------------------------------------------


def end_of(wire, version, name, partition, leader_epoch, current=-1):
    asked = OffsetForLeaderTopic(
        name, (OffsetForLeaderPartition(partition, current, leader_epoch),)
    )
    request = OffsetForLeaderEpochRequest(replica_id=-1, topics=(asked,))
    (answered,) = wire.call(OFFSET_FOR_LEADER_EPOCH, version, request).topics
    (found,) = answered.partitions
    assert (answered.topic, found.partition) == (name, partition)
    return found.error_code, found.leader_epoch, found.end_offset


@pytest.mark.parametrize("version", OFFSET_FOR_LEADER_EPOCH.versions)
def test_where_an_epoch_ends(wire, version):
    topic = create_topic(wire)
    produce_to(wire, topic, batch(b"a", b"b", b"c"))
    (partition,) = described(wire, topic.name).partitions
    epoch = partition.leader_epoch
    assert end_of(wire, version, topic.name, 0, epoch) == (NONE, epoch, 3)
    assert end_of(wire, version, topic.name, 0, epoch, current=epoch) == (NONE, epoch, 3)
    assert end_of(wire, version, topic.name, 0, epoch + 1) == (NONE, -1, -1)
    assert end_of(wire, version, topic.name, 0, epoch, current=epoch + 1) == (
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        -1,
        -1,
    )


@pytest.mark.parametrize("version", OFFSET_FOR_LEADER_EPOCH.versions)
def test_epochs_of_unknown_partitions(wire, version):
    topic = create_topic(wire)
    for name, partition in (("never-created", 0), (topic.name, 1)):
        assert end_of(wire, version, name, partition, 0) == (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            -1,
            -1,
        )
