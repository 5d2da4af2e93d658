"""Commits: by hand and waited for, by hand and not waited for, and automatic.

Commits go out on one connection, in the order they were made.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.consumer.checks import checked_offsets
from drumbeat.client.consumer.listener import tell
from drumbeat.client.consumer.metrics import ConsumerMetrics
from drumbeat.client.consumer.offset_lookup import COORDINATOR_LOST
from drumbeat.client.consumer.subscription_state import SubscriptionState
from drumbeat.client.errors import IllegalStateError, KafkaError
from drumbeat.client.membership.values import Generation
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.protocol.apis import offset_commit
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from drumbeat.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

OFFSET_COMMIT = offset_commit.API
# Version 10 names topics by id and is for members of the consumer protocol.
VERSIONS = range(OFFSET_COMMIT.versions.start, 10)
INSTANCE_ID_VERSIONS = range(7, 10)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
OnCommit = Callable[[Offsets, Exception | None], object]


class Membered(Protocol):
    """The part of the group's driver that commits need."""

    def commit_generation(self) -> Generation: ...

    def committed(self, code: int, sent: Generation) -> KafkaError | None: ...


class _Done(NamedTuple):
    callback: OnCommit
    offsets: Offsets
    error: Exception | None


class Committer:
    def __init__(
        self,
        config: ConsumerConfig,
        cluster: Cluster,
        subscriptions: SubscriptionState,
        metrics: ConsumerMetrics,
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._metrics = metrics
        self._group_id = config.group_id or ""
        self._next_auto_ms = monotonic_ms() + config.auto_commit_interval_ms
        self._running: set[asyncio.Task[None]] = set()
        self._done: deque[_Done] = deque()
        self.group: Membered | None = None

    # -- by hand ---------------------------------------------------------------------------------

    async def commit(self, offsets: Offsets | None, timeout_ms: int | None = None) -> None:
        """Until it is committed; retriable errors are retried up to `timeout_ms`."""
        chosen = self._chosen(offsets)
        limit_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = monotonic_ms() + limit_ms
        await self._told(self._cluster.retry(self.finish_earlier, timeout_ms=limit_ms))
        await self.run_callbacks()
        if chosen:
            left_ms = max(1, deadline_ms - monotonic_ms()) if limit_ms else 0
            await self._retry(chosen, left_ms)

    def commit_async(self, offsets: Offsets | None, callback: OnCommit | None) -> None:
        """Once, in the background; `callback` is called by the next poll, commit or close."""
        self._start(self._chosen(offsets), callback or _log_failure)

    async def finish_earlier(self) -> None:
        """Those not waited for come first, as the broker sees them too."""
        if self._running:
            await asyncio.wait(tuple(self._running))

    @property
    def has_callbacks(self) -> bool:
        return bool(self._done)

    async def run_callbacks(self) -> None:
        while self._done:
            done = self._done.popleft()
            await tell(done.callback, done.offsets, done.error)

    def _chosen(self, offsets: Offsets | None) -> Offsets:
        if self.group is None:
            raise IllegalStateError("commits need a group to commit for: set group_id")
        if offsets is None:
            return self._subscriptions.consumed()
        return checked_offsets(offsets)

    # -- automatic -------------------------------------------------------------------------------

    def next_auto_ms(self) -> int | None:
        return self._next_auto_ms if self._config.commits_automatically else None

    def auto_commit(self, now_ms: int) -> None:
        """Begin one if it is time."""
        if not self._config.commits_automatically or now_ms < self._next_auto_ms:
            return
        self._next_auto_ms = now_ms + self._config.auto_commit_interval_ms
        consumed = self._subscriptions.consumed()
        if consumed:
            self._start(consumed, self._auto_committed)

    async def auto_commit_now(
        self, partitions: Iterable[TopicPartition] | None, timeout_ms: int | None
    ) -> None:
        """Before partitions are given up; 0 tries once."""
        await self.finish_earlier()
        consumed = self._subscriptions.consumed(partitions)
        if consumed and timeout_ms == 0:
            await self._told(self.commit_once(consumed))
        elif consumed:
            await self._retry(consumed, timeout_ms)
        self._next_auto_ms = monotonic_ms() + self._config.auto_commit_interval_ms

    def _auto_committed(self, offsets: Offsets, error: Exception | None) -> None:
        if error is None:
            return
        log.warning("auto-commit of %s failed: %s", _text(offsets), error)
        if isinstance(error, KafkaError) and error.retriable:
            soon_ms = monotonic_ms() + self._config.retry_backoff_ms
            self._next_auto_ms = min(self._next_auto_ms, soon_ms)

    # -- the request -----------------------------------------------------------------------------

    def _start(self, offsets: Offsets, callback: OnCommit) -> None:
        task = asyncio.create_task(self._run(offsets, callback))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, offsets: Offsets, callback: OnCommit) -> None:
        error: Exception | None = None
        try:
            if offsets:
                await self._told(self.commit_once(offsets))
        except Exception as problem:  # noqa: BLE001 - whatever it is, the callback hears of it
            error = problem
        self._done.append(_Done(callback, offsets, error))

    async def commit_once(self, offsets: Offsets) -> None:
        assert self.group is not None
        lost: KafkaError | None = None
        sent = self.group.commit_generation()
        began_ms = monotonic_ms()
        try:
            node_id = await self._cluster.coordinator(self._group_id, timeout_ms=0)
            response = await self._cluster.send(
                node_id, OFFSET_COMMIT, self._request(offsets, sent), versions=self._versions()
            )
            code = _first_error(response)
        except KafkaError as problem:
            if problem.code not in COORDINATOR_LOST:
                raise
            code, lost = problem.code, problem
        now_ms = monotonic_ms()
        self._metrics.record("commit", now_ms - began_ms, now_ms)
        if code in COORDINATOR_LOST:
            self._cluster.forget_coordinator(self._group_id)
        error = self.group.committed(code, sent)
        if error is not None and lost is not None and lost.code == error.code:
            raise error.saying(lost.message)  # which names the address
        if error is not None:
            raise error

    async def _retry(self, offsets: Offsets, timeout_ms: int | None) -> None:
        retried = self._cluster.retry(lambda: self.commit_once(offsets), timeout_ms=timeout_ms)
        await self._told(retried)

    async def _told(self, work: Awaitable[None]) -> None:
        """An error of the network, or of a broker that is not ready, says whose commit failed."""
        try:
            await work
        except KafkaError as problem:
            if not problem.retriable:
                raise
            place = self._cluster.coordinator_place(self._group_id)
            text = f"group {self._group_id} could not commit (coordinator: {place}): "
            raise problem.saying(text + problem.message) from None

    def _versions(self) -> range:
        """A static member must be able to name itself."""
        return VERSIONS if self._config.group_instance_id is None else INSTANCE_ID_VERSIONS

    def _request(self, offsets: Offsets, sent: Generation) -> OffsetCommitRequest:
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for tp, offset in offsets.items():
            topics.setdefault(tp.topic, []).append(
                OffsetCommitRequestPartition(
                    tp.partition, offset.offset, offset.leader_epoch, offset.metadata
                )
            )
        return OffsetCommitRequest(
            group_id=self._group_id,
            generation_id_or_member_epoch=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=self._config.group_instance_id,
            topics=tuple(
                OffsetCommitRequestTopic(name=name, partitions=tuple(partitions))
                for name, partitions in topics.items()
            ),
        )

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def _first_error(response: OffsetCommitResponse) -> int:
    """The first error decides; a topic that is forbidden only if there is no other."""
    codes = [partition.error_code for topic in response.topics for partition in topic.partitions]
    errors = [code for code in codes if code != ErrorCode.NONE]
    others = [code for code in errors if code != ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    return next(iter(others or errors), ErrorCode.NONE)


def _log_failure(offsets: Offsets, error: Exception | None) -> None:
    if error is not None:
        log.warning("commit of %s failed: %s", _text(offsets), error)


def _text(offsets: Offsets) -> str:
    return ", ".join(f"{tp}@{offset.offset}" for tp, offset in offsets.items())
