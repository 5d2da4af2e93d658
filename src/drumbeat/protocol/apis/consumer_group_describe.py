"""ConsumerGroupDescribe (key 69): groups of the consumer protocol with members and epochs.

v1 adds the member type.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int8, Int16, Int32, Uuid, V


class ConsumerGroupDescribeRequest(NamedTuple):
    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool = False


class TopicPartitions(NamedTuple):
    topic_id: Uuid = NULL_UUID
    topic_name: str = ""
    partitions: tuple[Int32, ...] = ()


class Assignment(NamedTuple):
    topic_partitions: tuple[TopicPartitions, ...] = ()


class Member(NamedTuple):
    member_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: Int32 = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    assignment: Assignment = Assignment()
    target_assignment: Assignment = Assignment()
    member_type: Annotated[Int8, V(1)] = -1


class DescribedGroup(NamedTuple):
    error_code: Int16 = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: str = ""
    members: tuple[Member, ...] = ()
    authorized_operations: Int32 = -2147483648


class ConsumerGroupDescribeResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    groups: tuple[DescribedGroup, ...] = ()


API = Api(
    key=69,
    name="ConsumerGroupDescribe",
    versions=versions("0-1"),
    flexible=0,
    request=ConsumerGroupDescribeRequest,
    response=ConsumerGroupDescribeResponse,
)
