"""ListGroups (key 16): the groups this broker coordinates.

v3 is flexible. v4 filters by state and returns it, v5 by type (KIP-848).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, V


class ListGroupsRequest(NamedTuple):
    states_filter: Annotated[tuple[str, ...], V(4)] = ()
    types_filter: Annotated[tuple[str, ...], V(5)] = ()


class ListedGroup(NamedTuple):
    group_id: str = ""
    protocol_type: str = ""
    group_state: Annotated[str, V(4)] = ""
    group_type: Annotated[str, V(5)] = ""


class ListGroupsResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(1)] = 0
    error_code: Int16 = 0
    groups: tuple[ListedGroup, ...] = ()


API = Api(
    key=16,
    name="ListGroups",
    versions=versions("0-5"),
    flexible=3,
    request=ListGroupsRequest,
    response=ListGroupsResponse,
)
