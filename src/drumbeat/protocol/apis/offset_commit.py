"""OffsetCommit (key 8): committed offsets of a group are stored.

v2-4 carry a retention time. v6 adds leader epochs, v7 GroupInstanceId. v8 is flexible.
v9 serves members of the consumer protocol (KIP-848). v10 uses topic ids in place of names.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int16, Int32, Int64, Uuid, V


class OffsetCommitRequestPartition(NamedTuple):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, V(6)] = -1
    committed_metadata: str | None = ""


class OffsetCommitRequestTopic(NamedTuple):
    name: Annotated[str, V(until=9)] = ""
    topic_id: Annotated[Uuid, V(10)] = NULL_UUID
    partitions: tuple[OffsetCommitRequestPartition, ...] = ()


class OffsetCommitRequest(NamedTuple):
    group_id: str = ""
    generation_id_or_member_epoch: Int32 = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(7)] = None
    retention_time_ms: Annotated[Int64, V(until=4)] = -1
    topics: tuple[OffsetCommitRequestTopic, ...] = ()


class OffsetCommitResponsePartition(NamedTuple):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class OffsetCommitResponseTopic(NamedTuple):
    name: Annotated[str, V(until=9)] = ""
    topic_id: Annotated[Uuid, V(10)] = NULL_UUID
    partitions: tuple[OffsetCommitResponsePartition, ...] = ()


class OffsetCommitResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(3)] = 0
    topics: tuple[OffsetCommitResponseTopic, ...] = ()


API = Api(
    key=8,
    name="OffsetCommit",
    versions=versions("2-10"),
    flexible=8,
    request=OffsetCommitRequest,
    response=OffsetCommitResponse,
)
