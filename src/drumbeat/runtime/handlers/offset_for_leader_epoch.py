"""OffsetForLeaderEpoch: where an epoch ended, so that a consumer can tell if its log was cut."""

from drumbeat.protocol.apis.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Request
from drumbeat.runtime.topics import Topic


async def handle(
    broker: Broker, request: Request, body: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    topics = []
    for asked in body.topics:
        topic = broker.topics.get(asked.topic)
        results = [await _answer(broker, topic, partition) for partition in asked.partitions]
        topics.append(OffsetForLeaderTopicResult(topic=asked.topic, partitions=tuple(results)))
    return OffsetForLeaderEpochResponse(topics=tuple(topics))


async def _answer(
    broker: Broker, topic: Topic | None, asked: OffsetForLeaderPartition
) -> EpochEndOffset:
    if topic is None or not 0 <= asked.partition < topic.partition_count:
        return _error(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = await broker.open_partition(topic, asked.partition)
    if partition is None:
        return _error(asked, ErrorCode.KAFKA_STORAGE_ERROR)
    if error_code := partition.check_epoch(asked.current_leader_epoch):
        return _error(asked, error_code)
    found = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(
        partition=asked.partition, leader_epoch=found.epoch, end_offset=found.start_offset
    )


def _error(asked: OffsetForLeaderPartition, error_code: ErrorCode) -> EpochEndOffset:
    return EpochEndOffset(error_code=error_code, partition=asked.partition)
