"""What a restart keeps: topics, records, epochs, the cluster's identity."""

import pytest

from drumbeat.protocol.apis.create_partitions import API as CREATE_PARTITIONS
from drumbeat.protocol.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from drumbeat.protocol.apis.delete_topics import API as DELETE_TOPICS
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest
from drumbeat.protocol.apis.metadata import API as METADATA
from drumbeat.protocol.apis.metadata import MetadataRequest
from drumbeat.protocol.apis.offset_for_leader_epoch import API as OFFSET_FOR_LEADER_EPOCH
from drumbeat.protocol.apis.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import iter_headers
from support.brokers import start_broker
from support.data_topics import (
    BASE_TIMESTAMP,
    LIST_OFFSETS,
    PRODUCE,
    await_topic,
    batch,
    create_topic,
    fetch_from,
    lowest_and_highest,
    offset_of,
    produce_request,
    produce_to,
    values_in,
)
from support.topics import await_gone, described, partition_count
from support.waiting import wait_until
from support.wire import Wire, request_frame

NONE = ErrorCode.NONE


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Three topics, one of them grown and one deleted; then a restart."""
    folder = tmp_path_factory.mktemp("story")
    with start_broker(folder) as servers, Wire(servers) as wire:
        kept = create_topic(wire, "kept", partitions=2)
        grown = create_topic(wire, "grown")
        deleted = create_topic(wire, "deleted")
        for topic in (kept, grown, deleted):
            produce_to(wire, topic, batch(b"a", b"b"))
        growth = CreatePartitionsRequest((CreatePartitionsTopic("grown", 3, None),), 5000)
        wire.call(CREATE_PARTITIONS, 3, growth)
        await_topic(wire, grown, 3)
        produce_to(wire, grown, batch(b"c"), partition=2)
        wire.call(DELETE_TOPICS, 4, DeleteTopicsRequest(topic_names=("deleted",), timeout_ms=5000))
        cluster_id = wire.call(METADATA, 5, MetadataRequest(())).cluster_id
        await_gone(wire, "deleted")
    with start_broker(folder) as servers, Wire(servers) as wire:
        yield wire, kept, grown, cluster_id


def test_topics_are_there_with_their_ids(story):
    wire, kept, grown, cluster_id = story
    response = wire.call(METADATA, 12, MetadataRequest(None))
    found = {topic.name: topic.topic_id for topic in response.topics if not topic.is_internal}
    assert found == {"kept": kept.topic_id, "grown": grown.topic_id}
    assert (partition_count(wire, "kept"), partition_count(wire, "grown")) == (2, 3)
    assert response.cluster_id == cluster_id


def test_records_are_there_and_more_can_follow(story):
    wire, kept, grown, _ = story
    assert values_in(fetch_from(wire, grown, partition=2).records) == [b"c"]
    assert offset_of(wire, kept, BASE_TIMESTAMP + 1) == (1, BASE_TIMESTAMP + 1)
    assert produce_to(wire, kept, batch(b"c")).base_offset == 2
    data = fetch_from(wire, kept)
    assert (values_in(data.records), data.high_watermark) == ([b"a", b"b", b"c"], 3)


def test_the_new_leader_has_a_new_epoch(story):
    wire, _, grown, _ = story
    produce_to(wire, grown, batch(b"d"))
    epochs = [h.partition_leader_epoch for _, h in iter_headers(fetch_from(wire, grown).records)]
    old, new = epochs
    assert old < new
    assert fetch_from(wire, grown, current_leader_epoch=new).error_code == NONE
    fenced = fetch_from(wire, grown, current_leader_epoch=old)
    assert fenced.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert fenced.records == b""

    def end_of(epoch, current):
        asked = OffsetForLeaderTopic("grown", (OffsetForLeaderPartition(0, current, epoch),))
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=(asked,))
        (topic,) = wire.call(OFFSET_FOR_LEADER_EPOCH, 4, request).topics
        (found,) = topic.partitions
        return found.error_code, found.leader_epoch, found.end_offset

    assert end_of(old, new) == (NONE, old, 2)
    assert end_of(new, new) == (NONE, new, 3)
    assert end_of(old, old) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert LIST_OFFSETS.versions[-1] >= 4


@pytest.mark.parametrize("version", lowest_and_highest(PRODUCE))
def test_acks_0_to_a_partition_that_nobody_has_used_yet(tmp_path, version):
    """Opening it takes longer than what follows, which has to wait its turn."""
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        topic = create_topic(wire)
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        wait_until(lambda: described(wire, topic.name).error_code == NONE, 5.0, "the topic")
        for value in (b"a", b"b"):
            request = produce_request(topic, batch(value), acks=0)
            wire.send_bytes(request_frame(PRODUCE, version, request))
        assert produce_to(wire, topic, batch(b"c"), version=version).base_offset == 2
        assert values_in(fetch_from(wire, topic).records) == [b"a", b"b", b"c"]
