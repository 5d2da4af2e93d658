"""A node inside the calling process, for tests: its own thread, its own event loop, a free port.

with Cluster() as cluster:
    KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from drumbeat.runtime.config import load_config
from drumbeat.server.node import Node, file_storage, memory_storage

T = TypeVar("T")

# What a test wants different from a server: no wait for more members before the first rebalance.
TEST_SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
START_TIMEOUT_S = 10.0


class Cluster:
    """Keeps its data in memory, or in `data` if that is given."""

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, data: str | None = None, port: int = 0
    ) -> None:
        options = {"port": str(port)} | ({"log.dirs": data} if data is not None else {})
        chosen = [f"{key}={value}" for key, value in {**TEST_SETTINGS, **(settings or {})}.items()]
        self._config = load_config(None, chosen, options).config
        self._on_disk = data is not None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._node: Node | None = None

    def __enter__(self) -> "Cluster":
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        return self.node.bootstrap_servers

    @property
    def node(self) -> Node:
        assert self._node is not None, "the cluster is not running"
        return self._node

    def start(self) -> None:
        started: Future[Node] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="drumbeat", daemon=True
        )
        self._thread.start()
        self._node = started.result(START_TIMEOUT_S)

    def stop(self) -> None:
        if self._loop is None or self._thread is None or self._node is None:
            return
        try:
            self.run(self._node.stop)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop = self._thread = self._node = None

    def run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the node's loop and return what it returns."""
        assert self._loop is not None, "the cluster is not running"
        return asyncio.run_coroutine_threadsafe(function(), self._loop).result(START_TIMEOUT_S)

    def _run(self, started: "Future[Node]") -> None:
        loop = self._loop = asyncio.new_event_loop()
        try:
            started.set_result(loop.run_until_complete(self._start_node()))
        except BaseException as problem:  # noqa: BLE001 - raised in the thread that asked
            started.set_exception(problem)
        else:
            loop.run_forever()
        finally:
            loop.close()

    async def _start_node(self) -> Node:
        storage = (
            await file_storage(self._config) if self._on_disk else memory_storage(self._config)
        )
        node = Node(self._config, storage)
        await node.start()
        return node
