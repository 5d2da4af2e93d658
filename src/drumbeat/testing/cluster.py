"""A cluster of one node inside the calling process, for tests: its own thread, a free port.

with Cluster(topics={"orders": 3}) as cluster:
    KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from drumbeat.log.port import TopicPartition
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.entropy import new_member_uuid
from drumbeat.server.node import Node
from drumbeat.testing.embedded import EmbeddedNode
from drumbeat.testing.faults import Fault, Strike, delaying, dropping, failing
from drumbeat.testing.loop_thread import LoopThread
from drumbeat.testing.names import error_named
from drumbeat.testing.observed import Event, Group, Member
from drumbeat.testing.operations import Operations
from drumbeat.testing.options import ConfigValue, NewTopic, Topics, make_options
from drumbeat.testing.watchers import WAIT_TIMEOUT_S, Recording, Target, Watcher

if TYPE_CHECKING:
    from drumbeat.testing.async_cluster import AsyncCluster

T = TypeVar("T")

_numbers = itertools.count(1)


class Cluster:
    """Keeps its data in memory, or in the directory `data` if that is given.

    `config` has the keys of a server.properties; `topics` are there when it has started. Methods
    may be called from any thread. For coroutines there is `AsyncCluster`, or `aio`.
    """

    def __init__(
        self,
        config: Mapping[str, ConfigValue] | None = None,
        *,
        topics: Topics = (),
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        auto_create_topics: bool | None = None,
    ) -> None:
        self._options = make_options(
            config, topics=topics, data=data, port=port, auto_create_topics=auto_create_topics
        )
        self._options.broker_config()  # a wrong key is told here, where it was written
        self._thread: LoopThread | None = None
        self._embedded: EmbeddedNode | None = None
        self._operations: Operations | None = None

    # -- life ------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve. After a `stop` it begins anew, unless it has a data directory."""
        if self._thread is not None:
            raise RuntimeError("the cluster is running already")
        embedded = EmbeddedNode(self._options)
        thread, operations = LoopThread("drumbeat"), Operations(embedded)
        thread.start()
        try:
            thread.run(operations.start())
        except BaseException:
            thread.run(operations.stop())
            thread.stop()
            raise
        self._thread, self._embedded, self._operations = thread, embedded, operations

    def stop(self) -> None:
        """Harmless if it is not running."""
        thread, operations = self._thread, self._operations
        if thread is None or operations is None:
            return
        self._thread = self._embedded = self._operations = None
        thread.resume()
        try:
            thread.run(operations.stop())
        finally:
            thread.stop()

    def restart(self) -> None:
        """Stop and start at once, with the same data on the same port, in memory too."""
        self._run(self.operations.restart())

    def pause(self) -> None:
        """Stand still, as a stopped process does: connections stay, and nobody is answered."""
        self._running().pause()

    def resume(self) -> None:
        self._running().resume()

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.pause()
        try:
            yield
        finally:
            self.resume()

    @property
    def bootstrap_servers(self) -> str:
        return self.node.bootstrap_servers

    @property
    def node(self) -> Node:
        if self._embedded is None:
            self._running()
        assert self._embedded is not None
        return self._embedded.node

    @property
    def aio(self) -> AsyncCluster:
        """This cluster for coroutines, which must not wait in a call of this class."""
        from drumbeat.testing.async_cluster import AsyncCluster  # noqa: PLC0415 - it imports us

        return AsyncCluster(cluster=self)

    # -- topics ----------------------------------------------------------------------------------

    def create_topic(
        self, name: str, partitions: int = 1, *, config: Mapping[str, ConfigValue] | None = None
    ) -> None:
        """ValueError says which rule of Kafka's the topic breaks."""
        self._run(self.operations.create_topic(name, NewTopic(partitions, config or {})))

    def new_topic(
        self, prefix: str, partitions: int = 1, *, config: Mapping[str, ConfigValue] | None = None
    ) -> str:
        """Create a topic with a name that no other test uses, and return the name."""
        name = unique_name(prefix)
        self.create_topic(name, partitions, config=config)
        return name

    def new_group(self, prefix: str) -> str:
        """A group id that no other test uses."""
        return unique_name(prefix)

    def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset that the next record will have, by partition."""
        return self._run(self.operations.end_offsets(topic))

    # -- groups ----------------------------------------------------------------------------------

    def group(self, group_id: str) -> Group:
        """The group as it is now; one that does not exist is Dead."""
        return self._run(self.operations.group(group_id))

    def committed(self, group_id: str) -> dict[TopicPartition, int]:
        return self._run(self.operations.committed(group_id))

    def lag(self, group_id: str) -> dict[TopicPartition, int]:
        """How far each committed offset is behind the end of its partition."""
        return self._run(self.operations.lag(group_id))

    def events(self, group_id: str | None = None) -> list[Event]:
        """What has happened to the group, or to all, oldest first: `__group_events`."""
        return self._run(self.operations.events(group_id))

    def wait_for(
        self,
        group_id: str,
        state: str | None = None,
        members: int | None = None,
        *,
        timeout: float = WAIT_TIMEOUT_S,
    ) -> Group:
        """The group once it is so; TimeoutError says how it is instead, and what happened to it."""
        return self._run(self.operations.wait_for(group_id, state, members, timeout))

    def wait_for_event(
        self, group_id: str, event_type: str, *, n: int = 1, timeout: float = WAIT_TIMEOUT_S
    ) -> Event:
        """The n-th event of this type, such as "member_expired" or "rebalance_completed"."""
        return self._run(self.operations.wait_for_event(group_id, event_type, n, timeout))

    # -- faults ----------------------------------------------------------------------------------

    def fail_next(
        self,
        api: str,
        error: str | ErrorCode,
        n: int | None = 1,
        *,
        client_id: str | None = None,
        group: str | None = None,
    ) -> Fault:
        """Answer the next `n` requests of `api` with `error` instead of handling them.

        None is every request until the fault is cancelled. `client_id` and `group` narrow it down.
        """
        return self._add(api, failing(error_named(error)), n, Target(client_id, group))

    def drop_next(
        self,
        api: str,
        n: int | None = 1,
        *,
        client_id: str | None = None,
        group: str | None = None,
        processed: bool = False,
        silent: bool = False,
    ) -> Fault:
        """Close the connection instead of answering.

        `processed`: the request is handled first, and only the answer is lost. `silent`: the
        connection stays open and says nothing more, until the client gives up.
        """
        strike = dropping(processed=processed, silent=silent)
        return self._add(api, strike, n, Target(client_id, group))

    def delay_next(
        self,
        api: str,
        delay: float | timedelta,
        n: int | None = 1,
        *,
        client_id: str | None = None,
        group: str | None = None,
    ) -> Fault:
        """Handle the next `n` requests and hold each answer back for `delay` (seconds)."""
        return self._add(api, delaying(seconds(delay)), n, Target(client_id, group))

    def record(
        self, api: str, *, client_id: str | None = None, group: str | None = None
    ) -> Recording:
        """Keep the requests of `api` from now on."""
        recording = self._run(self.operations.record(api, Target(client_id, group)))
        recording.when_cancelled(self._remove)
        return recording

    def clear_faults(self) -> None:
        """End all faults and recordings, and have every coordinator back."""
        self._run(self.operations.clear_faults())

    def expire_member(
        self, group_id: str, *, member_id: str | None = None, client_id: str | None = None
    ) -> Member:
        """End a member's session as if it had not been heard of; returns the member it was."""
        return self._run(self.operations.expire_member(group_id, member_id, client_id))

    @contextmanager
    def coordinator_unloaded(
        self, group_id: str, *, answering: str = "NOT_COORDINATOR"
    ) -> Iterator[None]:
        """`unload_coordinator`, and `reload_coordinator` at the end of the block."""
        self.unload_coordinator(group_id, answering=answering)
        try:
            yield
        finally:
            self.reload_coordinator(group_id)

    def unload_coordinator(self, group_id: str, *, answering: str = "NOT_COORDINATOR") -> None:
        """Give the group's partition of `__consumer_offsets` away, with every group in it.

        The other answer is COORDINATOR_LOAD_IN_PROGRESS: it has come back and is being read.
        """
        self._run(self.operations.unload_coordinator(group_id, answering))

    def reload_coordinator(self, group_id: str) -> None:
        """Serve it again from what the log has: what was not committed is forgotten."""
        self._run(self.operations.reload_coordinator(group_id))

    def fast_forward(self, duration: timedelta) -> None:
        """Let time pass on the node's clock; no client is heard of meanwhile.

        Sessions end and offsets and records pass their retention, each in its turn.
        """
        self._run(self.operations.fast_forward(duration))

    # -- the node's thread -----------------------------------------------------------------------

    @property
    def operations(self) -> Operations:
        """The same as coroutines; to be given to `submit`."""
        self._running()
        assert self._operations is not None
        return self._operations

    def run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the node's loop and return what it returns."""
        return self._run(function())

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have a coroutine run on the node's loop."""
        return self._running().submit(work)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._running().run(work)

    def _running(self) -> LoopThread:
        if self._thread is None:
            raise RuntimeError("the cluster is not running; use it in a with block, or start() it")
        return self._thread

    def _add(self, api: str, strike: Strike, n: int | None, target: Target) -> Fault:
        fault = self._run(self.operations.add_fault(api, strike, target, n))
        fault.when_cancelled(self._remove)
        return fault

    def _remove(self, watcher: Watcher) -> None:
        if self._thread is not None:
            self._run(self.operations.remove(watcher))


def seconds(duration: float | timedelta) -> float:
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def unique_name(prefix: str) -> str:
    """Numbered for people to read, and drawn so that no other process has it."""
    return f"{prefix}-{next(_numbers)}-{new_member_uuid()[:8]}"
