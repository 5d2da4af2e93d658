"""Which version of a request to send: the highest that the broker and this client both speak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drumbeat.client.errors import UnsupportedVersionError
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import api_versions
from drumbeat.protocol.apis.api_versions import ApiVersionsResponse
from drumbeat.protocol.errors import ErrorCode

API_VERSIONS = api_versions.API
# How a broker answers an ApiVersions whose version it does not know (KIP-511).
FALLBACK_VERSION = 0


class BrokerVersions:
    """What one broker offers, by API key."""

    def __init__(self, response: ApiVersionsResponse, broker: str) -> None:
        self._broker = broker
        self._offered: Mapping[int, range] = {
            offer.api_key: range(offer.min_version, offer.max_version + 1)
            for offer in response.api_keys
        }

    def highest(self, api: Api, allowed: range | None = None) -> int | None:
        """The highest version in common, and in `allowed` if that is given."""
        offered = self._offered.get(api.key)
        if offered is None:
            return None
        spoken = [api.versions, offered, allowed if allowed is not None else api.versions]
        highest = min(versions.stop for versions in spoken) - 1
        return highest if highest >= max(versions.start for versions in spoken) else None

    def required(self, api: Api, allowed: range | None = None) -> int:
        version = self.highest(api, allowed)
        if version is None:
            raise UnsupportedVersionError(self._explain(api, allowed or api.versions))
        return version

    def _explain(self, api: Api, wanted: range) -> str:
        offered = self._offered.get(api.key)
        offer = f"only versions {_text(offered)}" if offered else "none"
        return (
            f"{api.name} is needed in a version of {_text(wanted)}, but broker {self._broker} "
            f"offers {offer}: upgrade the broker, or do without this feature"
        )


def decode_api_versions(version: int, frame: bytes, position: int) -> tuple[Any, bool]:
    """The response, and whether the broker knew the version asked for."""
    code = int.from_bytes(frame[position : position + 2], signed=True)
    is_known = code != ErrorCode.UNSUPPORTED_VERSION
    decode = API_VERSIONS.decode_response(version if is_known else FALLBACK_VERSION)
    return decode(frame, position), is_known


def retry_version(response: ApiVersionsResponse) -> int:
    """The version of ApiVersions that a broker named when it refused ours, or the oldest."""
    version = BrokerVersions(response, "").highest(API_VERSIONS)
    return FALLBACK_VERSION if version is None else version


def _text(versions: range) -> str:
    return f"{versions.start}-{versions.stop - 1}"
