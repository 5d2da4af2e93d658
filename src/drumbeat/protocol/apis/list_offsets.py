"""ListOffsets (key 2): offsets by timestamp; the special ones are negative.

v2 adds the isolation level, v4 leader epochs. v6 is flexible. v7 adds the maximum timestamp (-3),
v8 and v9 tiered storage's local and remote offsets (-4, -5), v10 a timeout,
v11 pending upload (-6).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int8, Int16, Int32, Int64, V


class ListOffsetsPartition(NamedTuple):
    partition_index: Int32 = 0
    current_leader_epoch: Annotated[Int32, V(4)] = -1
    timestamp: Int64 = 0


class ListOffsetsTopic(NamedTuple):
    name: str = ""
    partitions: tuple[ListOffsetsPartition, ...] = ()


class ListOffsetsRequest(NamedTuple):
    replica_id: Int32 = 0
    isolation_level: Annotated[Int8, V(2)] = 0
    topics: tuple[ListOffsetsTopic, ...] = ()
    timeout_ms: Annotated[Int32, V(10)] = 0


class ListOffsetsPartitionResponse(NamedTuple):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Annotated[Int32, V(4)] = -1


class ListOffsetsTopicResponse(NamedTuple):
    name: str = ""
    partitions: tuple[ListOffsetsPartitionResponse, ...] = ()


class ListOffsetsResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(2)] = 0
    topics: tuple[ListOffsetsTopicResponse, ...] = ()


API = Api(
    key=2,
    name="ListOffsets",
    versions=versions("1-11"),
    flexible=6,
    request=ListOffsetsRequest,
    response=ListOffsetsResponse,
)
