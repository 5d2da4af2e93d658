"""DeleteGroups (key 42): empty groups are removed with their offsets.

v2 is flexible.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32


class DeleteGroupsRequest(NamedTuple):
    groups_names: tuple[str, ...] = ()


class DeletableGroupResult(NamedTuple):
    group_id: str = ""
    error_code: Int16 = 0


class DeleteGroupsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    results: tuple[DeletableGroupResult, ...] = ()


API = Api(
    key=42,
    name="DeleteGroups",
    versions=versions("0-2"),
    flexible=2,
    request=DeleteGroupsRequest,
    response=DeleteGroupsResponse,
)
