"""The listening socket, the connections it accepted, and the limits on them."""

import asyncio
import errno
import logging
import os
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from drumbeat.runtime.clock import Clock
from drumbeat.runtime.dispatch import Dispatcher
from drumbeat.server.connection import PEER_MS_MAX, Connection, WakeUps

log = logging.getLogger(__name__)

SWEEP_INTERVAL_S = 5.0
CLOSE_TIMEOUT_S = 2.0
BACKLOG = 1024
# uvloop accepts one connection per turn and listening socket; asyncio's own loop all that wait.
# When hundreds of clients come at once, turns are long, and who is not accepted yet joins its
# group after it was rebalanced.
UVLOOP_ACCEPTS_PER_TURN = 16
RECEIVE_BUFFER_BYTES = 256 * 1024
SYSTEMS_CHOICE = -1  # of a socket's buffer, in Kafka's configuration


class ListenError(Exception):
    """The address cannot be listened on; says why and what helps."""


class Limits(NamedTuple):
    frame_bytes_max: int  # socket.request.max.bytes
    connections_max: int  # max.connections
    connections_per_ip_max: int  # max.connections.per.ip
    idle_ms_max: int  # connections.max.idle.ms; negative: never


class Listener:
    """`limits` is asked each time, because some of them can be altered while the node runs."""

    def __init__(self, dispatcher: Dispatcher, limits: Callable[[], Limits], clock: Clock) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self.now_ms = clock.monotonic_ms
        self._connections: set[Connection] = set()
        self._per_ip: Counter[str] = Counter()
        self.wake_ups = WakeUps()
        self._all_closed = asyncio.Event()
        self._all_closed.set()
        self._servers: list[asyncio.Server] = []  # on handles of the same sockets
        self._sweeper: asyncio.Task[None] | None = None
        self.accepted_count = 0  # connections, refused ones included
        self.refused_count = 0
        # All connections receive into this one buffer and copy out at once. A buffer per receive,
        # which is what asyncio.Protocol does, costs more than all else that a heartbeat needs.
        # It belongs to one event loop: two threads must not receive into the same bytes.
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))

    async def start(self, host: str, port: int, send_buffer_bytes: int = SYSTEMS_CHOICE) -> int:
        """Bind and listen; returns the port, which the system chose if `port` was 0."""
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(self._connection, host or None, port, backlog=BACKLOG)
        except OSError as problem:
            raise ListenError(_cannot_listen(host, port, problem)) from None
        self._servers.append(server)
        for listening in server.sockets:
            _set_options(listening, send_buffer_bytes)
            for _ in range(_more_handles(loop)):
                again = socket.socket(fileno=os.dup(listening.fileno()))
                self._servers.append(
                    await loop.create_server(self._connection, sock=again, backlog=BACKLOG)
                )
        self._sweeper = asyncio.create_task(self._sweep_for_ever())
        return int(server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop accepting; close every connection, once what was answered there has been read."""
        if self._sweeper is None:
            return
        self._sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await self._sweeper
        for server in self._servers:
            server.close()
        for end in (Connection.close, Connection.abort):
            for connection in list(self._connections):
                end(connection)
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._all_closed.wait()

    @property
    def is_listening(self) -> bool:
        return bool(self._servers) and self._servers[0].is_serving()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def _connection(self) -> Connection:
        return Connection(self, self._dispatcher, self._limits().frame_bytes_max)

    # -- called by connections -------------------------------------------------------------------

    def admit(self, connection: Connection) -> None:
        host, limits = connection.client_host, self._limits()
        self._connections.add(connection)
        self.accepted_count += 1
        self._all_closed.clear()
        self._per_ip[host] += 1
        if len(self._connections) > limits.connections_max:
            log.warning("%s: refused, max.connections is %d", connection, limits.connections_max)
            self._refuse(connection)
        elif self._per_ip[host] > limits.connections_per_ip_max:
            limit = limits.connections_per_ip_max
            log.warning("%s: refused, max.connections.per.ip is %d", connection, limit)
            self._refuse(connection)

    def _refuse(self, connection: Connection) -> None:
        self.refused_count += 1
        connection.abort()

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()
        self._per_ip[connection.client_host] -= 1
        if not self._per_ip[connection.client_host]:
            del self._per_ip[connection.client_host]

    # -- idle connections ------------------------------------------------------------------------

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_INTERVAL_S)
            self.sweep(self.now_ms())

    def sweep(self, now_ms: int) -> None:
        """Close the connections whose peer does nothing, or does not finish what it began."""
        idle_ms_max = self._limits().idle_ms_max
        for connection in list(self._connections):
            if connection.is_overdue(now_ms):
                seconds = PEER_MS_MAX // 1000
                log.warning(
                    "%s: left a request unfinished, or its last answers unread, for %d s; closing",
                    connection,
                    seconds,
                )
                connection.abort()
            elif 0 <= idle_ms_max < (idle_ms := connection.idle_ms(now_ms)):
                log.debug("%s: idle for %d ms; closing", connection, idle_ms)
                connection.abort()


def _set_options(listening: socket.socket, send_buffer_bytes: int) -> None:
    """What accepted sockets inherit."""
    # A peer that vanished without a word is noticed one day.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if send_buffer_bytes >= 0:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)


def _more_handles(loop: asyncio.AbstractEventLoop) -> int:
    return UVLOOP_ACCEPTS_PER_TURN - 1 if type(loop).__module__.startswith("uvloop") else 0


def _cannot_listen(host: str, port: int, problem: OSError) -> str:
    address = f"{host or 'every interface'}, port {port}"
    reason = _REASONS.get(problem.errno or 0) or problem.strerror or str(problem)
    return f"cannot listen on {address}: {reason}"


_REASONS = {
    errno.EADDRINUSE: "another process does; stop it, or choose another port",
    errno.EADDRNOTAVAIL: "this machine does not have that address; change listeners",
    errno.EACCES: "not permitted; choose a port from 1024 on",
    socket.EAI_NONAME: "no such host; change listeners",
}
