"""Keeps the newest metadata: which topics to ask for, whom to ask, one request at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.common import Address, CommonConfig
from drumbeat.client.errors import KafkaError, error_for
from drumbeat.client.net.metadata import EMPTY, ClusterMetadata, snapshot
from drumbeat.client.net.nodes import Nodes
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import metadata
from drumbeat.protocol.apis.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from drumbeat.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

METADATA = metadata.API
# Version 0 cannot ask for no topics at all, nor does it name the controller.
VERSIONS = range(1, METADATA.versions.stop)

Topics = frozenset[str] | None  # None is all


class Sender(Protocol):
    """The part of a Cluster that the refresher uses."""

    async def send(
        self, node_id: int, api: Api, build: Any, *, versions: range | None = None
    ) -> Any: ...

    async def retry(self, attempt: Callable[[], Any]) -> Any: ...


class _Refresh(NamedTuple):
    topics: Topics
    task: asyncio.Task[ClusterMetadata]


class MetadataRefresher:
    def __init__(self, config: CommonConfig, nodes: Nodes, sender: Sender) -> None:
        self._config = config
        self._nodes = nodes
        self._sender = sender
        self._watched: Topics = frozenset()
        self._queued: _Refresh | None = None
        self._sent: asyncio.Task[ClusterMetadata] | None = None
        self._refreshed_ms = 0
        self._reported: dict[str, int] = {}  # topics with an error that the log has been told of
        self.metadata = EMPTY
        self.listeners: list[Callable[[ClusterMetadata], None]] = []
        self.wanted = asyncio.Event()
        self.bootstrap_ids = tuple(-1 - i for i in range(len(config.bootstrap_servers)))

    # -- what is wanted --------------------------------------------------------------------------

    def watch(self, topics: Iterable[str] | None) -> bool:
        """Whether something is now wanted that was not asked for before."""
        before = self._watched
        self._watched = None if topics is None else frozenset(topics)
        return before is not None and (self._watched is None or not self._watched <= before)

    def watch_also(self, topics: Iterable[str]) -> bool:
        return self._watched is not None and self.watch(self._watched.union(topics))

    def is_due(self, now_ms: int) -> bool:
        age_ms = now_ms - self._refreshed_ms
        return self.wanted.is_set() or age_ms >= self._config.metadata_max_age_ms

    # -- asking ----------------------------------------------------------------------------------

    async def refresh(self) -> ClusterMetadata:
        """Metadata not older than this call; callers share a request that is not sent yet."""
        if self._queued is None or self._queued.topics != self._watched:
            before = self._queued.task if self._queued is not None else self._sent
            task = asyncio.create_task(self._refresh(self._watched, before))
            task.add_done_callback(_look_at)
            self._queued = _Refresh(self._watched, task)
        return await asyncio.shield(self._queued.task)

    async def _refresh(
        self, topics: Topics, before: asyncio.Task[ClusterMetadata] | None
    ) -> ClusterMetadata:
        if before is not None:  # one at a time, so that the newest question has the last word
            await asyncio.wait((before,))
        task = asyncio.current_task()
        if self._queued is not None and self._queued.task is task:
            self._sent, self._queued = self._queued.task, None
        self.wanted.clear()
        response: MetadataResponse = await self._sender.retry(lambda: self._ask(topics))
        self._take(response)
        return self.metadata

    async def describe(self, topics: Iterable[str] | None) -> ClusterMetadata:
        wanted = None if topics is None else frozenset(topics)
        response: MetadataResponse = await self._sender.retry(lambda: self._ask(wanted))
        return snapshot(response, EMPTY)

    async def _ask(self, topics: Topics) -> MetadataResponse:
        request = MetadataRequest(
            topics=None
            if topics is None
            else tuple(MetadataRequestTopic(name=name) for name in sorted(topics)),
            allow_auto_topic_creation=self._config.creates_topics,
        )
        response: MetadataResponse = await self._sender.send(
            self.any_node(), METADATA, request, versions=VERSIONS
        )
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code)
        if not response.brokers:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, "the cluster has no brokers yet")
        return response

    def any_node(self) -> int:
        """The least loaded broker; bootstrap servers are tried again when every broker fails."""
        candidates = list(self.metadata.brokers)
        if all(map(self._nodes.is_failing, candidates)):
            candidates += self.bootstrap_ids
        return self._nodes.least_loaded(candidates)

    # -- answers ---------------------------------------------------------------------------------

    def _take(self, response: MetadataResponse) -> None:
        self.metadata = snapshot(response, self.metadata)
        self._refreshed_ms = monotonic_ms()
        for broker in self.metadata.brokers.values():
            self._nodes.learn(broker.node_id, Address(broker.host, broker.port))
        self._nodes.forget_brokers_except(self.metadata.brokers)
        self._report_problems()
        for listener in self.listeners:
            listener(self.metadata)

    def _report_problems(self) -> None:
        problems = {t.name: t.error for t in self.metadata.topics.values() if t.error}
        for name, code in problems.items():
            if self._reported.get(name) != code:
                log.warning("topic %s: %s", name, error_for(code))
        self._reported = problems

    async def close(self) -> None:
        tasks = [self._sent, self._queued.task if self._queued is not None else None]
        running = [task for task in tasks if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _look_at(task: asyncio.Task[ClusterMetadata]) -> None:
    """A refresh whose callers have gone is nobody's error."""
    if not task.cancelled():
        task.exception()
