"""Non-blocking connections of the generator, with what each has still to send and to receive."""

from __future__ import annotations

import socket
from functools import cache
from select import EPOLLIN, EPOLLOUT, epoll

CONNECT_TIMEOUT_S = 30.0
CHUNK_BYTES = 1 << 16
BUFFER_BYTES = 1 << 20


class UnexpectedResponseError(Exception):
    """The server answered something else than it answered when the load was prepared."""


class Responses:
    """Counts the whole responses in what arrives, and compares each with the expected one."""

    def __init__(self, expected: bytes) -> None:
        self._expected = expected
        self._size = len(expected)
        self._pattern = _repeated(expected)
        self._position = 0

    def receive(self, source: socket.socket) -> int:
        chunk = source.recv(CHUNK_BYTES)
        if chunk == self._expected and not self._position:
            return 1
        if not chunk:
            raise ConnectionError("the server closed a connection")
        stop = self._position + len(chunk)
        if chunk != self._pattern[self._position : stop]:
            raise UnexpectedResponseError(
                f"received {chunk[:80]!r}, expected {self._expected[:80]!r}"
            )
        completed, self._position = divmod(stop, self._size)
        return completed


@cache
def _repeated(expected: bytes) -> bytes:
    """Long enough that any chunk lies within it, wherever in a response it begins."""
    return expected * (CHUNK_BYTES // len(expected) + 2)


class ResponseSizes:
    """Counts responses of a known size by their bytes alone: they are large, or never the same."""

    _buffer = bytearray(BUFFER_BYTES)

    def __init__(self, size: int) -> None:
        self._size = size
        self._position = 0

    def receive(self, source: socket.socket) -> int:
        count = source.recv_into(self._buffer)
        if not count:
            raise ConnectionError("the server closed a connection")
        completed, self._position = divmod(self._position + count, self._size)
        return completed


class Connection:
    """Sends one frame over and over; `in_flight` is how many have no response yet."""

    def __init__(
        self, servers: str, frame: bytes, responses: Responses | ResponseSizes, poller: epoll
    ) -> None:
        host, _, port = servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self.fd = self._socket.fileno()
        self._frame = frame
        self._responses = responses
        self._poller = poller
        self._unsent = memoryview(b"")
        self.in_flight = 0
        poller.register(self.fd, EPOLLIN)

    def send(self, count: int) -> None:
        self.in_flight += count
        data = self._frame if count == 1 else self._frame * count
        if self._unsent:
            self._unsent = memoryview(bytes(self._unsent) + data)
            return
        self._send(memoryview(data))

    def on_event(self, event: int) -> int:
        """Send and receive what is possible; the number of responses that have become whole."""
        if event & EPOLLOUT:
            self._send(self._unsent)
        if not event & EPOLLIN:
            return 0
        completed = self._responses.receive(self._socket)
        self.in_flight -= completed
        return completed

    def close(self) -> None:
        self._poller.unregister(self.fd)
        self._socket.close()

    def _send(self, data: memoryview) -> None:
        was_blocked = bool(self._unsent)
        try:
            self._unsent = data[self._socket.send(data) :]
        except BlockingIOError:
            self._unsent = data
        if was_blocked != bool(self._unsent):
            self._poller.modify(self.fd, EPOLLIN | EPOLLOUT if self._unsent else EPOLLIN)
