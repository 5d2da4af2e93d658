"""Requests at a fixed rate, and how long each response took.

A latency counts from the moment a request was due, not from when it could be sent: a server that
stalls is charged for everything that had to wait.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections import deque
from collections.abc import Callable, Sequence
from select import EPOLLIN, epoll
from typing import NamedTuple

from benchmarks.side_by_side.generator.connections import Connection, Responses

TICK_S = 0.000_1
WARM_SHARE = 0.1  # the first part of the run is not counted
DRAIN_TIMEOUT_S = 10.0
_TIMERSPEC = struct.Struct("qqqq")  # interval and first expiry, seconds and nanoseconds each


class Latency(NamedTuple):
    per_s: float
    p50_s: float
    p99_s: float


class Paced(NamedTuple):
    servers: str
    frames: Sequence[bytes]  # one per connection, used in turn
    expected: bytes
    per_s: float
    seconds: float

    def run(self) -> Latency:
        poller = epoll()
        connections = [
            Connection(self.servers, frame, Responses(self.expected), poller)
            for frame in self.frames
        ]
        timer = _start_timer(TICK_S)
        poller.register(timer, EPOLLIN)
        latencies = _Schedule(connections, self.per_s, self.seconds).run(poller, timer)
        os.close(timer)
        for connection in connections:
            connection.close()
        counted = sorted(latencies[int(len(latencies) * WARM_SHARE) :])
        return Latency(self.per_s, _percentile(counted, 0.5), _percentile(counted, 0.99))


class _Schedule:
    """Request number n is due at n / rate, on connection n modulo their number."""

    def __init__(self, connections: list[Connection], per_s: float, seconds: float) -> None:
        self._connections = connections
        self._interval_s = 1 / per_s
        self._total = int(per_s * seconds)
        # Connections answer in order, so the oldest due time is that of the next response.
        self._due: dict[int, deque[float]] = {c.fd: deque() for c in connections}
        self._by_fd = {connection.fd: connection for connection in connections}
        self._sent = 0
        self._latencies: list[float] = []

    def run(self, poller: epoll, timer: int) -> list[float]:
        clock = time.perf_counter
        start = clock()
        deadline = start + self._total * self._interval_s + DRAIN_TIMEOUT_S
        while len(self._latencies) < self._total:
            if clock() > deadline:
                raise TimeoutError(f"{self._total - len(self._latencies)} responses are missing")
            for fd, event in poller.poll(1.0):
                if fd == timer:
                    os.read(timer, 8)
                else:
                    self._receive(fd, event, clock)
            self._send_due(start, clock())
        return self._latencies

    def _receive(self, fd: int, event: int, clock: Callable[[], float]) -> None:
        completed = self._by_fd[fd].on_event(event)
        now = clock()
        due = self._due[fd]
        self._latencies += [now - due.popleft() for _ in range(completed)]

    def _send_due(self, start: float, now: float) -> None:
        until = min(int((now - start) / self._interval_s) + 1, self._total)
        for number in range(self._sent, until):
            connection = self._connections[number % len(self._connections)]
            self._due[connection.fd].append(start + number * self._interval_s)
            connection.send(1)
        self._sent = max(self._sent, until)


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _start_timer(interval_s: float) -> int:
    """A descriptor that becomes readable every interval; epoll's own timeout knows only ms."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)
    seconds, nanoseconds = divmod(int(interval_s * 1e9), 1_000_000_000)
    spec = _TIMERSPEC.pack(seconds, nanoseconds, seconds, nanoseconds)
    if descriptor < 0 or libc.timerfd_settime(descriptor, 0, spec, None) < 0:
        raise OSError(ctypes.get_errno(), "no timer")
    return descriptor
