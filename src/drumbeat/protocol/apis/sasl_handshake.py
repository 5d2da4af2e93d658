"""SaslHandshake (key 17): client and broker agree on a SASL mechanism.

From v1 the tokens travel in SaslAuthenticate.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16


class SaslHandshakeRequest(NamedTuple):
    mechanism: str = ""


class SaslHandshakeResponse(NamedTuple):
    error_code: Int16 = 0
    mechanisms: tuple[str, ...] = ()


API = Api(
    key=17,
    name="SaslHandshake",
    versions=versions("0-1"),
    flexible=None,
    request=SaslHandshakeRequest,
    response=SaslHandshakeResponse,
)
