"""JoinGroup (key 11): a member asks to be in the next generation, and waits for it to form.

v1 adds the rebalance timeout. From v4 a new member is first given its id (MEMBER_ID_REQUIRED).
v5 adds GroupInstanceId (KIP-345). v6 is flexible. v7 returns the protocol type and may return a
null protocol. v8 adds a reason (KIP-800), v9 SkipAssignment (KIP-814).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, V


class JoinGroupRequestProtocol(NamedTuple):
    name: str = ""
    metadata: bytes = b""


class JoinGroupRequest(NamedTuple):
    group_id: str = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Annotated[Int32, V(1)] = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(5)] = None
    protocol_type: str = ""
    protocols: tuple[JoinGroupRequestProtocol, ...] = ()
    reason: Annotated[str | None, V(8)] = None


class JoinGroupResponseMember(NamedTuple):
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(5)] = None
    metadata: bytes = b""


class JoinGroupResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(2)] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[str | None, V(7)] = None
    protocol_name: Annotated[str | None, V(nullable=7)] = ""
    leader: str = ""
    skip_assignment: Annotated[bool, V(9)] = False
    member_id: str = ""
    members: tuple[JoinGroupResponseMember, ...] = ()


API = Api(
    key=11,
    name="JoinGroup",
    versions=versions("0-9"),
    flexible=6,
    request=JoinGroupRequest,
    response=JoinGroupResponse,
)
