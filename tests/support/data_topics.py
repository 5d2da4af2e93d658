"""Creating, writing and reading data topics with raw frames, at any version."""

from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple

from drumbeat.protocol.apis import create_topics, fetch, list_offsets, produce
from drumbeat.protocol.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from drumbeat.protocol.apis.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from drumbeat.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from drumbeat.protocol.apis.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import iter_headers
from drumbeat.protocol.records import PLAIN, BatchOptions, Record, decode_records, encode_batch
from support.waiting import wait_until
from support.wire import Wire

PRODUCE, FETCH, LIST_OFFSETS = produce.API, fetch.API, list_offsets.API
IDS_SINCE = 13  # Produce and Fetch name topics by id from this version on
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
BASE_TIMESTAMP = 1_700_000_000_000

_names = count()


class Topic(NamedTuple):
    name: str
    topic_id: bytes


def lowest_and_highest(api: Any) -> tuple[int, int]:
    return api.versions[0], api.versions[-1]


def fresh_name(prefix: str = "t") -> str:
    return f"{prefix}{next(_names)}"


def create_topic(
    wire: Wire, name: str | None = None, *, partitions: int = 1, **configs: str
) -> Topic:
    """A topic that can be used; configs are named with '_' for '.'."""
    asked = CreatableTopic(
        name=name or fresh_name(),
        num_partitions=partitions,
        replication_factor=1,
        configs=tuple(
            CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()
        ),
    )
    response = wire.call(create_topics.API, 7, CreateTopicsRequest((asked,)))
    (created,) = response.topics
    assert created.error_code == ErrorCode.NONE, created
    topic = Topic(created.name, created.topic_id)
    await_topic(wire, topic, partitions)
    return topic


def await_topic(wire: Wire, topic: Topic, partitions: int = 1) -> None:
    """Apache Kafka answers CreateTopics before its partitions have a leader."""
    for partition in range(partitions):
        wait_until(
            lambda partition=partition: offset_of(wire, topic, partition=partition)[0] >= 0,
            10.0,
            f"a leader of {topic.name}-{partition}",
        )


# -- records -------------------------------------------------------------------------------------


def records(
    values: Iterable[bytes | None], *, timestamp: int = BASE_TIMESTAMP, key: bytes | None = b"k"
) -> list[Record]:
    return [Record(i, timestamp + i, key, value) for i, value in enumerate(values)]


def batch(*values: bytes | None, options: BatchOptions = PLAIN, **how: Any) -> bytes:
    return encode_batch(records(values, **how), options)


def sequenced(producer_id: int, epoch: int, sequence: int, *values: bytes, **how: Any) -> bytes:
    """A batch of an idempotent producer."""
    options = BatchOptions(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    return batch(*values, options=options, **how)


def records_in(data: bytes | None) -> list[Record]:
    """The records of every whole batch in a fetched chunk."""
    assert data is not None
    return [
        record
        for position, header in iter_headers(data)
        for record in decode_records(data[position : position + header.size])
    ]


def values_in(data: bytes | None) -> list[bytes | None]:
    return [record.value for record in records_in(data)]


# -- Produce -------------------------------------------------------------------------------------


def produce_request(
    topic: Topic, data: bytes | None, *, partition: int = 0, acks: int = -1
) -> ProduceRequest:
    written = TopicProduceData(topic.name, topic.topic_id, (PartitionProduceData(partition, data),))
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=(written,))


def produce_to(
    wire: Wire,
    topic: Topic,
    data: bytes | None,
    *,
    version: int = PRODUCE.versions[-1],
    partition: int = 0,
    acks: int = -1,
) -> PartitionProduceResponse:
    request = produce_request(topic, data, partition=partition, acks=acks)
    (answered,) = wire.call(PRODUCE, version, request).responses
    assert (answered.topic_id if version >= IDS_SINCE else answered.name) in topic
    (response,) = answered.partition_responses
    return response


# -- Fetch ---------------------------------------------------------------------------------------


def fetch_partition(offset: int = 0, partition: int = 0, **fields: Any) -> FetchPartition:
    return FetchPartition(
        partition=partition, fetch_offset=offset, **{"partition_max_bytes": 1 << 20, **fields}
    )


def fetch_request(topic: Topic, *partitions: FetchPartition, **fields: Any) -> FetchRequest:
    wanted = FetchTopic(topic.name, topic.topic_id, partitions or (fetch_partition(),))
    return FetchRequest(topics=(wanted,), **{"max_bytes": 50 << 20, **fields})


def partitions_of(response: FetchResponse) -> tuple[PartitionData, ...]:
    (topic,) = response.responses
    return topic.partitions


def fetch_from(
    wire: Wire,
    topic: Topic,
    offset: int = 0,
    *,
    version: int = FETCH.versions[-1],
    partition: int = 0,
    **fields: Any,
) -> PartitionData:
    request = fetch_request(topic, fetch_partition(offset, partition, **fields))
    (data,) = partitions_of(wire.call(FETCH, version, request))
    return data


# -- ListOffsets ---------------------------------------------------------------------------------


def offset_of(
    wire: Wire, topic: Topic, timestamp: int = LATEST, *, version: int = 7, partition: int = 0
) -> tuple[int, int]:
    """Offset and timestamp as ListOffsets answers; the offset is -1 where there is none."""
    asked = ListOffsetsTopic(
        topic.name, (ListOffsetsPartition(partition_index=partition, timestamp=timestamp),)
    )
    response = wire.call(LIST_OFFSETS, version, ListOffsetsRequest(replica_id=-1, topics=(asked,)))
    (found,) = response.topics[0].partitions
    return found.offset, found.timestamp
