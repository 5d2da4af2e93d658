"""Carries out what the membership asks for: requests, timers, callbacks; reports what came of it.

Callbacks of the application run as tasks of their own, so that a poll() that is cancelled does not
break one off; they begin only inside poll(), close() or unsubscribe().
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from drumbeat.client.assignors import assignors
from drumbeat.client.assignors.port import PartitionRacks, partition_racks
from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.consumer.listener import RebalanceListener, tell
from drumbeat.client.consumer.metrics import ConsumerMetrics
from drumbeat.client.consumer.subscription_state import SubscriptionState, SubscriptionType
from drumbeat.client.entropy import draw
from drumbeat.client.errors import DrumbeatError, KafkaError
from drumbeat.client.membership.actions import (
    Action,
    AssignmentChanged,
    Callback,
    CallbackKind,
    Connect,
    Disconnect,
    Left,
    MarkPendingRevocation,
    Partitions,
    Raise,
    RefreshMetadata,
    SendRequest,
)
from drumbeat.client.membership.machine import Membership
from drumbeat.client.membership.values import Generation, LeaveOperation, MembershipConfig
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.net.coordinators import CoordinatorType
from drumbeat.client.net.metadata import ClusterMetadata
from drumbeat.protocol.apis import heartbeat, join_group, sync_group
from drumbeat.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

# Which requests of the membership have metrics.
_SENSORS: Mapping[int, str] = {
    join_group.API.key: "join",
    sync_group.API.key: "sync",
    heartbeat.API.key: "heartbeat",
}


_SESSION_KEPT = frozenset({ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS})


class Hooks(NamedTuple):
    """What the driver asks of its consumer."""

    wake: Callable[[], None]  # something has changed: poll() shall look
    interrupt: Callable[[], None]  # poll() is needed soon: records handed out are to be recalled
    commit: Callable[[Partitions], Awaitable[None]]  # the positions, once


class GroupDriver:
    def __init__(
        self,
        config: ConsumerConfig,
        cluster: Cluster,
        subscriptions: SubscriptionState,
        metrics: ConsumerMetrics,
        hooks: Hooks,
    ) -> None:
        self._group_id = config.group_id or ""
        self._config = config
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._metrics = metrics
        self._hooks = hooks
        self._tasks: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms: int | None = None
        self._polled_ms = monotonic_ms()
        self._session_until_ms = 0
        self._callbacks = 0  # under way
        self._problem: BaseException | None = None
        self._left: asyncio.Future[Left] | None = None
        self._coordinator_connection: int | None = None
        self.listener = RebalanceListener()
        self.membership = Membership(
            _membership_config(config), assignors(config.partition_assignment_strategy), dice=draw
        )
        self._performers: Mapping[type[Any], Callable[[Any], None]] = {
            SendRequest: lambda action: self._start(self._send(action)),
            Callback: self._begin_callback,
            RefreshMetadata: lambda action: self._start(self._refresh(action)),
            Connect: self._connect,
            Disconnect: self._disconnect,
            MarkPendingRevocation: self._mark,
            AssignmentChanged: self._assign,
            Raise: self._raise,
            Left: self._set_left,
        }
        cluster.on_metadata(self._metadata_changed)
        cluster.on_disconnect(self._disconnected)

    # -- what the consumer calls -----------------------------------------------------------------

    def poll(self, now_ms: int) -> None:
        """One step of membership; raises what the application has to know."""
        self._polled_ms = now_ms
        self._perform(self.membership.poll(now_ms))
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    @property
    def next_poll_ms(self) -> int | None:
        return self.membership.next_poll_ms

    @property
    def may_commit(self) -> bool:
        """Whether an automatic commit makes sense now."""
        return not self._subscriptions.is_subscribed or self.membership.is_active

    def may_deliver(self, now_ms: int) -> bool:
        """Whether what is assigned is certainly still ours.

        Java goes on without its coordinator. Here a member stops to hand out records when the
        coordinator may have given them to another: a session counts from when its last sign of
        life was sent, which is before the coordinator received it.
        """
        if not self._subscriptions.is_subscribed:
            return True
        has_session = now_ms < self._session_until_ms and not self.membership.generation.is_lost
        return has_session and not self.is_calling_back

    @property
    def is_calling_back(self) -> bool:
        """Whether a listener has its say: where to begin, for instance."""
        return self._callbacks > 0

    def subscription_changed(self) -> None:
        matches = (
            self._subscriptions.matches
            if self._subscriptions.type is SubscriptionType.PATTERN
            else None
        )
        topics = self._subscriptions.topics
        self._report(self.membership.subscription_changed(topics, monotonic_ms(), matches))
        self._cluster.watch(self.membership.watched_topics)

    def request_rejoin(self, reason: str) -> None:
        self.membership.request_rejoin(reason)
        self._hooks.interrupt()
        self._hooks.wake()

    async def leave(self, reason: str, operation: LeaveOperation = LeaveOperation.DEFAULT) -> None:
        """The last callback, then LeaveGroup; raises what the callback raised."""
        self._left = asyncio.get_running_loop().create_future()
        self._perform(self.membership.leave(reason, monotonic_ms(), operation))
        left = await self._left
        self._left = None
        if left.refusal is not None:
            log.warning("LeaveGroup failed, the session will have to run out: %s", left.refusal)
        if left.error is not None:
            raise left.error

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- commits ---------------------------------------------------------------------------------

    def commit_generation(self) -> Generation:
        return self.membership.commit_generation()

    def committed(self, code: int, sent: Generation) -> KafkaError | None:
        """A commit was answered: what it means for the member, and for who committed."""
        outcome, actions = self.membership.on_commit(code, sent, monotonic_ms())
        self._perform(actions)
        return outcome.error

    # -- actions ---------------------------------------------------------------------------------

    def _report(self, actions: list[Action]) -> None:
        """Something was reported to the membership: carry on, and have a waiting poll() look."""
        self._perform(actions)
        self._hooks.wake()

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            self._performers[type(action)](action)
        self._schedule()
        if self._subscriptions.is_subscribed and not self.membership.is_active:
            self._hooks.interrupt()

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Future[None]) -> None:
        """What a task does not expect is a bug; poll() raises it, so that nobody waits for ever."""
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._problem = problem
            self._hooks.wake()

    async def _send(self, action: SendRequest) -> None:
        began_ms = monotonic_ms()
        response: Any
        try:
            response = await self._cluster.send(
                self._node_id(action),
                action.api,
                action.request,
                timeout_ms=action.timeout_ms,
                versions=action.versions,
            )
        except KafkaError as problem:
            response = problem
        now_ms = monotonic_ms()
        if action.api.key in _SENSORS:
            self._metrics.record(_SENSORS[action.api.key], now_ms - began_ms, now_ms)
        if _keeps_session(action, response):
            self._session_until_ms = began_ms + self._config.session_timeout_ms
        self._report(self.membership.on_response(action.id, response, now_ms))

    def _node_id(self, action: SendRequest) -> int:
        if action.destination is None:
            return self._cluster.least_loaded()
        return self._cluster.learn_coordinator(self._group_id, action.destination)

    def _begin_callback(self, action: Callback) -> None:
        self._callbacks += 1
        self._start(self._call_back(action))

    async def _call_back(self, action: Callback) -> None:
        error: Exception | None = None
        try:
            if action.kind is CallbackKind.COMMIT_BEFORE_JOIN:
                await self._hooks.commit(action.partitions)
            else:
                await tell(self._listener_method(action.kind), action.partitions)
        except Exception as problem:  # noqa: BLE001 - the application's; raised from its poll()
            error = problem
        finally:
            self._callbacks -= 1
        self._report(self.membership.callback_done(action.id, error, monotonic_ms()))

    def _listener_method(self, kind: CallbackKind) -> Callable[..., Any]:
        return {
            CallbackKind.ASSIGNED: self.listener.on_partitions_assigned,
            CallbackKind.REVOKED: self.listener.on_partitions_revoked,
            CallbackKind.LOST: self.listener.on_partitions_lost,
        }[kind]

    async def _refresh(self, action: RefreshMetadata) -> None:
        self._cluster.watch(action.topics)
        result: PartitionRacks | KafkaError
        try:
            result = self._facts(await self._cluster.refresh())
        except KafkaError as problem:
            result = problem
        self._report(self.membership.on_refresh(action.id, result, monotonic_ms()))

    def _connect(self, action: Connect) -> None:
        connection_id = self._cluster.learn_coordinator(self._group_id, action.coordinator)
        self._coordinator_connection = connection_id
        self._start(self._open(connection_id))

    async def _open(self, connection_id: int) -> None:
        try:
            await self._cluster.connect(connection_id)
        except DrumbeatError as problem:
            self._disconnected(connection_id, str(problem))

    def _disconnect(self, action: Disconnect) -> None:
        log.info(
            "the coordinator of group %s is not used any more: %s", self._group_id, action.cause
        )
        self._coordinator_connection = None
        self._cluster.forget_coordinator(self._group_id, CoordinatorType.GROUP)
        self._cluster.disconnect_coordinator(action.coordinator.node_id)

    def _mark(self, action: MarkPendingRevocation) -> None:
        self._subscriptions.mark_pending_revocation(action.partitions)

    def _assign(self, action: AssignmentChanged) -> None:
        if action.added or action.removed:
            log.info("assigned partitions: %s", ", ".join(map(str, action.partitions)) or "none")
        self._subscriptions.replace(action.partitions)
        self._subscriptions.clear_pending_revocation()

    def _raise(self, action: Raise) -> None:
        self._problem = action.error

    def _set_left(self, action: Left) -> None:
        if self._left is not None and not self._left.done():
            self._left.set_result(action)

    # -- what happens by itself ------------------------------------------------------------------

    def _schedule(self) -> None:
        deadline_ms = self.membership.next_deadline_ms
        if deadline_ms == self._timer_at_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at_ms = None, deadline_ms
        if deadline_ms is not None:
            delay_s = max(0, deadline_ms - monotonic_ms()) / 1000
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._tick)

    def _tick(self) -> None:
        self._timer = self._timer_at_ms = None
        now_ms = monotonic_ms()
        # An application that takes records one by one is alive, but must come by in time.
        is_quiet = now_ms - self._polled_ms > self._config.max_poll_interval_ms // 2
        if is_quiet or not self.may_deliver(now_ms):
            self._hooks.interrupt()
        self._report(self.membership.tick(now_ms))

    def _metadata_changed(self, metadata: ClusterMetadata) -> None:
        if self._subscriptions.is_subscribed:
            facts = self._facts(metadata)
            self._report(self.membership.metadata_changed(facts, monotonic_ms()))

    def _facts(self, metadata: ClusterMetadata) -> PartitionRacks:
        """The topics that exist; for patterns, those that may match."""
        skips_internal = (
            self._subscriptions.type is SubscriptionType.PATTERN
            and self._config.exclude_internal_topics
        )
        names = [
            name
            for name, topic in metadata.topics.items()
            if not (skips_internal and topic.is_internal)
        ]
        return partition_racks(metadata, names)

    def _disconnected(self, connection_id: int, cause: str) -> None:
        if connection_id == self._coordinator_connection:
            self._report(self.membership.coordinator_lost(cause, monotonic_ms()))


def _keeps_session(action: SendRequest, response: Any) -> bool:
    """Whether the coordinator has begun to count the session anew."""
    is_sign_of_life = action.api.key in (heartbeat.API.key, sync_group.API.key)
    return is_sign_of_life and getattr(response, "error_code", None) in _SESSION_KEPT


def _membership_config(config: ConsumerConfig) -> MembershipConfig:
    return MembershipConfig(
        group_id=config.group_id or "",
        group_instance_id=config.group_instance_id,
        client_rack=config.client_rack,
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        max_poll_interval_ms=config.max_poll_interval_ms,
        request_timeout_ms=config.request_timeout_ms,
        retry_backoff_ms=config.retry_backoff_ms,
        retry_backoff_max_ms=config.retry_backoff_max_ms,
        enable_auto_commit=config.enable_auto_commit,
    )
