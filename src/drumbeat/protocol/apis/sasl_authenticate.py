"""SaslAuthenticate (key 36): one SASL token each way.

v1 adds the session's lifetime (KIP-368). v2 is flexible.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int64, V


class SaslAuthenticateRequest(NamedTuple):
    auth_bytes: bytes = b""


class SaslAuthenticateResponse(NamedTuple):
    error_code: Int16 = 0
    error_message: str | None = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: Annotated[Int64, V(1)] = 0


API = Api(
    key=36,
    name="SaslAuthenticate",
    versions=versions("0-2"),
    flexible=2,
    request=SaslAuthenticateRequest,
    response=SaslAuthenticateResponse,
)
