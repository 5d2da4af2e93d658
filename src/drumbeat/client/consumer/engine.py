"""The consumer's parts, put together; what its public methods do."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drumbeat.client.assignors import assignors
from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.consumer.checks import checked_offset, checked_partitions
from drumbeat.client.consumer.committer import Committer, Offsets, OnCommit
from drumbeat.client.consumer.fetcher import Fetcher
from drumbeat.client.consumer.group_driver import GroupDriver, Hooks
from drumbeat.client.consumer.handout import NOTHING, Handout
from drumbeat.client.consumer.listener import RebalanceListener
from drumbeat.client.consumer.metrics import ConsumerMetrics, Metrics
from drumbeat.client.consumer.missing import MissingPartitions
from drumbeat.client.consumer.offset_lookup import Committed, OffsetLookup
from drumbeat.client.consumer.partition_state import OffsetReset
from drumbeat.client.consumer.positions import Positions
from drumbeat.client.consumer.rounds import Rounds
from drumbeat.client.consumer.subscription_state import SubscriptionState, SubscriptionType
from drumbeat.client.errors import (
    ConsumerClosedError,
    DrumbeatError,
    IllegalStateError,
    KafkaError,
    RequestTimedOut,
    WakeupError,
)
from drumbeat.client.membership.actions import Partitions
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.topic_names import checked_topic
from drumbeat.client.values import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    TopicPartition,
)

log = logging.getLogger(__name__)

_RESETS: Mapping[str, OffsetReset | None] = {
    "latest": OffsetReset.LATEST,
    "earliest": OffsetReset.EARLIEST,
    "none": None,
}


class Engine:
    def __init__(self, options: Mapping[str, Any] | None, named: Mapping[str, Any]) -> None:
        self.config = config = ConsumerConfig.of(options, **named)
        self.subscriptions = SubscriptionState(_RESETS[config.auto_offset_reset])
        self.metrics = ConsumerMetrics()
        self.cluster = Cluster(config)
        self._missing = MissingPartitions(self.cluster, self.subscriptions)
        self.lookup = OffsetLookup(config, self.cluster)
        self.fetcher = Fetcher(config, self.cluster, self.subscriptions, self.metrics, self.wake)
        self.positions = Positions(config, self.subscriptions, self.lookup, self.wake)
        self.committer = Committer(config, self.cluster, self.subscriptions, self.metrics)
        self.driver: GroupDriver | None = None
        self.records: Iterator[ConsumerRecord] = NOTHING  # handed out one by one
        self._handout: Handout | None = None
        self.rounds = Rounds(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closing = False  # only listeners still have something to do
        self._is_closed = False
        self._is_polling = False
        self._is_woken = False
        self.changed = asyncio.Event()
        if config.group_id is not None:
            hooks = Hooks(self.wake, self.interrupt, self._commit_before_join)
            self.driver = GroupDriver(config, self.cluster, self.subscriptions, self.metrics, hooks)
            self.committer.group = self.driver
        else:
            assignors(config.partition_assignment_strategy)  # a typo is one, with a group or not

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        if self._is_closing or self._loop is not None:
            raise IllegalStateError("a consumer starts once: make a new one")
        self._loop = asyncio.get_running_loop()
        try:
            await self.cluster.start()
        except BaseException:
            self._is_closing = self._is_closed = True
            raise

    async def close(self, timeout_ms: int) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self.interrupt()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._depart(timeout_ms)
        except TimeoutError:
            log.warning("close() took longer than %d ms; the rest is left undone", timeout_ms)
        finally:
            self._is_closed = True
            await self._release()

    async def _depart(self, timeout_ms: int) -> None:
        if self.driver is None:
            return
        try:
            if self.config.commits_automatically:
                await self.committer.auto_commit_now(None, timeout_ms)
        except DrumbeatError as problem:
            log.warning("the last auto-commit failed: %s", problem)
        await self.committer.finish_earlier()
        await self.committer.run_callbacks()
        if self.subscriptions.is_subscribed:
            await self.driver.leave("the consumer is being closed")

    async def _release(self) -> None:
        await self.committer.close()
        await self.positions.close()
        await self.fetcher.close()
        if self.driver is not None:
            await self.driver.close()
        await self.cluster.close()

    def check_open(self) -> None:
        if self._is_closed:
            raise ConsumerClosedError("this consumer is closed: make a new one")
        if self._loop is None:
            raise IllegalStateError("this consumer is not started: use `async with`, or start()")

    # -- being woken -----------------------------------------------------------------------------

    def wake(self) -> None:
        """Something has changed that a waiting poll should look at."""
        self.changed.set()

    def wakeup(self) -> None:
        self._is_woken = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.changed.set)

    def raise_wakeup(self) -> None:
        if self._is_woken:
            self._is_woken = False
            raise WakeupError("wakeup() was called")

    # -- polling ---------------------------------------------------------------------------------

    def check_polling(self) -> None:
        self.check_open()
        if self._is_closing:
            raise ConsumerClosedError("this consumer is being closed")

    def begin_poll(self) -> None:
        self.check_polling()
        if self._is_polling:
            raise IllegalStateError("another task is polling this consumer: let one task poll")
        self._is_polling = True
        self.metrics.poll_began(monotonic_ms())
        self.interrupt()

    def end_poll(self) -> None:
        self._is_polling = False
        self.metrics.poll_ended(monotonic_ms())

    def may_deliver(self) -> bool:
        return self.driver is None or self.driver.may_deliver(monotonic_ms())

    def hand_out(self, handout: Handout) -> None:
        self._handout = handout
        self.records = handout.iterator

    def interrupt(self) -> None:
        """Have the application come to poll() for its next record."""
        handout, self._handout = self._handout, None
        self.records = NOTHING
        if handout is not None:
            handout.recall()

    def settle(self) -> None:
        """Positions as of the last record that the application took."""
        if self._handout is not None:
            self._handout.settle()

    # -- what to read ----------------------------------------------------------------------------

    def subscribe(
        self,
        topics: list[str],
        pattern: re.Pattern[str] | None,
        listener: RebalanceListener | None,
    ) -> None:
        self.check_open()
        driver = self.group("subscribe() needs a group")
        if pattern is not None:
            self.subscriptions.subscribe_pattern(pattern)
        else:
            self.subscriptions.subscribe(map(checked_topic, topics))
        self.interrupt()
        driver.listener = listener or RebalanceListener()
        driver.subscription_changed()

    async def unsubscribe(self) -> None:
        self.check_open()
        self.interrupt()
        try:
            if self.driver is not None and self.subscriptions.is_subscribed:
                await self.driver.leave("the consumer unsubscribed")
        finally:
            self.subscriptions.unsubscribe()
            self.cluster.watch(())

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.check_open()
        chosen = checked_partitions(partitions)
        self.interrupt()
        if self.config.commits_automatically and self.subscriptions.partitions:
            self.committer.commit_async(None, None)
        self.subscriptions.assign(chosen)
        self.cluster.watch({tp.topic for tp in chosen})
        self.wake()

    def subscribed_topics(self) -> frozenset[str]:
        if self.driver is not None and self.subscriptions.type is SubscriptionType.PATTERN:
            return self.driver.membership.subscription
        return self.subscriptions.topics

    def set_paused(self, partitions: Iterable[TopicPartition], is_paused: bool) -> None:
        self.check_open()
        states = self.subscriptions.states(partitions)
        self.interrupt()
        for state in states:
            state.is_paused = is_paused
        self.wake()

    # -- positions -------------------------------------------------------------------------------

    def seek(self, tp: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        self.check_open()
        state = self.subscriptions.state(tp)
        given = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        wanted = checked_offset(tp, given)
        self.interrupt()
        state.seek(wanted.offset, wanted.leader_epoch)
        self.wake()

    def reset(self, partitions: Iterable[TopicPartition], reset: OffsetReset) -> None:
        self.check_open()
        states = self.subscriptions.states(partitions)
        self.interrupt()
        for state in states:
            state.request_reset(reset)
        self.wake()

    async def position(self, tp: TopicPartition, timeout_ms: int | None) -> int:
        self.check_open()
        limit_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = monotonic_ms() + limit_ms
        self.settle()
        while True:
            state = self.subscriptions.state(tp)
            if state.position is not None:
                return state.position
            if monotonic_ms() >= deadline_ms:
                raise self._no_position(tp, limit_ms)
            self.changed.clear()
            self.positions.update()
            await self.wait(deadline_ms)

    def _no_position(self, tp: TopicPartition, limit_ms: int) -> KafkaError:
        text = f"the position of {tp} is not known after {limit_ms} ms"
        if self.cluster.metadata.leader(tp) is None:
            problem: KafkaError | None = self.cluster.problem_of(tp)
        else:
            problem = self.positions.trouble
        return (
            RequestTimedOut(text)
            if problem is None
            else problem.saying(f"{text}: {problem.message}")
        )

    def lag(self, tp: TopicPartition) -> int | None:
        self.settle()
        is_read_committed = self.config.isolation_level == "read_committed"
        return self.subscriptions.state(tp).lag(is_read_committed=is_read_committed)

    async def wait(self, until_ms: int | None) -> None:
        """For a change, or that time."""
        if until_ms is None:
            await self.changed.wait()
            return
        try:
            async with asyncio.timeout(max(0, until_ms - monotonic_ms()) / 1000):
                await self.changed.wait()
        except TimeoutError:
            pass

    # -- commits ---------------------------------------------------------------------------------

    async def commit(self, offsets: Offsets | None, timeout_ms: int | None) -> None:
        self.check_open()
        self.settle()
        await self.committer.commit(offsets, timeout_ms)

    def commit_async(self, offsets: Offsets | None, callback: OnCommit | None) -> None:
        self.check_open()
        self.settle()
        self.committer.commit_async(offsets, callback)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None
    ) -> Committed:
        self.check_open()
        self.group("committed() needs a group")
        return await self.lookup.committed(checked_partitions(partitions), timeout_ms)

    async def _commit_before_join(self, partitions: Partitions) -> None:
        await self.committer.auto_commit_now(partitions, 0)

    # -- the group -------------------------------------------------------------------------------

    def group(self, what: str) -> GroupDriver:
        if self.driver is None:
            raise IllegalStateError(f"{what}: set group_id, or assign() partitions by hand")
        return self.driver

    def group_metadata(self) -> ConsumerGroupMetadata:
        """As in Java, of the last rebalance that was joined to its end."""
        generation = self.group("group_metadata() needs a group").membership.joined_generation
        return ConsumerGroupMetadata(
            self.config.group_id or "",
            generation.generation_id,
            generation.member_id,
            self.config.group_instance_id,
        )

    def enforce_rebalance(self, reason: str) -> None:
        self.group("enforce_rebalance() needs a group").request_rejoin(reason)

    def metrics_snapshot(self) -> Metrics:
        self.settle()
        return self.metrics.snapshot(
            self.subscriptions.partitions.values(),
            self.driver.membership if self.driver is not None else None,
            is_read_committed=self.config.isolation_level == "read_committed",
        )
