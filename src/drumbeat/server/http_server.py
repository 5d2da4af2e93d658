"""As much HTTP as a scraper and a probe need: GET and HEAD, one request per connection.

Everything is bounded: how many connections there are, how long a request may be and how long it
may take to arrive, to be answered and to be read.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NamedTuple

log = logging.getLogger(__name__)

CONNECTIONS_MAX: Final = 32
REQUEST_BYTES_MAX: Final = 8 * 1024
REQUEST_TIMEOUT_S: Final = 10.0  # to send the request, once connected
RESPONSE_TIMEOUT_S: Final = 30.0  # to make the response and have it read
LINGER_S: Final = 2.0  # to close after it

METHODS: Final = ("GET", "HEAD")
JSON: Final = "application/json"
PLAIN_TEXT: Final = "text/plain; charset=utf-8"


class Response(NamedTuple):
    status: HTTPStatus
    body: str
    content_type: str = PLAIN_TEXT


Route = Callable[[], Awaitable[Response]]


class BadRequestError(Exception):
    """What a request gets instead of what it asks for."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class HttpServer:
    """Serves `routes`, by path."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> int:
        """Bind and listen; returns the port. Raises OSError."""
        self._server = await asyncio.start_server(
            self._connected, host or None, port, limit=REQUEST_BYTES_MAX
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        connection = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve_one(reader, writer)
            await _linger(reader)
        except (OSError, EOFError, TimeoutError):
            pass  # gone, or as good as gone
        finally:
            writer.transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method = ""
        try:
            method, path = await _read_request(reader)
            async with asyncio.timeout(RESPONSE_TIMEOUT_S):
                response = await self._answer(method, path)
        except BadRequestError as refusal:
            response = Response(refusal.status, f"{refusal.status.phrase}\n")
        async with asyncio.timeout(RESPONSE_TIMEOUT_S):
            await _write(writer, response, has_body=method != "HEAD")

    async def _answer(self, method: str, path: str) -> Response:
        route = self._routes.get(path)
        if route is None:
            return Response(HTTPStatus.NOT_FOUND, f"not here; try {', '.join(self._routes)}\n")
        if method not in METHODS:
            raise BadRequestError(HTTPStatus.METHOD_NOT_ALLOWED)
        try:
            return await route()
        except Exception:
            # A bug of ours must not end the node, nor be told to whoever asks.
            log.exception("%s %s failed", method, path)
            return Response(HTTPStatus.INTERNAL_SERVER_ERROR, "see the log\n")


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Method and path. The header fields are read to their end and mean nothing here."""
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    except TimeoutError:
        raise BadRequestError(HTTPStatus.REQUEST_TIMEOUT) from None
    words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequestError(HTTPStatus.BAD_REQUEST)
    method, target, _ = words
    return method, target.partition("?")[0]


async def _write(writer: asyncio.StreamWriter, response: Response, *, has_body: bool) -> None:
    status, text, content_type = response
    body = text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n"
        + (f"Allow: {', '.join(METHODS)}\r\n" if status == HTTPStatus.METHOD_NOT_ALLOWED else "")
        + "\r\n"
    )
    writer.transport.set_write_buffer_limits(high=0)  # so that draining means all of it
    writer.write(head.encode() + (body if has_body else b""))
    writer.write_eof()
    await writer.drain()


async def _linger(reader: asyncio.StreamReader) -> None:
    """Until the peer has closed: closing on what it still sends could take our answer back."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await reader.read(REQUEST_BYTES_MAX):
                pass
