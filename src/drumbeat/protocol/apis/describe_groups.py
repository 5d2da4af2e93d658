"""DescribeGroups (key 15): state, protocol and members of classic groups.

v3 adds authorised operations, v4 GroupInstanceId. v5 is flexible. v6 reports absent groups as
GROUP_ID_NOT_FOUND with a message (KIP-1043).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, V


class DescribeGroupsRequest(NamedTuple):
    groups: tuple[str, ...] = ()
    include_authorized_operations: Annotated[bool, V(3)] = False


class DescribedGroupMember(NamedTuple):
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(4)] = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


class DescribedGroup(NamedTuple):
    error_code: Int16 = 0
    error_message: Annotated[str | None, V(6)] = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedGroupMember, ...] = ()
    authorized_operations: Annotated[Int32, V(3)] = -2147483648


class DescribeGroupsResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(1)] = 0
    groups: tuple[DescribedGroup, ...] = ()


API = Api(
    key=15,
    name="DescribeGroups",
    versions=versions("0-6"),
    flexible=5,
    request=DescribeGroupsRequest,
    response=DescribeGroupsResponse,
)
