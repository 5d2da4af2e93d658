"""ListOffsets: by timestamp, and the special timestamps below zero."""

from collections import Counter
from collections.abc import Callable

from drumbeat.log.errors import LogError
from drumbeat.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.handlers.named_once import named_once
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Request

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
UNKNOWN = (-1, -1)  # offset, timestamp

Found = tuple[int, int]


def _max_timestamp(partition: Partition) -> Found:
    found = partition.log.max_timestamp()
    return (found.offset, found.timestamp) if found else UNKNOWN


# Nothing is tiered here: the local log is the whole log, and nothing waits for an upload.
_SPECIAL: dict[int, tuple[int, Callable[[Partition], Found]]] = {
    LATEST: (0, lambda partition: (partition.high_watermark, -1)),
    EARLIEST: (0, lambda partition: (partition.log.start_offset, -1)),
    MAX_TIMESTAMP: (7, _max_timestamp),
    EARLIEST_LOCAL: (8, lambda partition: (partition.log.start_offset, -1)),
    LATEST_TIERED: (9, lambda _partition: UNKNOWN),
    EARLIEST_PENDING_UPLOAD: (11, lambda _partition: UNKNOWN),
}


async def handle(broker: Broker, request: Request, body: ListOffsetsRequest) -> ListOffsetsResponse:
    times = Counter((t.name, p.partition_index) for t in body.topics for p in t.partitions)
    repeated = {key for key, count in times.items() if count > 1}
    topics = []
    for topic in named_once(body.topics):
        partitions = [
            _error(p, ErrorCode.INVALID_REQUEST)
            if (topic.name, p.partition_index) in repeated
            else await _answer(broker, request, topic, p)
            for p in topic.partitions
        ]
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=tuple(partitions)))
    return ListOffsetsResponse(topics=tuple(topics))


async def _answer(
    broker: Broker, request: Request, topic: ListOffsetsTopic, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    if not _is_supported(asked.timestamp, request.api_version):
        return _error(asked, ErrorCode.UNSUPPORTED_VERSION)
    known = broker.topics.get(topic.name)
    if known is None or not 0 <= asked.partition_index < known.partition_count:
        return _error(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = await broker.open_partition(known, asked.partition_index)
    if partition is None:
        return _error(asked, ErrorCode.KAFKA_STORAGE_ERROR)
    if error_code := partition.check_epoch(asked.current_leader_epoch):
        return _error(asked, error_code)
    return _look_up(partition, asked)


def _is_supported(timestamp: int, api_version: int) -> bool:
    if timestamp >= 0:
        return True
    since, _ = _SPECIAL.get(timestamp, (api_version + 1, None))
    return api_version >= since


def _look_up(partition: Partition, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    if asked.timestamp < 0:
        _, special = _SPECIAL[asked.timestamp]
        offset, timestamp = special(partition)
    else:
        try:
            found = partition.log.offset_for_timestamp(asked.timestamp)
        except LogError:
            return _error(asked, ErrorCode.KAFKA_STORAGE_ERROR)
        offset, timestamp = (found.offset, found.timestamp) if found else UNKNOWN
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=partition.leader_epoch_of(offset) if offset >= 0 else -1,
    )


def _error(asked: ListOffsetsPartition, error_code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, error_code=error_code, timestamp=-1, offset=-1
    )
