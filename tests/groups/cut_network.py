"""A broker behind a network that can be cut for one client, seen from plain code."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from client.consumer.proxy import Proxy
from drumbeat.testing import Cluster
from support.brokers import IS_KAFKA, start_broker

LIMIT_S = 10.0


class CutNetwork(NamedTuple):
    """Clients that are told `servers` go through the proxy, those of `direct` may go around it."""

    servers: str
    direct: str
    proxy: Proxy
    loop: asyncio.AbstractEventLoop

    def cut(self, client_id: str) -> None:
        self.loop.call_soon_threadsafe(self.proxy.cut, client_id)

    def heal(self, client_id: str) -> None:
        self.loop.call_soon_threadsafe(self.proxy.heal, client_id)


@contextmanager
def cut_network(folder: Path, settings: Mapping[str, str]) -> Iterator[CutNetwork]:
    with ExitStack() as stack:
        proxy, loop = Proxy(), stack.enter_context(_running_loop())
        start = _kafka_behind if IS_KAFKA else _drumbeat_behind
        direct = stack.enter_context(start(proxy, folder, settings))
        host, port = direct.split(":")
        proxy.target = (host, int(port))
        asyncio.run_coroutine_threadsafe(proxy.start(), loop).result(LIMIT_S)
        try:
            yield CutNetwork(proxy.servers, direct, proxy, loop)
        finally:
            asyncio.run_coroutine_threadsafe(proxy.stop(), loop).result(LIMIT_S)


@contextmanager
def _kafka_behind(proxy: Proxy, folder: Path, settings: Mapping[str, str]) -> Iterator[str]:
    advertised = {"advertised.listeners": f"PLAINTEXT://{proxy.servers}"}
    with start_broker(folder, {**settings, **advertised}) as bound:
        yield bound


@contextmanager
def _drumbeat_behind(proxy: Proxy, _folder: Path, settings: Mapping[str, str]) -> Iterator[str]:
    with Cluster(settings) as cluster:
        bound = cluster.bootstrap_servers
        broker = cluster.node.broker
        broker.advertised = broker.advertised._replace(port=proxy.port)
        yield bound


@contextmanager
def _running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
