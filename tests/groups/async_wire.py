"""An asyncio client that speaks frames, for tests with thousands of connections or requests."""

import asyncio
import struct
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.header import read_response_header
from support.wire import request_frame

CONNECT_AT_ONCE = 100  # fewer than any backlog of a listening socket


class AsyncWire:
    """One connection. Answers come in the order of the requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0

    @classmethod
    async def connect(cls, bootstrap_servers: str) -> "AsyncWire":
        host, port = bootstrap_servers.rsplit(":", 1)
        return cls(*await asyncio.open_connection(host, int(port)))

    def send(self, api: Api, version: int, body: Any, client_id: str = "wire") -> None:
        self._correlation_id += 1
        self._writer.write(request_frame(api, version, body, self._correlation_id, client_id))

    async def receive(self, api: Api, version: int) -> Any:
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        data = await self._reader.readexactly(size)
        _, position = read_response_header(data, api.response_header_version(version))
        return api.decode_response(version)(data, position)

    async def call(self, api: Api, version: int, body: Any, client_id: str = "wire") -> Any:
        self.send(api, version, body, client_id)
        return await self.receive(api, version)

    def close(self) -> None:
        self._writer.close()


async def connect_all(bootstrap_servers: str, count: int) -> list[AsyncWire]:
    wires: list[AsyncWire] = []
    while len(wires) < count:
        some = min(CONNECT_AT_ONCE, count - len(wires))
        wires += await asyncio.gather(*(AsyncWire.connect(bootstrap_servers) for _ in range(some)))
    return wires
