"""The network: ordered within a connection, in no order across connections, late and breakable.

A connection that breaks loses what is under way in both directions. One that its client gives up
does not: the requests in it arrive later, perhaps behind newer ones of the same client.
"""

import asyncio
import contextvars
from collections import deque
from random import Random
from typing import Any, Protocol

from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.frame import FrameDecoder
from drumbeat.protocol.frame import frame as framed
from drumbeat.protocol.header import RequestHeader, encode_request_header
from drumbeat.server.connection import Connection
from sim.history import Operation
from sim.pipe import Pipe, Weather

ANSWER_BYTES_MAX = 1 << 30


class Lost(Exception):  # noqa: N818 - what happened
    """The connection is gone, and with it any answer."""


class Door(Protocol):
    """Sees every request go in and every answer come out."""

    def arrived(self, operation: Operation) -> None: ...
    def answered(self, operation: Operation, answer: bytes) -> None: ...


class Host(Protocol):
    """Who can be connected to."""

    door: Door
    context: contextvars.Context

    @property
    def is_up(self) -> bool: ...
    def accept(self, transport: "ServerTransport") -> Connection: ...


class Network:
    def __init__(self, rng: Random, loop: asyncio.AbstractEventLoop) -> None:
        self._rng = rng
        self.loop = loop
        self.weather = Weather()
        self.channels: list[Channel] = []
        self._blocked_until: dict[str, float] = {}

    async def connect(self, client: str, host: Host) -> "Channel":
        await asyncio.sleep(self.delay_s(client))
        if not host.is_up:
            raise Lost("connection refused")
        channel = Channel(self, client, host)
        self.channels = [c for c in self.channels if c.is_open]
        self.channels.append(channel)
        return channel

    def block(self, client: str, seconds: float) -> None:
        """Nothing that is sent from now on, by or to this client, arrives before then."""
        self._blocked_until[client] = self.loop.time() + seconds

    def heal(self) -> None:
        self.weather = Weather()
        self._blocked_until.clear()

    def delay_s(self, client: str) -> float:
        rng, weather = self._rng, self.weather
        bounds = weather.long_delay_ms if rng.random() < weather.is_long else weather.delay_ms
        blocked_s = max(0.0, self._blocked_until.get(client, 0.0) - self.loop.time())
        return blocked_s + rng.uniform(*bounds) / 1000

    def is_lost(self, answer: Any) -> bool:
        hands_out_id = getattr(answer, "error_code", 0) == ErrorCode.MEMBER_ID_REQUIRED
        share = self.weather.is_id_lost if hands_out_id else self.weather.is_lost
        return self._rng.random() < share

    def pieces(self, data: bytes) -> list[bytes]:
        rng = self._rng
        if rng.random() >= self.weather.is_chopped:
            return [data]
        cuts = sorted(rng.sample(range(1, len(data)), min(3, len(data) - 1)))
        return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


class Channel:
    """A client's end of a connection."""

    def __init__(self, network: Network, client: str, host: Host) -> None:
        self.client = client
        self.is_open = True
        self._network = network
        self._there = Pipe(lambda: network.delay_s(client), host.context)
        self._back = Pipe(lambda: network.delay_s(client))
        self._correlation_id = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._server = ServerTransport(self, network, host)
        host.context.run(self._server.open)

    def send(self, operation: Operation) -> "asyncio.Future[Any]":
        """The answer, or Lost."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if not self.is_open:
            future.set_exception(Lost("closed"))
            return future
        self._correlation_id += 1
        api, version = operation.api, operation.version
        operation.correlation_id = self._correlation_id
        header = RequestHeader(api.key, version, self._correlation_id, operation.client)
        data = framed(
            encode_request_header(header, api.request_header_version(version)),
            api.encode_request(version)(operation.request),
        )
        self._waiting[operation.number] = future
        self._there.put(self._server.receive, data, operation)
        return future

    def close(self) -> None:
        """The client has had enough. What it has sent arrives all the same."""
        if self.is_open:
            self._fail()
            self._there.put(self._server.end)

    def reset(self) -> None:
        """The connection breaks. The node may take its time to notice."""
        if self.is_open:
            self._there.drop()
            self._fail()
            self._there.put(self._server.end)

    def cut(self) -> None:
        """The node is gone: nothing goes in or comes out, and no one there is told."""
        self._there.drop()
        self._server.cut()
        if self.is_open:
            self._back.drop()
            self._back.put(self._fail)

    def answer(self, operation: Operation, response: Any) -> None:
        if self._network.is_lost(response):
            self._network.loop.call_soon(self.reset)
        else:
            self._back.put(self._receive, operation, response)

    def end(self) -> None:
        self._back.put(self._fail)

    def _receive(self, operation: Operation, response: Any) -> None:
        future = self._waiting.pop(operation.number, None)
        if future is not None and not future.done():
            future.set_result(response)

    def _fail(self) -> None:
        self.is_open = False
        self._back.drop()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(Lost("connection lost"))


class ServerTransport(asyncio.Transport):
    """The node's end, as its real Connection sees it."""

    def __init__(self, channel: Channel, network: Network, host: Host) -> None:
        super().__init__({"peername": ("10.0.0.1", 9)})
        self._channel = channel
        self._network = network
        self._host = host
        self._connection: Connection | None = None
        self._inbox: deque[tuple[bytes, Operation | None]] = deque()
        self._in_progress: deque[Operation] = deque()
        self._frames = FrameDecoder(ANSWER_BYTES_MAX)
        self._is_reading = True
        self._is_closing = False

    def open(self) -> None:
        self._connection = self._host.accept(self)

    # -- from the network ------------------------------------------------------------------------

    def receive(self, data: bytes, operation: Operation) -> None:
        pieces = self._network.pieces(data)
        self._inbox.extend((piece, None) for piece in pieces[:-1])
        self._inbox.append((pieces[-1], operation))
        self._feed()

    def _feed(self) -> None:
        while self._inbox and self._is_reading and self._connection and not self._is_closing:
            piece, completes = self._inbox.popleft()
            if completes is not None:
                self._host.door.arrived(completes)
                self._in_progress.append(completes)
            self._connection.get_buffer(-1)[: len(piece)] = piece
            self._connection.buffer_updated(len(piece))

    def end(self) -> None:
        """The client's end is closed."""
        connection, self._connection = self._connection, None
        self._is_closing = True
        if connection is not None:
            connection.connection_lost(None)

    def hang_up(self) -> None:
        """The node stops in order."""
        if self._connection is not None:
            self._connection.close()

    def cut(self) -> None:
        self._connection = None
        self._is_closing = True

    def sever(self) -> None:
        """The node dies."""
        self._channel.cut()

    # -- from the Connection ---------------------------------------------------------------------

    def write(self, data: Any) -> None:
        if self._connection is None:
            return
        for answer in self._frames.feed(bytes(data), len(data)):
            operation = self._in_progress.popleft()
            self._host.door.answered(operation, answer)
            self._channel.answer(operation, operation.response)

    def close(self) -> None:
        self._stop()

    def abort(self) -> None:
        self._stop()

    def _stop(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._channel.end()
            self._network.loop.call_soon(self.end)

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._network.loop.call_soon(self._feed)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """What is written leaves at once."""

    def get_write_buffer_size(self) -> int:
        return 0
