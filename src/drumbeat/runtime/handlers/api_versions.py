"""ApiVersions: what this node handles, computed from the tables."""

import re
from functools import cache

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS
from drumbeat.protocol.apis.api_versions import (
    API,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Request

CLIENT_SOFTWARE_SINCE = 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

# librdkafka takes Produce v0 in the advertised range for support of LZ4 (KAFKA-18659), so Kafka
# advertises 0 and refuses 0 to 2 on receipt, and so do we.
_ADVERTISED_FROM = {0: 0}


def handle(broker: Broker, request: Request, body: ApiVersionsRequest) -> ApiVersionsResponse:
    if request.api_version not in API.versions:
        return ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(_advertised(API),)
        )
    if request.api_version >= CLIENT_SOFTWARE_SINCE and not _is_named(body):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(api_keys=_all_advertised())


def _is_named(body: ApiVersionsRequest) -> bool:
    texts = (body.client_software_name, body.client_software_version)
    return all(_SOFTWARE.fullmatch(text) for text in texts)


@cache
def _all_advertised() -> tuple[ApiVersion, ...]:
    # Imported here because that table holds this handler.
    from drumbeat.runtime.handlers import HANDLERS  # noqa: PLC0415

    return tuple(_advertised(APIS[key]) for key in sorted(HANDLERS))


def advertised_versions(api: Api) -> tuple[int, int]:
    """The lowest and the highest version that clients are told."""
    return _ADVERTISED_FROM.get(api.key, api.versions[0]), api.versions[-1]


def _advertised(api: Api) -> ApiVersion:
    first, last = advertised_versions(api)
    return ApiVersion(api_key=api.key, min_version=first, max_version=last)
