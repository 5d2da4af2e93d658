"""CreatePartitions: a topic grows; it never shrinks."""

from collections import Counter

from drumbeat.protocol.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.durably import StorageFailed
from drumbeat.runtime.requests import Request
from drumbeat.runtime.topic_changes import Refusal, timed_out, too_many_partitions
from drumbeat.runtime.topics import Topic


async def handle(
    broker: Broker, request: Request, body: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    times = Counter(topic.name for topic in body.topics)
    if 1 in times.values() and (refusal := timed_out(body.timeout_ms)):
        return CreatePartitionsResponse(results=tuple(_result(t, refusal) for t in body.topics))
    results = []
    for asked in {topic.name: topic for topic in body.topics}.values():
        if times[asked.name] > 1:
            refusal = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        else:
            refusal = await _grow(broker, asked, body.validate_only)
        results.append(_result(asked, refusal))
    return CreatePartitionsResponse(results=tuple(results))


async def _grow(
    broker: Broker, asked: CreatePartitionsTopic, validate_only: bool
) -> Refusal | None:
    def grown(topic: Topic | None) -> Topic | Refusal:
        if topic is None:
            text = f"there is no topic {asked.name!r}"
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        added = asked.total_count - topic.partition_count
        refusal = _refused(broker, asked, topic.partition_count, added)
        if refusal is not None or validate_only:
            return refusal or topic
        return topic._replace(partition_count=asked.total_count)

    try:
        decided = await broker.catalog.change(asked.name, grown)
    except StorageFailed as problem:
        return Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(problem))
    return decided if isinstance(decided, Refusal) else None


def _refused(
    broker: Broker, asked: CreatePartitionsTopic, current: int, added: int
) -> Refusal | None:
    if added == 0:
        return Refusal(ErrorCode.INVALID_PARTITIONS, f"the topic already has {current} partitions")
    if added < 0:
        return Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"the topic has {current} partitions, and {asked.total_count} would be fewer",
        )
    if asked.assignments is None:
        return too_many_partitions(added)
    if len(asked.assignments) != added:
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partitions are added, but {len(asked.assignments)} assignments are given",
        )
    if any(a.broker_ids != (broker.node_id,) for a in asked.assignments):
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "an assignment names unknown brokers")
    return too_many_partitions(added)


def _result(asked: CreatePartitionsTopic, refusal: Refusal | None) -> CreatePartitionsTopicResult:
    if refusal is None:
        return CreatePartitionsTopicResult(name=asked.name, error_message=None)
    return CreatePartitionsTopicResult(
        name=asked.name, error_code=refusal.error_code, error_message=refusal.message
    )
