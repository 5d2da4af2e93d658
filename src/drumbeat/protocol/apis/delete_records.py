"""DeleteRecords (key 21): everything before an offset is removed from a partition.

v2 is flexible.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64


class DeleteRecordsPartition(NamedTuple):
    partition_index: Int32 = 0
    offset: Int64 = 0


class DeleteRecordsTopic(NamedTuple):
    name: str = ""
    partitions: tuple[DeleteRecordsPartition, ...] = ()


class DeleteRecordsRequest(NamedTuple):
    topics: tuple[DeleteRecordsTopic, ...] = ()
    timeout_ms: Int32 = 0


class DeleteRecordsPartitionResult(NamedTuple):
    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


class DeleteRecordsTopicResult(NamedTuple):
    name: str = ""
    partitions: tuple[DeleteRecordsPartitionResult, ...] = ()


class DeleteRecordsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    topics: tuple[DeleteRecordsTopicResult, ...] = ()


API = Api(
    key=21,
    name="DeleteRecords",
    versions=versions("0-2"),
    flexible=2,
    request=DeleteRecordsRequest,
    response=DeleteRecordsResponse,
)
