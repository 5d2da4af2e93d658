"""Requests that name a topic or a partition twice: it is answered once, and the last one counts."""

import pytest

from drumbeat.protocol.apis.delete_records import API as DELETE_RECORDS
from drumbeat.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from drumbeat.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from drumbeat.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from drumbeat.protocol.errors import ErrorCode
from support.data_topics import (
    EARLIEST,
    FETCH,
    LATEST,
    LIST_OFFSETS,
    PRODUCE,
    batch,
    create_topic,
    fetch_from,
    fetch_partition,
    fetch_request,
    lowest_and_highest,
    partitions_of,
    produce_to,
    values_in,
)

NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST


def produce(wire, version, *topics):
    """Per answered topic its partitions and base offsets, whatever their order."""
    data = tuple(
        TopicProduceData(
            topic.name, topic.topic_id, tuple(PartitionProduceData(*one) for one in partitions)
        )
        for topic, partitions in topics
    )
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=data)
    return sorted(
        sorted((p.partition_index, p.base_offset) for p in answered.partition_responses)
        for answered in wire.call(PRODUCE, version, request).responses
    )


@pytest.mark.parametrize("version", lowest_and_highest(PRODUCE))
def test_produce_appends_the_last_batch_of_a_partition(wire, version):
    topic = create_topic(wire)
    twice = [(0, batch(b"first", b"first")), (0, batch(b"last"))]
    assert produce(wire, version, (topic, twice)) == [[(0, 0)]]
    assert values_in(fetch_from(wire, topic).records) == [b"last"]


@pytest.mark.parametrize("version", lowest_and_highest(PRODUCE))
def test_produce_answers_a_topic_once(wire, version):
    topic, other = create_topic(wire, partitions=2), create_topic(wire)
    asked = [
        (topic, [(0, batch(b"a", b"a"))]),
        (other, []),
        (topic, [(1, batch(b"b")), (0, batch(b"c"))]),
    ]
    assert produce(wire, version, *asked) == [[(0, 0), (1, 0)]]
    assert values_in(fetch_from(wire, topic).records) == [b"c"]
    assert values_in(fetch_from(wire, topic, partition=1).records) == [b"b"]


@pytest.mark.parametrize("version", lowest_and_highest(FETCH))
def test_fetch_reads_from_the_last_offset(wire, version):
    topic = create_topic(wire)
    produce_to(wire, topic, batch(b"a"))
    produce_to(wire, topic, batch(b"b"))
    request = fetch_request(topic, fetch_partition(0), fetch_partition(1))
    (data,) = partitions_of(wire.call(FETCH, version, request))
    assert values_in(data.records) == [b"b"]


@pytest.mark.parametrize("version", lowest_and_highest(LIST_OFFSETS))
def test_list_offsets_refuses_the_partition_and_answers_the_others(wire, version):
    topic = create_topic(wire, partitions=2)
    asked = (
        ListOffsetsTopic(topic.name, (ListOffsetsPartition(0, timestamp=LATEST),)),
        ListOffsetsTopic("nothing-asked", ()),
        ListOffsetsTopic(
            topic.name,
            (
                ListOffsetsPartition(0, timestamp=EARLIEST),
                ListOffsetsPartition(1, timestamp=LATEST),
            ),
        ),
    )
    request = ListOffsetsRequest(replica_id=-1, topics=asked)
    (answered,) = wire.call(LIST_OFFSETS, version, request).topics
    assert sorted((p.partition_index, p.error_code) for p in answered.partitions) == [
        (0, INVALID),
        (1, NONE),
    ]


@pytest.mark.parametrize("version", lowest_and_highest(DELETE_RECORDS))
def test_delete_records_takes_the_last_offset(wire, version):
    topic = create_topic(wire)
    produce_to(wire, topic, batch(b"a", b"b", b"c"))
    asked = (
        DeleteRecordsTopic(topic.name, (DeleteRecordsPartition(0, 3),)),
        DeleteRecordsTopic(topic.name, (DeleteRecordsPartition(0, 1),)),
    )
    (answered,) = wire.call(DELETE_RECORDS, version, DeleteRecordsRequest(asked, 10_000)).topics
    assert [(p.low_watermark, p.error_code) for p in answered.partitions] == [(1, NONE)]
