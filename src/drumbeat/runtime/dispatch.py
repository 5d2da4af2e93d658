"""Frames in, response payloads out: finds the codec and the handler of each request.

Knows nothing of sockets. An endpoint is looked up by (key, version) and made on first use, so
that a node pays only for the versions its clients speak.
"""

import inspect
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from drumbeat.protocol.api import API_VERSIONS_KEY
from drumbeat.protocol.apis import APIS, ApiKey
from drumbeat.protocol.apis.api_versions import API as API_VERSIONS
from drumbeat.protocol.compiler import Decoder, ResponseEncoder, load_codecs
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.header import read_request_header, skip_tags
from drumbeat.protocol.pieces import Pieces
from drumbeat.runtime.requests import NO_RESPONSE, Deferred, Request
from drumbeat.runtime.tasks import Tasks

Handler = Callable[..., Any]  # (broker, request, body) -> response | Deferred | NO_RESPONSE

_FRAME_START: Final = struct.Struct(">ii")  # length, correlation id
_FLEXIBLE_FRAME_START: Final = struct.Struct(">iix")  # ... and no tagged fields
_LENGTH_BYTES: Final = 4

# Members hear the same over and over: that all went well with the same few partitions.
REPEATED: Final = frozenset({ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT})
REMEMBERED_MAX: Final = 1024  # responses of one version of one API
REMEMBERED_BYTES_MAX: Final = 1024


class Endpoint:
    __slots__ = (
        "decode",
        "encode",
        "handler",
        "has_request_tags",
        "header_bytes",
        "is_async",
        "pack_start",
    )

    def __init__(
        self,
        *,
        handler: Handler,
        decode: Decoder,
        encode: ResponseEncoder,
        has_request_tags: bool = False,
        has_response_tags: bool = False,
    ) -> None:
        self.handler = handler
        self.is_async = inspect.iscoroutinefunction(handler)
        self.decode = decode
        self.encode = encode
        self.has_request_tags = has_request_tags
        start = _FLEXIBLE_FRAME_START if has_response_tags else _FRAME_START
        self.pack_start = start.pack  # bound once: finding it takes half as long as calling it
        self.header_bytes = start.size - _LENGTH_BYTES


class Answer:
    """An answer still to come."""

    __slots__ = ("correlation_id", "deferred", "endpoint")

    def __init__(self, deferred: Deferred, endpoint: Endpoint, correlation_id: int) -> None:
        self.deferred = deferred
        self.endpoint = endpoint
        self.correlation_id = correlation_id


class Dispatcher:
    def __init__(self, broker: object, handlers: Mapping[int, Handler], tasks: Tasks) -> None:
        self._broker = broker
        self._handlers = handlers
        self._tasks = tasks
        self._endpoints: dict[tuple[int, int], Endpoint] = {}
        load_codecs()

    def dispatch(self, frame: bytes, client_host: str) -> bytes | Pieces | Answer | None:
        """The response frame, or an Answer to wait for, or None where no response is due."""
        header, position = read_request_header(frame)
        api_key, api_version = header.api_key, header.api_version
        endpoint = self._endpoints.get((api_key, api_version))
        if endpoint is None:
            endpoint = self._make_endpoint(api_key, api_version)
        if endpoint.has_request_tags:
            position = skip_tags(frame, position)
        body = endpoint.decode(frame, position)
        request = Request(api_key, api_version, header.client_id, client_host)
        result = endpoint.handler(self._broker, request, body)
        if endpoint.is_async:
            result = self._tasks.defer(result)
        if isinstance(result, Deferred):
            return Answer(result, endpoint, header.correlation_id)
        if result is NO_RESPONSE:
            return None
        return response_frame(endpoint, header.correlation_id, result)

    def replace_handler(self, api_key: int, handler: Handler) -> None:
        """Have `handler` answer this API from the next request on."""
        self._handlers = {**self._handlers, api_key: handler}
        for key in [key for key in self._endpoints if key[0] == api_key]:
            del self._endpoints[key]

    def _make_endpoint(self, api_key: int, api_version: int) -> Endpoint:
        api, handler = APIS.get(api_key), self._handlers.get(api_key)
        if api is None or handler is None:
            raise ProtocolError(f"API key {api_key} is not supported")
        if api_version not in api.versions:
            if api_key != API_VERSIONS_KEY:
                raise ProtocolError(
                    f"{api.name} v{api_version} is not supported; "
                    f"versions {api.versions[0]} to {api.versions[-1]} are"
                )
            return self._api_versions_fallback(handler, api_version)
        endpoint = Endpoint(
            handler=handler,
            decode=api.decode_request(api_version),
            encode=api.encode_response(api_version),
            has_request_tags=api.is_flexible(api_version),
            has_response_tags=bool(api.response_header_version(api_version)),
        )
        if api_key in REPEATED:
            endpoint.encode = _remembering(endpoint.encode)
        self._endpoints[api_key, api_version] = endpoint
        return endpoint

    def _api_versions_fallback(self, handler: Handler, api_version: int) -> Endpoint:
        # A newer client asks first with its newest version; it is answered in v0 and asks again.
        # The body of an unknown version cannot be read, so nothing of it is. Never kept in the
        # table: the version is the client's to choose.
        return Endpoint(
            handler=handler,
            decode=lambda _frame, _position: API_VERSIONS.request(),
            encode=API_VERSIONS.encode_response(0),
        )


def response_frame(endpoint: Endpoint, correlation_id: int, response: Any) -> bytes | Pieces:
    body = endpoint.encode(response)
    start: bytes = endpoint.pack_start(endpoint.header_bytes + len(body), correlation_id)
    return start + body


def _remembering(encode: ResponseEncoder) -> ResponseEncoder:
    """`encode` that knows what it made of the last responses, as long as they are small."""
    bodies: dict[Any, bytes | Pieces] = {}

    def encode_or_remember(response: Any) -> bytes | Pieces:
        body = bodies.get(response)
        if body is None:
            body = encode(response)
            if len(body) <= REMEMBERED_BYTES_MAX:
                if len(bodies) >= REMEMBERED_MAX:
                    bodies.clear()
                bodies[response] = body
        return body

    return encode_or_remember
