"""The listening socket, the connections it accepted, and the limits on them."""

import asyncio
import logging
from collections import Counter
from typing import NamedTuple

from drumbeat.runtime.clock import Clock
from drumbeat.runtime.dispatch import Dispatcher
from drumbeat.server.connection import Connection

log = logging.getLogger(__name__)

SWEEP_INTERVAL_S = 5.0
PARTIAL_FRAME_MS_MAX = 30_000  # a frame that was begun is to be finished in this time
CLOSE_TIMEOUT_S = 2.0
BACKLOG = 1024


class Limits(NamedTuple):
    frame_bytes_max: int  # socket.request.max.bytes
    connections_max: int  # max.connections
    connections_per_ip_max: int  # max.connections.per.ip
    idle_ms_max: int  # connections.max.idle.ms; negative: never


class Listener:
    def __init__(self, dispatcher: Dispatcher, limits: Limits, clock: Clock) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._clock = clock
        self._connections: set[Connection] = set()
        self._per_ip: Counter[str] = Counter()
        self._woken: list[Connection] = []
        self._all_closed = asyncio.Event()
        self._all_closed.set()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Bind and listen; returns the port, which the system chose if `port` was 0."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._connection, host or None, port, backlog=BACKLOG
        )
        self._sweeper = asyncio.create_task(self._sweep_for_ever())
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop accepting, let answers that are on their way leave, then close."""
        if self._server is None or self._sweeper is None:
            return
        self._sweeper.cancel()
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._all_closed.wait()
        except TimeoutError:
            for connection in list(self._connections):
                connection.abort()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def now_ms(self) -> int:
        return self._clock.monotonic_ms()

    def _connection(self) -> Connection:
        return Connection(self, self._dispatcher, self._limits.frame_bytes_max)

    # -- called by connections -------------------------------------------------------------------

    def admit(self, connection: Connection) -> None:
        host, limits = connection.client_host, self._limits
        self._connections.add(connection)
        self._all_closed.clear()
        self._per_ip[host] += 1
        connection.last_active_ms = self.now_ms()
        if len(self._connections) > limits.connections_max:
            log.warning("%s: refused, max.connections is %d", connection, limits.connections_max)
            connection.abort()
        elif self._per_ip[host] > limits.connections_per_ip_max:
            limit = limits.connections_per_ip_max
            log.warning("%s: refused, max.connections.per.ip is %d", connection, limit)
            connection.abort()

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()
        self._per_ip[connection.client_host] -= 1
        if not self._per_ip[connection.client_host]:
            del self._per_ip[connection.client_host]

    def wake(self, connection: Connection) -> None:
        """Have `connection` send what became ready, together with what else does in this turn."""
        if not self._woken:
            asyncio.get_running_loop().call_soon(self._wake_all)
        self._woken.append(connection)

    def _wake_all(self) -> None:
        woken, self._woken = self._woken, []
        for connection in dict.fromkeys(woken):
            connection.wake()

    # -- idle connections ------------------------------------------------------------------------

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_INTERVAL_S)
            self.sweep(self.now_ms())

    def sweep(self, now_ms: int) -> None:
        idle_ms_max = self._limits.idle_ms_max
        for connection in list(self._connections):
            idle_ms = now_ms - connection.last_active_ms
            begun_ms = connection.partial_since_ms
            if begun_ms is not None and now_ms - begun_ms > PARTIAL_FRAME_MS_MAX:
                log.warning("%s: began a request and did not finish it; closing", connection)
                connection.abort()
            elif connection.is_idle and 0 <= idle_ms_max < idle_ms:
                log.debug("%s: idle for %d ms; closing", connection, idle_ms)
                connection.close()
