"""The connections of a client, by node id: opened when first needed, with backoff after failures.

Negative ids are bootstrap servers. Ids from the top of the range are a second connection to a node,
for talking to it as a coordinator: a fetch that waits for data must not hold back heartbeats.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.common import Address, CommonConfig
from drumbeat.client.entropy import draw
from drumbeat.client.errors import KafkaError, NodeDisconnected
from drumbeat.client.net import diagnosis
from drumbeat.client.net.backoff import Backoff
from drumbeat.client.net.connection import Connection, ConnectionOptions, open_connection

log = logging.getLogger(__name__)

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
        self._failures: dict[int, int] = {}  # in a row
        self._problems: dict[int, str] = {}  # the last of them
        self._retry_at_ms: dict[int, int] = {}
        self._is_closed = False
        self._reached: set[Address] = set()  # a broker has answered there
        self._bootstrap: Address | None = None  # the last bootstrap server that answered
        self._reported: set[Address] = set()  # the log was told that they cannot be reached

    def learn(self, node_id: int, address: Address) -> None:
        """Where a node is; a connection to where it was is closed."""
        if self._addresses.get(node_id) == address:
            return
        self._addresses[node_id] = address
        self._forgive(node_id)
        self.disconnect(node_id)

    def forget_brokers_except(self, node_ids: Iterable[int]) -> None:
        gone = {n for n in self._addresses if 0 <= n < _COORDINATOR_ID_MIN} - set(node_ids)
        for node_id in gone:
            del self._addresses[node_id]
            self._forgive(node_id)
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
        except KafkaError as problem:
            explained = self._explained(node_id, address, problem)
            self._failed(node_id, explained.message)
            raise explained from None
        self._succeeded(node_id, address)
        self._open[node_id] = connection
        return connection

    def _succeeded(self, node_id: int, address: Address) -> None:
        self._forgive(node_id)
        self._reached.add(address)
        if node_id < 0:
            self._bootstrap = address

    def _forgive(self, node_id: int) -> None:
        for kept in (self._failures, self._problems, self._retry_at_ms):
            kept.pop(node_id, None)

    def _failed(self, node_id: int, problem: str) -> None:
        self._problems[node_id] = problem
        failures = self._failures[node_id] = self._failures.get(node_id, 0) + 1
        self._retry_at_ms[node_id] = monotonic_ms() + self._backoff.delay_ms(failures, draw())

    def _explained(self, node_id: int, address: Address, problem: KafkaError) -> KafkaError:
        hint = self._hint(node_id, address)
        if not hint:
            return problem
        explained = problem.saying(problem.message + hint)
        if address not in self._reported:
            self._reported.add(address)
            log.warning("a broker cannot be reached: %s", explained.message)
        return explained

    def _hint(self, node_id: int, address: Address) -> str:
        """For a broker that was never reached where it says it is."""
        if node_id < 0 or address in self._reached or self._bootstrap is None:
            return ""
        return diagnosis.advertised(broker_id(node_id), self._bootstrap)

    def troubles(self) -> list[str]:
        """What a request that is not done may be waiting for, in words."""
        connecting = {
            node_id: f"no connection to {address} yet{self._hint(node_id, address)}"
            for node_id in self._opening
            if (address := self._addresses.get(node_id)) is not None
        }
        answers = [
            f"no answer of {connection.address} to {connection.awaited} yet"
            for connection in self._open.values()
            if connection.awaited is not None
        ]
        # A broker may be known under several ids.
        return list(dict.fromkeys([*(connecting | self._problems).values(), *answers]))

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
