"""LeaveGroup (key 13): members leave at once instead of being timed out.

v3 takes several members, by instance id too. v4 is flexible. v5 adds a reason (KIP-800).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, V


class MemberIdentity(NamedTuple):
    member_id: str = ""
    group_instance_id: str | None = None
    reason: Annotated[str | None, V(5)] = None


class LeaveGroupRequest(NamedTuple):
    group_id: str = ""
    member_id: Annotated[str, V(until=2)] = ""
    members: Annotated[tuple[MemberIdentity, ...], V(3)] = ()


class MemberResponse(NamedTuple):
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: Int16 = 0


class LeaveGroupResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(1)] = 0
    error_code: Int16 = 0
    members: Annotated[tuple[MemberResponse, ...], V(3)] = ()


API = Api(
    key=13,
    name="LeaveGroup",
    versions=versions("0-5"),
    flexible=4,
    request=LeaveGroupRequest,
    response=LeaveGroupResponse,
)
