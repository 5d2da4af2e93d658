"""FindCoordinator (key 10): which broker serves this group, transactional id or share partition.

v1 adds the key type, v3 is flexible, v4 asks for several keys at once. v6 adds share groups.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int8, Int16, Int32, V


class FindCoordinatorRequest(NamedTuple):
    key: Annotated[str, V(until=3)] = ""
    key_type: Annotated[Int8, V(1)] = 0
    coordinator_keys: Annotated[tuple[str, ...], V(4)] = ()


class Coordinator(NamedTuple):
    key: str = ""
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""


class FindCoordinatorResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(1)] = 0
    error_code: Annotated[Int16, V(until=3)] = 0
    error_message: Annotated[str | None, V(1, until=3)] = ""
    node_id: Annotated[Int32, V(until=3)] = 0
    host: Annotated[str, V(until=3)] = ""
    port: Annotated[Int32, V(until=3)] = 0
    coordinators: Annotated[tuple[Coordinator, ...], V(4)] = ()


API = Api(
    key=10,
    name="FindCoordinator",
    versions=versions("0-6"),
    flexible=3,
    request=FindCoordinatorRequest,
    response=FindCoordinatorResponse,
)
