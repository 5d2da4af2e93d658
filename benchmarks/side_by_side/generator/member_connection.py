"""Connections that carry members: whole frames in, requests out, many at a time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from select import EPOLLIN, epoll

from benchmarks.side_by_side.generator.connections import CONNECT_TIMEOUT_S
from benchmarks.side_by_side.generator.member import Member
from drumbeat.protocol.frame import FrameDecoder

FRAME_BYTES_MAX = 16 << 20
CHUNK_BYTES = 1 << 18

# One for all: to allocate as much for each response took longer than all else about it.
_chunk = memoryview(bytearray(CHUNK_BYTES))


class MemberConnection:
    """Blocking, because a member's request fits any socket's buffer."""

    def __init__(self, servers: str, member: Member) -> None:
        host, _, port = servers.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S)
        self.socket.settimeout(None)  # with one, every call asks first whether it would block
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.member = member
        self._frames = FrameDecoder(FRAME_BYTES_MAX)

    def send(self, frame: bytes) -> None:
        self.socket.sendall(frame)

    def receive(self) -> list[bytes]:
        received = self.socket.recv_into(_chunk)
        if not received:
            raise ConnectionError(f"the server closed the connection of {self.member.member_id}")
        return self._frames.feed(_chunk, received)


class MemberConnections:
    def __init__(self, servers: str, members: list[Member]) -> None:
        self._poller = epoll()
        self._by_fd: dict[int, MemberConnection] = {}
        for member in members:
            connection = MemberConnection(servers, member)
            self._by_fd[connection.socket.fileno()] = connection
            self._poller.register(connection.socket.fileno(), EPOLLIN)

    def __iter__(self) -> Iterator[MemberConnection]:
        return iter(self._by_fd.values())

    def arrived(self, timeout_s: float) -> Iterator[tuple[MemberConnection, bytes]]:
        """The frames that can be read by now, with the connection of each."""
        for fd, _event in self._poller.poll(timeout_s):
            connection = self._by_fd[fd]
            for frame in connection.receive():
                yield connection, frame

    def close(self) -> None:
        for connection in self._by_fd.values():
            connection.socket.close()
