"""DescribeTopicPartitions: topics in the order of their names, page by page."""

from collections.abc import Iterator

from drumbeat.protocol.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.authorized import TOPIC_OPERATIONS
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Request
from drumbeat.runtime.topic_names import problem_with
from drumbeat.runtime.topics import INTERNAL_TOPICS, Topic

PARTITIONS_MAX = 2000  # max.request.partition.size.limit


def handle(
    broker: Broker, request: Request, body: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    if body.cursor is not None and _is_lost(body, body.cursor):
        refused = (topic.name for topic in body.topics)
        return _page([_error(name, ErrorCode.INVALID_REQUEST) for name in refused], None)
    left = max(1, min(body.response_partition_limit, PARTITIONS_MAX))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name, first in _names(broker, body):
        if left == 0:
            return _page(topics, DescribeTopicPartitionsResponseCursor(name, first))
        topic = broker.topics.get(name)
        if topic is None:
            topics.append(_unknown(name))
            continue
        last = max(first, min(first + left, topic.partition_count))
        topics.append(_described(broker, topic, range(first, last)))
        left -= last - first
        if last < topic.partition_count:
            return _page(topics, DescribeTopicPartitionsResponseCursor(name, last))
    return _page(topics, None)


def _names(broker: Broker, body: DescribeTopicPartitionsRequest) -> Iterator[tuple[str, int]]:
    """Topics to describe from the cursor on, each with the first partition to describe."""
    asked = {topic.name for topic in body.topics} or {topic.name for topic in broker.topics}
    cursor = body.cursor
    for name in sorted(asked):
        if cursor is None or name > cursor.topic_name:
            yield name, 0
        elif name == cursor.topic_name:
            yield name, cursor.partition_index


def _is_lost(body: DescribeTopicPartitionsRequest, cursor: Cursor) -> bool:
    """A cursor that no page has ended with; where all topics are asked for, one may be gone."""
    names = [topic.name for topic in body.topics]
    return cursor.partition_index < 0 or bool(names and cursor.topic_name not in names)


def _page(
    topics: list[DescribeTopicPartitionsResponseTopic],
    cursor: DescribeTopicPartitionsResponseCursor | None,
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=cursor)


def _described(
    broker: Broker, topic: Topic, indexes: range
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partition(broker, topic.name, index) for index in indexes),
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(broker: Broker, topic: str, index: int) -> DescribeTopicPartitionsResponsePartition:
    opened = broker.partitions.get(topic, index)
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=broker.node_id,
        leader_epoch=opened.leader_epoch if opened else -1,
        replica_nodes=(broker.node_id,),
        isr_nodes=(broker.node_id,),
        eligible_leader_replicas=(),
        last_known_elr=(),
    )


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    illegal = problem_with(name)
    error = ErrorCode.INVALID_TOPIC_EXCEPTION if illegal else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return _error(name, error)._replace(
        is_internal=name in INTERNAL_TOPICS, topic_authorized_operations=TOPIC_OPERATIONS
    )


def _error(name: str, error_code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=error_code, name=name)
