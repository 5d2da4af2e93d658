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
from drumbeat.runtime.topic_changes import NO_TIME, delete_topic
from drumbeat.runtime.topics import Topic

IDS_SINCE = 6
DISABLED_HAS_ITS_OWN_ERROR_SINCE = 3


async def handle(
    broker: Broker, request: Request, body: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    asked = body.topics
    if request.api_version < IDS_SINCE:
        asked = tuple(DeleteTopicState(name=name) for name in body.topic_names)
    times = Counter(filter(_is_named, asked))
    if not broker.config.delete_topic_enable:
        results = [_disabled(topic, request.api_version) for topic in dict.fromkeys(asked)]
    elif body.timeout_ms <= NO_TIME and 1 in times.values():
        results = [_result(topic, ErrorCode.REQUEST_TIMED_OUT) for topic in asked]
    else:
        results = [_result(t, ErrorCode.INVALID_REQUEST) for t in asked if not _is_named(t)]
        results += await _delete_named(broker, times)
    return DeleteTopicsResponse(responses=tuple(results))


def _is_named(asked: DeleteTopicState) -> bool:
    """By name or by id, which is to be one of them."""
    return (asked.name is None) != (asked.topic_id == NULL_UUID)


async def _delete_named(
    broker: Broker, times: Counter[DeleteTopicState]
) -> list[DeletableTopicResult]:
    """A topic that is given twice stays, also where it is given by name and by id."""
    results = [_result(t, ErrorCode.INVALID_REQUEST) for t, count in times.items() if count > 1]
    for asked in [topic for topic, count in times.items() if count == 1]:
        found = broker.find_topic(asked.name or "", asked.topic_id)
        if found is None or times[_other_way(asked, found)] == 0:
            results.append(await _delete(broker, asked))
        elif asked.name is not None:
            both = DeleteTopicState(found.name, found.topic_id)
            results.append(_result(both, ErrorCode.INVALID_REQUEST))
        elif times[DeleteTopicState(found.name)] > 1:
            results.append(await _delete(broker, asked))  # Kafka has dropped the name by now
    return results


def _other_way(asked: DeleteTopicState, found: Topic) -> DeleteTopicState:
    by_id = DeleteTopicState(None, found.topic_id)
    return by_id if asked.name is not None else DeleteTopicState(found.name)


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
    ErrorCode.REQUEST_TIMED_OUT: "There was no time to do it: the timeout is not above 0.",
    ErrorCode.KAFKA_STORAGE_ERROR: "The disk did not take the change.",
}
