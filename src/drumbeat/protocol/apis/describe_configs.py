"""DescribeConfigs (key 32): configs of a resource and where each value comes from.

v3 adds types and documentation. v4 is flexible.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int8, Int16, Int32, V


class DescribeConfigsResource(NamedTuple):
    resource_type: Int8 = 0
    resource_name: str = ""
    configuration_keys: tuple[str, ...] | None = ()


class DescribeConfigsRequest(NamedTuple):
    resources: tuple[DescribeConfigsResource, ...] = ()
    include_synonyms: bool = False
    include_documentation: Annotated[bool, V(3)] = False


class DescribeConfigsSynonym(NamedTuple):
    name: str = ""
    value: str | None = ""
    source: Int8 = 0


class DescribeConfigsResourceResult(NamedTuple):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: Int8 = -1
    is_sensitive: bool = False
    synonyms: tuple[DescribeConfigsSynonym, ...] = ()
    config_type: Annotated[Int8, V(3)] = 0
    documentation: Annotated[str | None, V(3)] = ""


class DescribeConfigsResult(NamedTuple):
    error_code: Int16 = 0
    error_message: str | None = ""
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


class DescribeConfigsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    results: tuple[DescribeConfigsResult, ...] = ()


API = Api(
    key=32,
    name="DescribeConfigs",
    versions=versions("1-4"),
    flexible=4,
    request=DescribeConfigsRequest,
    response=DescribeConfigsResponse,
)
