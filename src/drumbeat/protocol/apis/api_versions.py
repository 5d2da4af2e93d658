"""ApiVersions (key 18): which APIs and versions this broker speaks.

v3 is flexible and adds the client's name and the broker's features. v4 may return features whose
lowest version is 0.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64, V


class ApiVersionsRequest(NamedTuple):
    client_software_name: Annotated[str, V(3)] = ""
    client_software_version: Annotated[str, V(3)] = ""


class ApiVersion(NamedTuple):
    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


class SupportedFeatureKey(NamedTuple):
    name: str = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


class FinalizedFeatureKey(NamedTuple):
    name: str = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


class ApiVersionsResponse(NamedTuple):
    error_code: Int16 = 0
    api_keys: tuple[ApiVersion, ...] = ()
    throttle_time_ms: Annotated[Int32, V(1)] = 0
    supported_features: Annotated[tuple[SupportedFeatureKey, ...], V(3, tag=0)] = ()
    finalized_features_epoch: Annotated[Int64, V(3, tag=1)] = -1
    finalized_features: Annotated[tuple[FinalizedFeatureKey, ...], V(3, tag=2)] = ()
    zk_migration_ready: Annotated[bool, V(3, tag=3)] = False


API = Api(
    key=18,
    name="ApiVersions",
    versions=versions("0-4"),
    flexible=3,
    request=ApiVersionsRequest,
    response=ApiVersionsResponse,
)
