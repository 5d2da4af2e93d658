"""As many requests as the server takes: every connection keeps `depth` of them in flight."""

from __future__ import annotations

import time
from collections.abc import Sequence
from select import epoll
from typing import NamedTuple

from benchmarks.side_by_side.generator.connections import Connection, Responses, ResponseSizes
from benchmarks.side_by_side.generator.window import OpenWindow, Window

POLL_TIMEOUT_S = 0.05
DRAIN_TIMEOUT_S = 30.0
WINDOWS_MAX = 10


class Flooded(NamedTuple):
    requests: int
    window: Window

    @property
    def per_s(self) -> float:
        return self.requests / self.window.wall_s

    @property
    def per_cpu_s(self) -> float:
        return self.requests / self.window.server_cpu_s if self.window.server_cpu_s else 0.0


class Flood(NamedTuple):
    """`expected` is the response to each frame, or its size where it cannot be compared."""

    servers: str
    server_pid: int
    frames: Sequence[bytes]  # one per connection
    expected: bytes | int
    depth: int
    seconds: float
    ramp_s: float = 0.25  # under load before it is measured

    def run(self) -> Flooded:
        poller = epoll()
        connections = {
            connection.fd: connection
            for connection in (
                Connection(self.servers, frame, self._responses(), poller) for frame in self.frames
            )
        }
        for connection in connections.values():
            connection.send(self.depth)
        _serve(poller, connections, self.ramp_s)
        for _ in range(WINDOWS_MAX):
            window = OpenWindow(self.server_pid)
            requests = _serve(poller, connections, self.seconds)
            flooded = Flooded(requests, window.close())
            if flooded.window.server_cpu_s:
                break  # else the disk stood still all the time, and nothing was measured
        _drain(poller, connections)
        return flooded

    def _responses(self) -> Responses | ResponseSizes:
        if isinstance(self.expected, int):
            return ResponseSizes(self.expected)
        return Responses(self.expected)


def _serve(poller: epoll, connections: dict[int, Connection], seconds: float) -> int:
    """A request goes out for every response that comes in; the number of responses."""
    clock = time.perf_counter
    responses = 0
    deadline = clock() + seconds
    while clock() < deadline:
        for fd, event in poller.poll(POLL_TIMEOUT_S):
            connection = connections[fd]
            if completed := connection.on_event(event):
                responses += completed
                connection.send(completed)
    return responses


def _drain(poller: epoll, connections: dict[int, Connection]) -> None:
    """Take what is still to come, so that the server does no work for it after the measurement."""
    deadline = time.perf_counter() + DRAIN_TIMEOUT_S
    while any(connection.in_flight for connection in connections.values()):
        if time.perf_counter() > deadline:
            raise TimeoutError(f"responses are missing after {DRAIN_TIMEOUT_S:g} s")
        for fd, event in poller.poll(POLL_TIMEOUT_S):
            connections[fd].on_event(event)
    for connection in connections.values():
        connection.close()
