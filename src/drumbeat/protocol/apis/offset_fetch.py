"""OffsetFetch (key 9): committed offsets of a group, or of several.

v2 lets null ask for all topics. v5 adds leader epochs. v6 is flexible. v7 adds RequireStable.
v8 asks for several groups at once. v9 adds member id and epoch, v10 topic ids.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int16, Int32, Int64, Uuid, V


class OffsetFetchRequestTopic(NamedTuple):
    name: str = ""
    partition_indexes: tuple[Int32, ...] = ()


class OffsetFetchRequestTopics(NamedTuple):
    name: Annotated[str, V(until=9)] = ""
    topic_id: Annotated[Uuid, V(10)] = NULL_UUID
    partition_indexes: tuple[Int32, ...] = ()


class OffsetFetchRequestGroup(NamedTuple):
    group_id: str = ""
    member_id: Annotated[str | None, V(9)] = None
    member_epoch: Annotated[Int32, V(9)] = -1
    topics: tuple[OffsetFetchRequestTopics, ...] | None = ()


class OffsetFetchRequest(NamedTuple):
    group_id: Annotated[str, V(until=7)] = ""
    topics: Annotated[tuple[OffsetFetchRequestTopic, ...] | None, V(until=7, nullable=2)] = ()
    groups: Annotated[tuple[OffsetFetchRequestGroup, ...], V(8)] = ()
    require_stable: Annotated[bool, V(7)] = False


class OffsetFetchResponsePartition(NamedTuple):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, V(5)] = -1
    metadata: str | None = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopic(NamedTuple):
    name: str = ""
    partitions: tuple[OffsetFetchResponsePartition, ...] = ()


class OffsetFetchResponsePartitions(NamedTuple):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = -1
    metadata: str | None = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopics(NamedTuple):
    name: Annotated[str, V(until=9)] = ""
    topic_id: Annotated[Uuid, V(10)] = NULL_UUID
    partitions: tuple[OffsetFetchResponsePartitions, ...] = ()


class OffsetFetchResponseGroup(NamedTuple):
    group_id: str = ""
    topics: tuple[OffsetFetchResponseTopics, ...] = ()
    error_code: Int16 = 0


class OffsetFetchResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(3)] = 0
    topics: Annotated[tuple[OffsetFetchResponseTopic, ...], V(until=7)] = ()
    error_code: Annotated[Int16, V(2, until=7)] = 0
    groups: Annotated[tuple[OffsetFetchResponseGroup, ...], V(8)] = ()


API = Api(
    key=9,
    name="OffsetFetch",
    versions=versions("1-10"),
    flexible=6,
    request=OffsetFetchRequest,
    response=OffsetFetchResponse,
)
