"""DeleteRecords: everything below an offset goes; -1 means everything there is."""

from drumbeat.log.errors import LogError, OffsetOutOfRange
from drumbeat.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.handlers.named_once import named_once
from drumbeat.runtime.requests import Request
from drumbeat.runtime.topics import Topic

HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1


async def handle(
    broker: Broker, request: Request, body: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    topics = []
    for asked in named_once(body.topics):
        topic = broker.topics.get(asked.name)
        results = [await _delete(broker, topic, partition) for partition in asked.partitions]
        topics.append(DeleteRecordsTopicResult(name=asked.name, partitions=tuple(results)))
    return DeleteRecordsResponse(topics=tuple(topics))


async def _delete(
    broker: Broker, topic: Topic | None, asked: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    if topic is None or not 0 <= asked.partition_index < topic.partition_count:
        return _error(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.is_internal:
        return _error(asked, ErrorCode.INVALID_TOPIC_EXCEPTION)
    partition = await broker.open_partition(topic, asked.partition_index)
    if partition is None:
        return _error(asked, ErrorCode.KAFKA_STORAGE_ERROR)
    if not partition.config.is_deleted:
        return _error(asked, ErrorCode.POLICY_VIOLATION)
    offset = partition.high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
    if not 0 <= offset <= partition.high_watermark:
        return _error(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
    try:
        low_watermark = await partition.log.delete_records_before(offset)
    except OffsetOutOfRange:
        return _error(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
    except LogError:
        return _error(asked, ErrorCode.KAFKA_STORAGE_ERROR)
    return DeleteRecordsPartitionResult(asked.partition_index, low_watermark)


def _error(asked: DeleteRecordsPartition, error_code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(asked.partition_index, NO_LOW_WATERMARK, error_code)
