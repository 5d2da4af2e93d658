"""DeleteTopics (key 20): topics are deleted, by name or (v6) by id.

v4 is flexible. v5 adds error messages.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int16, Int32, Uuid, V


class DeleteTopicState(NamedTuple):
    name: str | None = None
    topic_id: Uuid = NULL_UUID


class DeleteTopicsRequest(NamedTuple):
    topics: Annotated[tuple[DeleteTopicState, ...], V(6)] = ()
    topic_names: Annotated[tuple[str, ...], V(until=5)] = ()
    timeout_ms: Int32 = 0


class DeletableTopicResult(NamedTuple):
    name: Annotated[str | None, V(nullable=6)] = ""
    topic_id: Annotated[Uuid, V(6)] = NULL_UUID
    error_code: Int16 = 0
    error_message: Annotated[str | None, V(5)] = None


class DeleteTopicsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    responses: tuple[DeletableTopicResult, ...] = ()


API = Api(
    key=20,
    name="DeleteTopics",
    versions=versions("1-6"),
    flexible=4,
    request=DeleteTopicsRequest,
    response=DeleteTopicsResponse,
)
