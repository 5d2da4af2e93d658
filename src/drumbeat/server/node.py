"""A whole node: storage, broker and listener, put together from a configuration."""

import os
import socket
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from drumbeat.runtime.broker import IN_MEMORY, Advertised, Broker, Storage
from drumbeat.runtime.clock import Clock, SystemClock
from drumbeat.runtime.config import BrokerConfig, Endpoint
from drumbeat.runtime.dispatch import Dispatcher
from drumbeat.runtime.dynamic_configs import FileDynamicConfigs, MemoryDynamicConfigs
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.runtime.identity import load_identity, new_identity
from drumbeat.runtime.producer_ids import FileProducerIds, MemoryProducerIds
from drumbeat.runtime.topic_catalog import MemoryTopicStore
from drumbeat.runtime.topic_files import FileTopicStore
from drumbeat.server.listener import Limits, Listener, ListenError

if TYPE_CHECKING:
    from drumbeat.log.files import Disk
    from drumbeat.runtime.metrics.histogram import Histogram
    from drumbeat.server.monitoring import Monitoring


def memory_storage(config: BrokerConfig) -> Storage:
    """Nothing outlives the process."""
    from drumbeat.log.memory import MemoryStore  # noqa: PLC0415 - a node needs one of the two

    return Storage(
        logs=MemoryStore(),
        topics=MemoryTopicStore(),
        identity=new_identity(config.node_id),
        producer_ids=MemoryProducerIds(),
        configs=MemoryDynamicConfigs(),
        directory=IN_MEMORY,
    )


async def file_storage(config: BrokerConfig) -> Storage:
    """Everything is in `log.dirs`. Raises LogHeld if another process has it."""
    from drumbeat.log.store import LocalStore  # noqa: PLC0415 - a node needs one of the two

    data_dir = _absolute(config.log_dir)
    disk, sync_times = _measured_disk(config)
    logs = LocalStore(data_dir, disk=disk)
    await logs.open()
    producer_ids = FileProducerIds(data_dir)
    try:
        identity = load_identity(data_dir, config.node_id)
        producer_ids.check()
    except BaseException:
        await logs.close()
        raise
    return Storage(
        logs=logs,
        topics=FileTopicStore(data_dir, logs),
        identity=identity,
        producer_ids=producer_ids,
        configs=FileDynamicConfigs(data_dir),
        directory=data_dir,
        sync_times=sync_times,
    )


def _measured_disk(config: BrokerConfig) -> "tuple[Disk | None, Histogram | None]":
    if config.metrics_port is None:
        return None, None
    from drumbeat.runtime.metrics.disk import MeasuredDisk  # noqa: PLC0415 - few have use for it

    disk = MeasuredDisk()
    return disk, disk.sync_times


class Node:
    """`async with Node(config, storage) as node:` serves until the block ends."""

    def __init__(self, config: BrokerConfig, storage: Storage, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._exit = AsyncExitStack()
        self.broker = Broker(config, storage, self._clock)
        self.monitoring = _monitoring(self.broker)
        self.dispatcher = (
            Dispatcher(self.broker, HANDLERS, self.broker.tasks)
            if self.monitoring is None
            else self.monitoring.dispatcher
        )
        self.listener = Listener(self.dispatcher, self._limits, self._clock)

    async def __aenter__(self) -> "Node":
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Serve; `bootstrap_servers` is known from here on."""
        if self.monitoring is not None:
            self._exit.push_async_callback(self.monitoring.stop)
        self._exit.push_async_callback(self.broker.stop)
        try:
            if self.monitoring is not None:
                await self.monitoring.start(self.listener)
            await self.broker.start()
            bound, advertised = self._only_listener()
            self._exit.push_async_callback(self.listener.stop)
            send_buffer_bytes = self.broker.config.socket_send_buffer_bytes
            port = await self.listener.start(bound.host or "", bound.port, send_buffer_bytes)
            self.broker.advertised = _advertised(advertised, port)
            # Before the connections close: those who wait in a rebalance are told to go elsewhere.
            self._exit.push_async_callback(self.broker.groups.stop)
        except BaseException:
            await self._exit.aclose()
            raise

    def _only_listener(self) -> tuple[Endpoint, Endpoint]:
        config = self.broker.config
        if len(config.listeners) > 1:
            named = ", ".join(map(str, config.listeners))
            raise ListenError(f"listeners: one client listener is opened here, not {named}")
        return config.listeners[0], config.advertised_listeners[0]

    async def stop(self) -> None:
        """Stop accepting, close connections, leave the data in order."""
        await self._exit.aclose()

    @property
    def bootstrap_servers(self) -> str:
        host, port = self.broker.advertised
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _limits(self) -> Limits:
        config = self.broker.config
        return Limits(
            frame_bytes_max=config.socket_request_max_bytes,
            connections_max=config.max_connections,
            connections_per_ip_max=config.max_connections_per_ip,
            idle_ms_max=config.connections_max_idle_ms,
        )


def _monitoring(broker: Broker) -> "Monitoring | None":
    if broker.config.metrics_port is None:
        return None
    from drumbeat.server.monitoring import Monitoring  # noqa: PLC0415 - few have use for it

    return Monitoring(broker)


def _absolute(path: str) -> str:
    return os.path.abspath(path)


def _advertised(endpoint: Endpoint, bound_port: int) -> Advertised:
    return Advertised(endpoint.host or socket.getfqdn(), endpoint.port or bound_port)
