"""SyncGroup (key 14): the leader hands in the assignment, every member receives its own.

v3 adds GroupInstanceId (KIP-345). v4 is flexible. v5 names the protocol both ways (KIP-559).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, V


class SyncGroupRequestAssignment(NamedTuple):
    member_id: str = ""
    assignment: bytes = b""


class SyncGroupRequest(NamedTuple):
    group_id: str = ""
    generation_id: Int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(3)] = None
    protocol_type: Annotated[str | None, V(5)] = None
    protocol_name: Annotated[str | None, V(5)] = None
    assignments: tuple[SyncGroupRequestAssignment, ...] = ()


class SyncGroupResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(1)] = 0
    error_code: Int16 = 0
    protocol_type: Annotated[str | None, V(5)] = None
    protocol_name: Annotated[str | None, V(5)] = None
    assignment: bytes = b""


API = Api(
    key=14,
    name="SyncGroup",
    versions=versions("0-5"),
    flexible=4,
    request=SyncGroupRequest,
    response=SyncGroupResponse,
)
