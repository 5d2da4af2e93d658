"""DeleteTopics: by name, or by id from v6 on."""

from collections import Counter

from drumbeat.protocol.apis.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.durably import StorageFailed
from drumbeat.runtime.requests import Request
from drumbeat.runtime.topic_changes import delete_topic

IDS_SINCE = 6
DISABLED_HAS_ITS_OWN_ERROR_SINCE = 3


async def handle(
    broker: Broker, request: Request, body: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    asked = body.topics
    if request.api_version < IDS_SINCE:
        asked = tuple(DeleteTopicState(name=name) for name in body.topic_names)
    times = Counter(asked)
    results = []
    for topic in times:
        if not broker.config.delete_topic_enable:
            results.append(_disabled(topic, request.api_version))
        elif times[topic] > 1 or (topic.name is not None and topic.topic_id != NULL_UUID):
            results.append(_result(topic, ErrorCode.INVALID_REQUEST))
        else:
            results.append(await _delete(broker, topic))
    return DeleteTopicsResponse(responses=tuple(results))


async def _delete(broker: Broker, asked: DeleteTopicState) -> DeletableTopicResult:
    found = broker.find_topic(asked.name or "", asked.topic_id)
    try:
        is_deleted = found is not None and await delete_topic(broker, found)
    except StorageFailed:
        return _result(asked, ErrorCode.KAFKA_STORAGE_ERROR)
    if found is None or not is_deleted:
        by_name = asked.name is not None
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if by_name else ErrorCode.UNKNOWN_TOPIC_ID
        return _result(asked, error)
    return DeletableTopicResult(name=found.name, topic_id=found.topic_id, error_message=None)


def _disabled(asked: DeleteTopicState, api_version: int) -> DeletableTopicResult:
    if api_version < DISABLED_HAS_ITS_OWN_ERROR_SINCE:
        return _result(asked, ErrorCode.INVALID_REQUEST)
    return _result(asked, ErrorCode.TOPIC_DELETION_DISABLED)


def _result(asked: DeleteTopicState, error_code: ErrorCode) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=asked.name,
        topic_id=asked.topic_id,
        error_code=error_code,
        error_message=_MESSAGES.get(error_code),
    )


_MESSAGES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
    ErrorCode.INVALID_REQUEST: "A topic is to be named once, by name or by id.",
    ErrorCode.TOPIC_DELETION_DISABLED: "delete.topic.enable is false.",
    ErrorCode.KAFKA_STORAGE_ERROR: "The disk did not take the change.",
}
