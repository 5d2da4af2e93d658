"""Metadata: brokers, topics and leaders; may create the topics it is asked about."""

from collections.abc import Iterable

from drumbeat.protocol.apis.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID
from drumbeat.runtime.authorized import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Deferred, Request
from drumbeat.runtime.topic_changes import create_automatically
from drumbeat.runtime.topic_names import problem_with
from drumbeat.runtime.topics import INTERNAL_TOPICS, Topic

EMPTY_LIST_MEANS_ALL_BEFORE = 1
CREATION_IS_OPTIONAL_SINCE = 4
IDS_SINCE = 12


def handle(broker: Broker, request: Request, body: MetadataRequest) -> MetadataResponse | Deferred:
    asked = body.topics
    if asked is None or (not asked and request.api_version < EMPTY_LIST_MEANS_ALL_BEFORE):
        topics = [_known(broker, topic, body) for topic in broker.topics]
        return _response(broker, topics, body)
    if request.api_version < IDS_SINCE and any(map(_is_by_id, asked)):
        return MetadataResponse(topics=tuple(map(_too_early, asked)))
    if missing := _to_be_created(broker, request, body):
        return broker.tasks.defer(_create_then_answer(broker, body, missing))
    return _response(broker, [_topic(broker, topic, body) for topic in _distinct(asked)], body)


def _distinct(asked: Iterable[MetadataRequestTopic]) -> Iterable[MetadataRequestTopic]:
    """Each topic once; where one is asked for by id, those without an id are passed over."""
    by_id = {topic.topic_id: topic for topic in asked if topic.topic_id != NULL_UUID}
    return by_id.values() or {topic.name: topic for topic in asked}.values()


def _is_by_id(asked: MetadataRequestTopic) -> bool:
    return asked.name is None or asked.topic_id != NULL_UUID


def _too_early(asked: MetadataRequestTopic) -> MetadataResponseTopic:
    """Versions 10 and 11 carry topic ids that nobody may ask by yet."""
    return MetadataResponseTopic(
        error_code=ErrorCode.INVALID_REQUEST, name=asked.name or "", topic_id=asked.topic_id
    )


async def _create_then_answer(
    broker: Broker, body: MetadataRequest, missing: list[str]
) -> MetadataResponse:
    for name in missing:
        await create_automatically(broker, name)
    topics = [_topic(broker, topic, body) for topic in _distinct(body.topics or ())]
    return _response(broker, topics, body)


def _to_be_created(broker: Broker, request: Request, body: MetadataRequest) -> list[str]:
    may_create = request.api_version < CREATION_IS_OPTIONAL_SINCE or body.allow_auto_topic_creation
    if not (may_create and broker.config.auto_create_topics_enable):
        return []
    names = dict.fromkeys(topic.name for topic in body.topics or () if topic.name)
    return [name for name in names if broker.topics.get(name) is None and not problem_with(name)]


def _response(
    broker: Broker, topics: list[MetadataResponseTopic], body: MetadataRequest
) -> MetadataResponse:
    host, port = broker.advertised
    asked = body.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=(
            MetadataResponseBroker(
                node_id=broker.node_id, host=host, port=port, rack=broker.config.broker_rack
            ),
        ),
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        topics=tuple(topics),
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else NOT_ASKED,
    )


def _topic(
    broker: Broker, asked: MetadataRequestTopic, body: MetadataRequest
) -> MetadataResponseTopic:
    if asked.name is None or asked.topic_id != NULL_UUID:
        found = broker.topics.by_id(asked.topic_id)
        if found is None:
            return MetadataResponseTopic(
                error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id
            )
        return _known(broker, found, body)
    found = broker.topics.get(asked.name)
    if found is not None:
        return _known(broker, found, body)
    is_illegal = problem_with(asked.name) is not None
    return MetadataResponseTopic(
        error_code=ErrorCode.INVALID_TOPIC_EXCEPTION
        if is_illegal
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        name=asked.name,
        topic_id=NULL_UUID,
        is_internal=asked.name in INTERNAL_TOPICS,
        topic_authorized_operations=_operations(body),
    )


def _operations(body: MetadataRequest) -> int:
    return TOPIC_OPERATIONS if body.include_topic_authorized_operations else NOT_ASKED


def _known(broker: Broker, topic: Topic, body: MetadataRequest) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partition(broker, topic, i) for i in range(topic.partition_count)),
        topic_authorized_operations=_operations(body),
    )


def _partition(broker: Broker, topic: Topic, index: int) -> MetadataResponsePartition:
    opened = broker.partitions.get(topic.name, index)
    return MetadataResponsePartition(
        partition_index=index,
        leader_id=broker.node_id,
        # A partition gets its epoch when it is first used; until then clients check none.
        leader_epoch=opened.leader_epoch if opened else -1,
        replica_nodes=(broker.node_id,),
        isr_nodes=(broker.node_id,),
    )
