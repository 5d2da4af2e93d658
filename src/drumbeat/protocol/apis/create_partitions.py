"""CreatePartitions (key 37): existing topics get more partitions.

v2 is flexible. v3 may answer THROTTLING_QUOTA_EXCEEDED.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32


class CreatePartitionsAssignment(NamedTuple):
    broker_ids: tuple[Int32, ...] = ()


class CreatePartitionsTopic(NamedTuple):
    name: str = ""
    total_count: Int32 = 0
    assignments: tuple[CreatePartitionsAssignment, ...] | None = ()


class CreatePartitionsRequest(NamedTuple):
    topics: tuple[CreatePartitionsTopic, ...] = ()
    timeout_ms: Int32 = 0
    validate_only: bool = False


class CreatePartitionsTopicResult(NamedTuple):
    name: str = ""
    error_code: Int16 = 0
    error_message: str | None = None


class CreatePartitionsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    results: tuple[CreatePartitionsTopicResult, ...] = ()


API = Api(
    key=37,
    name="CreatePartitions",
    versions=versions("0-3"),
    flexible=2,
    request=CreatePartitionsRequest,
    response=CreatePartitionsResponse,
)
