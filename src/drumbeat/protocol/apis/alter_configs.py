"""AlterConfigs (key 33): replaces all configs of a resource at once.

Deprecated by IncrementalAlterConfigs, still sent by older tools. v2 is flexible.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int8, Int16, Int32


class AlterableConfig(NamedTuple):
    name: str = ""
    value: str | None = ""


class AlterConfigsResource(NamedTuple):
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: tuple[AlterableConfig, ...] = ()


class AlterConfigsRequest(NamedTuple):
    resources: tuple[AlterConfigsResource, ...] = ()
    validate_only: bool = False


class AlterConfigsResourceResponse(NamedTuple):
    error_code: Int16 = 0
    error_message: str | None = ""
    resource_type: Int8 = 0
    resource_name: str = ""


class AlterConfigsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    responses: tuple[AlterConfigsResourceResponse, ...] = ()


API = Api(
    key=33,
    name="AlterConfigs",
    versions=versions("0-2"),
    flexible=2,
    request=AlterConfigsRequest,
    response=AlterConfigsResponse,
)
