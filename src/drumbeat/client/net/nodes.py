"""The connections of a client, by node id: opened when first needed, with backoff after failures.

Negative ids are bootstrap servers. Ids from the top of the range are a second connection to a node,
for talking to it as a coordinator: a fetch that waits for data must not hold back heartbeats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.common import Address, CommonConfig
from drumbeat.client.entropy import draw
from drumbeat.client.errors import DrumbeatError, NodeDisconnected
from drumbeat.client.net.backoff import Backoff
from drumbeat.client.net.connection import Connection, ConnectionOptions, open_connection

_COORDINATOR_ID_MAX = 2**31 - 1
_COORDINATOR_ID_MIN = 2**30


def coordinator_id(node_id: int) -> int:
    """The id of the connection to node `node_id` as a coordinator."""
    return _COORDINATOR_ID_MAX - node_id


def broker_id(node_id: int) -> int:
    """The broker that a connection leads to, whatever it is for."""
    return _COORDINATOR_ID_MAX - node_id if node_id >= _COORDINATOR_ID_MIN else node_id


class Nodes:
    def __init__(self, config: CommonConfig, disconnected: Callable[[int, str], None]) -> None:
        self._options = ConnectionOptions(
            config.client_id, config.socket_connection_setup_timeout_ms, config.request_timeout_ms
        )
        self._backoff = Backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms)
        self._idle_ms_max = config.connections_max_idle_ms
        self._disconnected = disconnected
        self._addresses: dict[int, Address] = {}
        self._open: dict[int, Connection] = {}
        self._opening: dict[int, asyncio.Task[Connection]] = {}
        self._failures: dict[int, int] = {}
        self._retry_at_ms: dict[int, int] = {}
        self._is_closed = False

    def learn(self, node_id: int, address: Address) -> None:
        """Where a node is; a connection to where it was is closed."""
        if self._addresses.get(node_id) == address:
            return
        self._addresses[node_id] = address
        self._failures.pop(node_id, None)
        self._retry_at_ms.pop(node_id, None)
        self.disconnect(node_id)

    def forget_brokers_except(self, node_ids: Iterable[int]) -> None:
        gone = {n for n in self._addresses if 0 <= n < _COORDINATOR_ID_MIN} - set(node_ids)
        for node_id in gone:
            del self._addresses[node_id]
            self.disconnect(node_id)

    # -- choosing --------------------------------------------------------------------------------

    def is_failing(self, node_id: int) -> bool:
        return node_id in self._failures

    def least_loaded(self, node_ids: Iterable[int]) -> int:
        """Connected and with the fewest requests in flight, else the one to be tried soonest."""
        return min(node_ids, key=self._load)

    def _load(self, node_id: int) -> tuple[bool, int, int, float]:
        connection = self.opened(node_id)
        if connection is not None:
            return False, 0, connection.in_flight, 0.0
        return True, self._retry_at_ms.get(node_id, 0), 0, draw()

    # -- connections -----------------------------------------------------------------------------

    def opened(self, node_id: int) -> Connection | None:
        connection = self._open.get(node_id)
        return connection if connection is not None and connection.is_open else None

    async def connection(self, node_id: int) -> Connection:
        """The open connection to a node, or a new one; many callers share one attempt."""
        connection = self.opened(node_id)
        if connection is not None:
            return connection
        opening = self._opening.get(node_id)
        if opening is None:
            opening = asyncio.create_task(self._connect(node_id))
            self._opening[node_id] = opening
            opening.add_done_callback(lambda task: self._attempted(node_id, task))
        return await asyncio.shield(opening)

    def _attempted(self, node_id: int, task: asyncio.Task[Connection]) -> None:
        self._opening.pop(node_id, None)
        if not task.cancelled():
            task.exception()  # looked at, so that nobody has to wait for it

    async def _connect(self, node_id: int) -> Connection:
        address = self._addresses.get(node_id)
        if address is None or self._is_closed:
            why = "the client is closed" if self._is_closed else "no address is known for it"
            raise NodeDisconnected(f"node {broker_id(node_id)}: {why}")
        wait_ms = self._retry_at_ms.get(node_id, 0) - monotonic_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)
        try:
            connection = await open_connection(
                address, self._options, lambda lost: self._connection_lost(node_id, lost)
            )
        except DrumbeatError:
            self._failed(node_id)
            raise
        self._failures.pop(node_id, None)
        self._retry_at_ms.pop(node_id, None)
        self._open[node_id] = connection
        return connection

    def _failed(self, node_id: int) -> None:
        failures = self._failures[node_id] = self._failures.get(node_id, 0) + 1
        self._retry_at_ms[node_id] = monotonic_ms() + self._backoff.delay_ms(failures, draw())

    def _connection_lost(self, node_id: int, connection: Connection) -> None:
        if self._open.get(node_id) is connection:
            del self._open[node_id]
            self._retry_at_ms[node_id] = monotonic_ms() + self._backoff.delay_ms(1, draw())
            self._disconnected(node_id, connection.problem or "")

    # -- the end ---------------------------------------------------------------------------------

    def disconnect(self, node_id: int) -> None:
        """Close the connection; what is under way on it fails."""
        if (connection := self._open.pop(node_id, None)) is not None:
            connection.close()

    def close_idle(self, now_ms: int) -> None:
        """Close what has not been used for connections_max_idle_ms; -1 keeps all."""
        if self._idle_ms_max < 0:
            return
        for node_id, connection in list(self._open.items()):
            if not connection.in_flight and now_ms - connection.used_ms > self._idle_ms_max:
                del self._open[node_id]
                connection.close()

    async def close(self) -> None:
        self._is_closed = True
        openings = list(self._opening.values())
        for opening in openings:
            opening.cancel()
        await asyncio.gather(*openings, return_exceptions=True)
        while self._open:
            self._open.popitem()[1].close()
