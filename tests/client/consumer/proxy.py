"""A network between clients and a broker that can be cut for one client, by its client id."""

import asyncio
from contextlib import suppress

from drumbeat.protocol.header import read_request_header
from support.ports import free_ports

CHUNK_BYTES = 65_536


class Proxy:
    """Listens on `port`; `target` is where the broker is."""

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self.target = ("127.0.0.1", 0)
        self._cut: set[str] = set()
        self._links: dict[asyncio.StreamWriter, str] = {}
        self._server: asyncio.Server | None = None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._links):
            writer.transport.abort()

    def cut(self, client_id: str) -> None:
        """Its connections break, and it cannot make new ones."""
        self._cut.add(client_id)
        for writer, owner in list(self._links.items()):
            if owner == client_id:
                writer.transport.abort()

    def heal(self, client_id: str) -> None:
        self._cut.discard(client_id)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
            first = await reader.readexactly(4)
            first += await reader.readexactly(int.from_bytes(first))
            client_id = read_request_header(first[4:])[0].client_id or ""
            if client_id not in self._cut:
                await self._link(client_id, first, reader, writer)
        writer.transport.abort()

    async def _link(
        self,
        client_id: str,
        first: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        up_reader, up_writer = await asyncio.open_connection(*self.target)
        self._links[writer] = client_id
        up_writer.write(first)
        try:
            await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))
        finally:
            del self._links[writer]
            up_writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError
