"""OffsetForLeaderEpoch (key 23): where a leader epoch ends in the log.

v3 tells replicas from consumers. v4 is flexible.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64, V


class OffsetForLeaderPartition(NamedTuple):
    partition: Int32 = 0
    current_leader_epoch: Int32 = -1
    leader_epoch: Int32 = 0


class OffsetForLeaderTopic(NamedTuple):
    topic: str = ""
    partitions: tuple[OffsetForLeaderPartition, ...] = ()


class OffsetForLeaderEpochRequest(NamedTuple):
    replica_id: Annotated[Int32, V(3)] = -2
    topics: tuple[OffsetForLeaderTopic, ...] = ()


class EpochEndOffset(NamedTuple):
    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Int32 = -1
    end_offset: Int64 = -1


class OffsetForLeaderTopicResult(NamedTuple):
    topic: str = ""
    partitions: tuple[EpochEndOffset, ...] = ()


class OffsetForLeaderEpochResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    topics: tuple[OffsetForLeaderTopicResult, ...] = ()


API = Api(
    key=23,
    name="OffsetForLeaderEpoch",
    versions=versions("2-4"),
    flexible=4,
    request=OffsetForLeaderEpochRequest,
    response=OffsetForLeaderEpochResponse,
)
