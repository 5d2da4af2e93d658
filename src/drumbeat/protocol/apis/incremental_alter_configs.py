"""IncrementalAlterConfigs (key 44): single configs are set, deleted or edited.

v1 is flexible.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int8, Int16, Int32


class AlterableConfig(NamedTuple):
    name: str = ""
    config_operation: Int8 = 0
    value: str | None = ""


class AlterConfigsResource(NamedTuple):
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: tuple[AlterableConfig, ...] = ()


class IncrementalAlterConfigsRequest(NamedTuple):
    resources: tuple[AlterConfigsResource, ...] = ()
    validate_only: bool = False


class AlterConfigsResourceResponse(NamedTuple):
    error_code: Int16 = 0
    error_message: str | None = ""
    resource_type: Int8 = 0
    resource_name: str = ""


class IncrementalAlterConfigsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    responses: tuple[AlterConfigsResourceResponse, ...] = ()


API = Api(
    key=44,
    name="IncrementalAlterConfigs",
    versions=versions("0-1"),
    flexible=1,
    request=IncrementalAlterConfigsRequest,
    response=IncrementalAlterConfigsResponse,
)
