"""One node of the simulated cluster: the real broker, dispatcher and connections, on our disk.

It can be started, stopped in order, and killed. A killed node's tasks are cancelled after it was
cut off from network and disk, so that nothing they still do can be seen.
"""

import asyncio
import contextvars
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from drumbeat.runtime.broker import Broker, Storage
from drumbeat.runtime.clock import Clock
from drumbeat.runtime.config import BrokerConfig
from drumbeat.runtime.coordinator.group_coordinator import GroupCoordinator, NewShard
from drumbeat.runtime.coordinator.shard import Shard
from drumbeat.runtime.dispatch import Dispatcher
from drumbeat.runtime.dynamic_configs import MemoryDynamicConfigs
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.runtime.identity import Identity
from drumbeat.runtime.producer_ids import MemoryProducerIds
from drumbeat.server.connection import Connection
from drumbeat.server.listener import Limits, Listener
from sim.disk import Disk, Mount
from sim.network import Door, ServerTransport

T = TypeVar("T")

_LIMITS = Limits(
    frame_bytes_max=1 << 20,
    connections_max=10_000,
    connections_per_ip_max=10_000,
    idle_ms_max=600_000,
)
_process: contextvars.ContextVar["Node | None"] = contextvars.ContextVar("process", default=None)


class NodeWatcher(Door, Protocol):
    """Who sees what a node does."""

    def crashed(self, unsynced: int, survived: int) -> None: ...
    def stopped(self, served: list[int]) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a node runs on, and what it runs."""

    disk: Disk
    clock: Clock
    config: BrokerConfig
    new_shard: NewShard
    watcher: NodeWatcher


class Node:
    """One life after the other; each life is a broker of its own."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.config = machine.config  # of the next life
        self._tasks: dict[asyncio.Task[Any], None] = {}  # a set whose order is certain
        self._mount: Mount | None = None
        self._listener: Listener | None = None
        self._channels: list[ServerTransport] = []
        self.broker: Broker | None = None
        self.context = contextvars.Context()
        self.door: Door = machine.watcher

    @property
    def is_up(self) -> bool:
        return self._listener is not None

    @property
    def shards(self) -> list[Shard]:
        return self.broker.groups.active_shards() if self.broker and self.is_up else []

    @property
    def group_max_size(self) -> int:
        return self.config.group_max_size

    # -- coming and going ------------------------------------------------------------------------

    async def start(self) -> None:
        self.context = contextvars.copy_context()
        self.context.run(_process.set, self)
        loop = asyncio.get_running_loop()
        await loop.create_task(self._start(), context=self.context)

    async def _start(self) -> None:
        machine = self._machine
        self._mount = Mount(machine.disk)
        storage = Storage(
            logs=self._mount,
            topics=machine.disk.topics,
            identity=Identity("simulated-cluster", 1),
            producer_ids=MemoryProducerIds(),
            configs=MemoryDynamicConfigs(),
            directory="memory",
        )
        broker = Broker(self.config, storage, machine.clock)
        broker.groups = GroupCoordinator(broker, machine.new_shard)
        dispatcher = Dispatcher(broker, HANDLERS, broker.tasks)
        await broker.start()
        self.broker = broker
        self._listener = Listener(dispatcher, lambda: _LIMITS, machine.clock)

    async def stop(self) -> None:
        """In order: connections are closed, logs are synced and released."""
        assert self.broker is not None
        served = [shard.index for shard in self.shards]
        self._listener = None
        for transport in self._channels:
            transport.hang_up()
        loop = asyncio.get_running_loop()
        try:
            await loop.create_task(self.broker.stop(), context=self.context)
            self._machine.watcher.stopped(served)
        finally:
            self._die()

    def crash(self) -> None:
        """Everything but the disk is gone, and of the disk what was not synced, or most of it."""
        self._listener = None
        for transport in self._channels:
            transport.sever()
        assert self._mount is not None
        self._mount.unmount()
        self._machine.watcher.crashed(*self._machine.disk.crash())
        for shard in self.broker.groups.active_shards() if self.broker else ():
            shard.stop()
        self._die()

    def _die(self) -> None:
        for transport in self._channels:
            transport.sever()
        self._channels = []
        for task in list(self._tasks):
            task.cancel()
        self._tasks.clear()
        self._mount = None

    # -- for the network -------------------------------------------------------------------------

    def accept(self, transport: ServerTransport) -> Connection:
        assert self._listener is not None
        connection = self._listener._connection()
        self._channels = [t for t in self._channels if not t.is_closing()]
        self._channels.append(transport)
        connection.connection_made(transport)
        return connection

    def own(self, task: "asyncio.Task[Any]") -> None:
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))


def task_factory(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, T] | Generator[Any, None, T],
    **options: Any,
) -> "asyncio.Task[T]":
    """Tasks that a node starts, directly or not, belong to it and die with it."""
    task: asyncio.Task[T] = asyncio.Task(coroutine, loop=loop, **options)
    node = _process.get()
    if node is not None:
        node.own(task)
    return task
