"""The cluster as a client sees it: bootstrap, metadata kept fresh, and which node to ask.

One per client; all methods are called on one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.common import CommonConfig
from drumbeat.client.entropy import draw
from drumbeat.client.errors import (
    DrumbeatError,
    KafkaError,
    NoBrokersAvailable,
    RequestTimedOut,
    UnknownTopicOrPartitionError,
    error_for,
)
from drumbeat.client.net.backoff import Backoff
from drumbeat.client.net.coordinators import (
    Coordinators,
    CoordinatorType,
    Place,
    find_request,
    found,
)
from drumbeat.client.net.metadata import ClusterMetadata
from drumbeat.client.net.nodes import Nodes, broker_id, coordinator_id
from drumbeat.client.net.refresher import MetadataRefresher
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import find_coordinator
from drumbeat.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

T = TypeVar("T")


class Cluster:
    def __init__(self, config: CommonConfig) -> None:
        self._config = config
        self._nodes = Nodes(config, self._disconnected)
        self._coordinators = Coordinators(self._nodes.learn)
        self._refresher = MetadataRefresher(config, self._nodes, self)
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._upkeep: asyncio.Task[None] | None = None
        self._disconnect_listeners: list[Callable[[int, str], None]] = []
        for index, address in enumerate(config.bootstrap_servers):
            self._nodes.learn(-1 - index, address)

    async def start(self) -> None:
        """Connect to the first bootstrap server that answers, and fetch metadata."""
        try:
            await self._bootstrap()
            await self.refresh()
        except BaseException:
            await self._nodes.close()
            raise
        self._upkeep = asyncio.create_task(self._keep_up())

    async def close(self) -> None:
        upkeep, self._upkeep = self._upkeep, None
        if upkeep is not None:
            upkeep.cancel()
            await asyncio.gather(upkeep, return_exceptions=True)
        await self._refresher.close()
        await self._nodes.close()

    async def _bootstrap(self) -> None:
        reasons = []
        for node_id in self._refresher.bootstrap_ids:
            try:
                await self._nodes.connection(node_id)
            except KafkaError as problem:
                reasons.append(problem.message)
            else:
                return
        raise NoBrokersAvailable("none of bootstrap_servers could be used: " + "; ".join(reasons))

    # -- metadata --------------------------------------------------------------------------------

    @property
    def metadata(self) -> ClusterMetadata:
        """The newest snapshot."""
        return self._refresher.metadata

    def watch(self, topics: Iterable[str] | None) -> None:
        """Which topics to keep fresh; None is all of them. What is new is asked for soon."""
        if self._refresher.watch(topics):
            self.request_refresh()

    def watch_also(self, topics: Iterable[str]) -> None:
        if self._refresher.watch_also(topics):
            self.request_refresh()

    def on_metadata(self, listener: Callable[[ClusterMetadata], None]) -> None:
        """Have `listener` called with each new snapshot."""
        self._refresher.listeners.append(listener)

    async def refresh(self) -> ClusterMetadata:
        """Metadata as of now; concurrent callers share one request."""
        return await self._refresher.refresh()

    async def describe(self, topics: Iterable[str] | None) -> ClusterMetadata:
        """Metadata of these topics (None is all), for a question asked once."""
        return await self._refresher.describe(topics)

    def request_refresh(self) -> None:
        """Have metadata refreshed in the background, soon."""
        self._refresher.wanted.set()

    async def _keep_up(self) -> None:
        """Metadata younger than metadata_max_age_ms, and no idle connections."""
        idle_ms = self._config.connections_max_idle_ms
        pause_ms = min(self._config.metadata_max_age_ms, idle_ms if idle_ms >= 0 else 1 << 31)
        failures = 0
        while True:
            try:
                async with asyncio.timeout(pause_ms / 1000):
                    await self._refresher.wanted.wait()
            except TimeoutError:
                self._nodes.close_idle(monotonic_ms())
            if not self._refresher.is_due(monotonic_ms()):
                continue
            try:
                await self.refresh()
                failures = 0
            except DrumbeatError as problem:
                failures += 1
                log.warning("metadata cannot be refreshed: %s", problem)
                self.request_refresh()
            # Many causes may ask for a refresh; one per backoff is enough for all.
            await asyncio.sleep(self._backoff.delay_ms(failures + 1, draw()) / 1000)

    def on_disconnect(self, listener: Callable[[int, str], None]) -> None:
        """Have `listener` called with the id of each connection that is lost, and why."""
        self._disconnect_listeners.append(listener)

    def _disconnected(self, node_id: int, problem: str) -> None:
        log.info("lost the connection to node %d: %s", broker_id(node_id), problem)
        self.request_refresh()
        for listener in self._disconnect_listeners:
            listener(node_id, problem)

    # -- nodes -----------------------------------------------------------------------------------

    def least_loaded(self) -> int:
        """A node that any request can go to; a bootstrap server if no broker is known to work."""
        return self._refresher.any_node()

    async def connect(self, node_id: int) -> None:
        """Open the connection ahead of its first request."""
        await self._nodes.connection(node_id)

    async def leader(self, tp: TopicPartition, *, timeout_ms: int | None = None) -> int:
        """The node that leads a partition; waits for a leader up to default_api_timeout_ms."""
        self._refresher.watch_also((tp.topic,))

        async def attempt() -> int:
            node_id = self.metadata.leader(tp)
            if node_id is None:
                node_id = (await self.refresh()).leader(tp)
            if node_id is None:
                raise self.problem_of(tp)
            return node_id

        return await self.retry(attempt, timeout_ms=timeout_ms)

    def problem_of(self, tp: TopicPartition) -> KafkaError:
        """Why a partition has no leader."""
        topic = self.metadata.topics.get(tp.topic)
        code = topic.error if topic is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.metadata.partition(tp) is not None:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        if topic is None or code != ErrorCode.NONE:
            return error_for(code, f"{tp}: {error_for(code).message}")
        count = len(topic.partitions)
        return UnknownTopicOrPartitionError(
            f"{tp} does not exist: topic {tp.topic} has {count} "
            f"partition{'s' if count != 1 else ''}, numbered from 0: check the number, or add "
            "partitions to the topic"
        )

    async def controller(self) -> int:
        """The node that topics are created at."""
        if self.metadata.controller_id not in self.metadata.brokers:
            await self.refresh()
        node_id = self.metadata.controller_id
        return node_id if node_id in self.metadata.brokers else self.least_loaded()

    # -- coordinators ----------------------------------------------------------------------------

    async def coordinator(
        self,
        key: str,
        kind: CoordinatorType = CoordinatorType.GROUP,
        *,
        timeout_ms: int | None = None,
    ) -> int:
        """A connection of its own to the coordinator of `key`, as an id for `send`."""
        known = self._coordinators.get(key, kind)
        if known is not None:
            return known
        return await self.retry(lambda: self._find(key, kind), timeout_ms=timeout_ms)

    def learn_coordinator(
        self, key: str, place: Place, kind: CoordinatorType = CoordinatorType.GROUP
    ) -> int:
        """Somebody else has found the coordinator; the id of the connection to it."""
        return self._coordinators.put(key, kind, place)

    def disconnect_coordinator(self, node_id: int) -> None:
        """Close the connection to that broker as a coordinator; what is under way on it fails."""
        self._nodes.disconnect(coordinator_id(node_id))

    def forget_coordinator(self, key: str, kind: CoordinatorType = CoordinatorType.GROUP) -> None:
        """Ask again next time: the node said that it is not, or did not answer."""
        self._coordinators.forget(key, kind)

    def coordinator_place(self, key: str, kind: CoordinatorType = CoordinatorType.GROUP) -> str:
        """Where the coordinator was last, in words."""
        return self._coordinators.place(key, kind)

    async def _find(self, key: str, kind: CoordinatorType) -> int:
        response = await self.send(
            self.least_loaded(),
            find_coordinator.API,
            lambda version: find_request(key, kind, version),
        )
        return self._coordinators.put(key, kind, found(response))

    # -- requests --------------------------------------------------------------------------------

    async def send(
        self,
        node_id: int,
        api: Api,
        build: Any,
        *,
        timeout_ms: int | None = None,
        versions: range | None = None,
        expects_response: bool = True,
    ) -> Any:
        """Send a request in the highest version in common; `build` may be a function of it.

        Raises NodeDisconnected, RequestTimedOut and UnsupportedVersionError.
        """
        connection = self._nodes.opened(node_id) or await self._nodes.connection(node_id)
        version = connection.versions.required(api, versions)
        request = build(version) if callable(build) else build
        if expects_response:
            return await connection.call(api, version, request, timeout_ms)
        return await connection.tell(api, version, request)

    def send_now(
        self, node_id: int, api: Api, build: Any, *, versions: range | None = None
    ) -> asyncio.Future[Any]:
        """Like `send`, but without a turn of the event loop in between if the node is connected."""
        connection = self._nodes.opened(node_id)
        if connection is None or not connection.is_writable:
            return asyncio.ensure_future(self.send(node_id, api, build, versions=versions))
        version = connection.versions.required(api, versions)
        return connection.begin(api, version, build(version) if callable(build) else build)

    def version(self, node_id: int, api: Api) -> int | None:
        """The highest version in common, if the node is connected."""
        connection = self._nodes.opened(node_id)
        return connection.versions.highest(api) if connection is not None else None

    async def retry(
        self, attempt: Callable[[], Awaitable[T]], *, timeout_ms: int | None = None
    ) -> T:
        """Try until it succeeds, fails for good, or default_api_timeout_ms has passed.

        A timeout of 0 is one attempt, however long that takes.
        """
        limit_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        last: KafkaError | None = None
        failures = 0
        try:
            async with asyncio.timeout(limit_ms / 1000 if limit_ms else None):
                while True:
                    try:
                        return await attempt()
                    except KafkaError as problem:
                        if not problem.retriable or not limit_ms:
                            raise
                        last, failures = problem, failures + 1
                    await asyncio.sleep(self._backoff.delay_ms(failures, draw()) / 1000)
        except TimeoutError:
            raise self._gave_up(limit_ms, last) from None

    def _gave_up(self, limit_ms: int, last: KafkaError | None) -> KafkaError:
        if last is not None:
            return last.saying(f"{last.message}; gave up after {limit_ms} ms")
        return RequestTimedOut(f"not done within {limit_ms} ms: {self.troubles()}")

    def troubles(self) -> str:
        """Why something may not be done yet: brokers that do not answer, or cannot be reached."""
        return (
            "; ".join(self._nodes.troubles())
            or "connections work, so a broker is slow or not ready"
        )
