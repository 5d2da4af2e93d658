"""Heartbeat (key 12): a member tells the coordinator that it is alive.

v3 adds GroupInstanceId (KIP-345). v4 is flexible.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, V


class HeartbeatRequest(NamedTuple):
    group_id: str = ""
    generation_id: Int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(3)] = None


class HeartbeatResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(1)] = 0
    error_code: Int16 = 0


API = Api(
    key=12,
    name="Heartbeat",
    versions=versions("0-4"),
    flexible=4,
    request=HeartbeatRequest,
    response=HeartbeatResponse,
)
