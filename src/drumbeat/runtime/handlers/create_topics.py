"""CreateTopics: each topic on its own; one that is refused does not hold up the others.

Only a request for too many partitions is refused as a whole.
"""

from collections import Counter

from drumbeat.protocol.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.config.describe import describe_topic
from drumbeat.runtime.durably import StorageFailed
from drumbeat.runtime.requests import Request
from drumbeat.runtime.topic_changes import (
    Refusal,
    partitions_asked_for,
    plan_topic,
    timed_out,
    too_many_partitions,
    topic_names,
)
from drumbeat.runtime.topics import Topic


async def handle(
    broker: Broker, request: Request, body: CreateTopicsRequest
) -> CreateTopicsResponse:
    times = Counter(topic.name for topic in body.topics)
    topics = [topic for topic in body.topics if times[topic.name] == 1]
    if topics and (refusal := timed_out(body.timeout_ms)):
        return CreateTopicsResponse(topics=tuple(_refused(t.name, refusal) for t in body.topics))
    repeated = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    results = [_refused(name, repeated) for name, count in times.items() if count > 1]
    total = sum(max(partitions_asked_for(broker, topic), 0) for topic in topics)
    if refusal := too_many_partitions(total):
        results += [_refused(topic.name, refusal) for topic in topics]
    else:
        # Topics of one request may collide with each other: Kafka looks at those there were.
        others = topic_names(broker)
        results += [await _create(broker, asked, others, body.validate_only) for asked in topics]
    return CreateTopicsResponse(topics=tuple(results))


async def _create(
    broker: Broker, asked: CreatableTopic, others: list[str], validate_only: bool
) -> CreatableTopicResult:
    planned = plan_topic(broker, asked, others)
    if isinstance(planned, Refusal):
        return _refused(asked.name, planned)
    if not validate_only and (refusal := await _store(broker, planned)) is not None:
        return _refused(asked.name, refusal)
    return _created(broker, planned)


async def _store(broker: Broker, topic: Topic) -> Refusal | None:
    try:
        if await broker.catalog.create(topic):
            return None
    except StorageFailed as problem:
        return Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(problem))
    return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic.name!r} already exists")


def _created(broker: Broker, topic: Topic) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=topic.partition_count,
        replication_factor=topic.replication_factor,
        configs=tuple(
            CreatableTopicConfigs(
                name=entry.name,
                value=topic.configs.get(entry.name, entry.value),  # as it was asked for
                read_only=entry.is_read_only,
                config_source=entry.source,
                is_sensitive=entry.is_sensitive,
            )
            for entry in describe_topic(topic.configs, broker.config)
        ),
    )


def _refused(name: str, refusal: Refusal) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        error_code=refusal.error_code,
        error_message=refusal.message,
        num_partitions=-1,
        replication_factor=-1,
        configs=(),
    )
