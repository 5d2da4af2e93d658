"""OffsetDelete (key 47): committed offsets of single partitions are removed from a group.

The error code stands before the throttle time here, unlike everywhere else.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32


class OffsetDeleteRequestPartition(NamedTuple):
    partition_index: Int32 = 0


class OffsetDeleteRequestTopic(NamedTuple):
    name: str = ""
    partitions: tuple[OffsetDeleteRequestPartition, ...] = ()


class OffsetDeleteRequest(NamedTuple):
    group_id: str = ""
    topics: tuple[OffsetDeleteRequestTopic, ...] = ()


class OffsetDeleteResponsePartition(NamedTuple):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class OffsetDeleteResponseTopic(NamedTuple):
    name: str = ""
    partitions: tuple[OffsetDeleteResponsePartition, ...] = ()


class OffsetDeleteResponse(NamedTuple):
    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: tuple[OffsetDeleteResponseTopic, ...] = ()


API = Api(
    key=47,
    name="OffsetDelete",
    versions=versions("0"),
    flexible=None,
    request=OffsetDeleteRequest,
    response=OffsetDeleteResponse,
)
