"""DescribeLogDirs (key 35): where partitions are stored and how large they are.

v2 is flexible. v3 adds a top-level error, v4 the size of the volume,
v5 whether a directory is cordoned.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64, V


class DescribableLogDirTopic(NamedTuple):
    topic: str = ""
    partitions: tuple[Int32, ...] = ()


class DescribeLogDirsRequest(NamedTuple):
    topics: tuple[DescribableLogDirTopic, ...] | None = ()


class DescribeLogDirsPartition(NamedTuple):
    partition_index: Int32 = 0
    partition_size: Int64 = 0
    offset_lag: Int64 = 0
    is_future_key: bool = False


class DescribeLogDirsTopic(NamedTuple):
    name: str = ""
    partitions: tuple[DescribeLogDirsPartition, ...] = ()


class DescribeLogDirsResult(NamedTuple):
    error_code: Int16 = 0
    log_dir: str = ""
    topics: tuple[DescribeLogDirsTopic, ...] = ()
    total_bytes: Annotated[Int64, V(4)] = -1
    usable_bytes: Annotated[Int64, V(4)] = -1
    is_cordoned: Annotated[bool, V(5)] = False


class DescribeLogDirsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, V(3)] = 0
    results: tuple[DescribeLogDirsResult, ...] = ()


API = Api(
    key=35,
    name="DescribeLogDirs",
    versions=versions("1-5"),
    flexible=2,
    request=DescribeLogDirsRequest,
    response=DescribeLogDirsResponse,
)
