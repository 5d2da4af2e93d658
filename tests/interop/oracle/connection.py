"""A client of one broker that speaks raw frames: any API at any version, many at a time.

A connection has one request in progress, as a broker sees it: a JoinGroup that is parked mutes
its connection. Whoever wants to say more meanwhile takes another one.
"""

import asyncio
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis.api_versions import API as API_VERSIONS
from drumbeat.protocol.apis.api_versions import ApiVersionsRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.header import read_response_header
from support.wire import request_frame

ANSWER_TIMEOUT_S = 20.0
POLL_S = 0.002
_LENGTH = struct.Struct(">i")


class Closed(NamedTuple):
    """The broker closed the connection instead of answering."""


class Silent(NamedTuple):
    """No answer was due, and the connection goes on."""


class Rewritten(NamedTuple):
    """An answer that our own encoder would have written otherwise."""

    received: bytes
    encoded: bytes


class Call:
    """One request, and what came of it once something has."""

    def __init__(self, api: Api, version: int, body: Any) -> None:
        self.api = api
        self.version = version
        self.body = body
        self.result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @property
    def is_done(self) -> bool:
        return self.result.done()

    async def wait(self, timeout_s: float) -> bool:
        """Whether there is an answer, now or within the time."""
        await asyncio.wait([self.result], timeout=timeout_s)
        return self.result.done()

    def settle(self, result: Any) -> None:
        if not self.result.done():
            self.result.set_result(result)


class Connection(asyncio.Protocol):
    def __init__(self, client_id: str, on_free: Callable[["Connection"], None]) -> None:
        self.client_id = client_id
        self._on_free = on_free
        self._buffer = bytearray()
        self._call: Call | None = None
        self._is_silent = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, call: Call, *, is_silent: bool = False) -> None:
        assert self._call is None, "one request at a time"
        assert self._transport is not None
        frame = request_frame(call.api, call.version, call.body, client_id=self.client_id)
        if is_silent:
            # What comes back is the answer to a question that follows at once.
            frame += request_frame(API_VERSIONS, 0, ApiVersionsRequest(), client_id=self.client_id)
            self._is_silent = True
        self._call = call
        self._transport.write(frame)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) < _LENGTH.size:
            return
        end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
        if len(self._buffer) >= end:
            frame = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            call, self._call = self._call, None
            assert call is not None, "an answer to nothing"
            is_silent, self._is_silent = self._is_silent, False
            self._on_free(self)
            call.settle(Silent() if is_silent else _decoded(call, frame))

    def connection_lost(self, _exc: Exception | None) -> None:
        if self._call is not None:
            self._call.settle(Closed())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Client:
    """All connections of one sequence to one broker: each client id has its own."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._free: dict[str, list[Connection]] = {}
        self._connections: list[Connection] = []

    async def begin(
        self, client_id: str, api: Api, version: int, body: Any, *, is_silent: bool = False
    ) -> Call:
        """Send; the answer may be a long time coming."""
        connection = await self._connection(client_id)
        call = Call(api, version, body)
        connection.send(call, is_silent=is_silent)
        return call

    async def call(self, client_id: str, api: Api, version: int, body: Any) -> Any:
        call = await self.begin(client_id, api, version, body)
        return await asyncio.wait_for(call.result, ANSWER_TIMEOUT_S)

    async def call_until_ok(self, client_id: str, api: Api, version: int, body: Any) -> Any:
        """For a broker that has just started: ask again until there is no error."""
        deadline = asyncio.get_running_loop().time() + ANSWER_TIMEOUT_S
        while True:
            answer = await self.call(client_id, api, version, body)
            if answer.error_code == ErrorCode.NONE:
                return answer
            assert asyncio.get_running_loop().time() < deadline, answer
            await asyncio.sleep(POLL_S)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._free.clear()

    async def _connection(self, client_id: str) -> Connection:
        free = self._free.setdefault(client_id, [])
        if free:
            return free.pop()
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Connection(client_id, free.append), *self._address
        )
        self._connections.append(connection)
        return connection


def _decoded(call: Call, frame: bytes) -> Any:
    """The response; what a broker writes must also be what we would have written."""
    api, version = call.api, call.version
    _, position = read_response_header(frame, api.response_header_version(version))
    response = api.decode_response(version)(frame, position)
    encoded = api.encode_response(version)(response)
    return response if encoded == frame[position:] else Rewritten(frame[position:], encoded)
