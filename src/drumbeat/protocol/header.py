"""Request and response headers.

Request header v1 and v2 differ only in the tagged section at the end; the client id keeps its
int16 length even in v2, so that any broker can read it. Response header v1 adds a tagged section.
"""

import struct
from typing import Final

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.reading import read_tags

# Every request comes by here, and finding a method takes half as long as calling it.
_request: Final = struct.Struct(">hhih")
_unpack_request: Final = _request.unpack_from
_REQUEST_BYTES: Final = 10
_int32: Final = struct.Struct(">i")


class RequestHeader:
    __slots__ = ("api_key", "api_version", "client_id", "correlation_id")

    def __init__(
        self, api_key: int, api_version: int, correlation_id: int, client_id: str | None
    ) -> None:
        self.api_key: Final = api_key
        self.api_version: Final = api_version
        self.correlation_id: Final = correlation_id
        self.client_id: Final = client_id


def read_request_header(frame: bytes) -> tuple[RequestHeader, int]:
    """The header and where its client id ends; flexible versions go on with `skip_tags`."""
    if len(frame) < _REQUEST_BYTES:
        raise ProtocolError(f"request of {len(frame)} bytes is shorter than its header")
    fields: tuple[int, int, int, int] = _unpack_request(frame)
    api_key, api_version, correlation_id, size = fields
    position = _REQUEST_BYTES
    if size < 0:
        return RequestHeader(api_key, api_version, correlation_id, None), position
    stop = position + size
    if stop > len(frame):
        raise ProtocolError(f"client id announces {size} bytes, {len(frame) - position} are left")
    try:
        client_id = frame[position:stop].decode()
    except UnicodeDecodeError:
        raise ProtocolError("client id is not UTF-8") from None
    return RequestHeader(api_key, api_version, correlation_id, client_id), stop


def skip_tags(frame: bytes, position: int) -> int:
    """Where the tagged section at `position` ends. No header has a tag that we know."""
    try:
        if frame[position] == 0:
            return position + 1
        return read_tags(frame, position, len(frame))[1]
    except (IndexError, ValueError):
        raise ProtocolError("header ends inside its tagged fields") from None


def encode_request_header(header: RequestHeader, header_version: int) -> bytes:
    client_id = header.client_id.encode() if header.client_id is not None else None
    size = -1 if client_id is None else len(client_id)
    fixed = _request.pack(header.api_key, header.api_version, header.correlation_id, size)
    return fixed + (client_id or b"") + (b"\0" if header_version == 2 else b"")


def encode_response_header(correlation_id: int, header_version: int) -> bytes:
    return _int32.pack(correlation_id) + (b"\0" if header_version == 1 else b"")


def read_response_header(frame: bytes, header_version: int) -> tuple[int, int]:
    """Correlation id and where the body begins."""
    if len(frame) < _int32.size:
        raise ProtocolError(f"response of {len(frame)} bytes is shorter than its header")
    (correlation_id,) = _int32.unpack_from(frame)
    if header_version == 0:
        return correlation_id, _int32.size
    return correlation_id, skip_tags(frame, _int32.size)
