"""An application with a consumer: polls, works, sometimes for too long; watches its callbacks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from client.membership.world import GROUP, World
from drumbeat.client.assignors import assignors
from drumbeat.client.assignors.port import RebalanceProtocol, without_racks
from drumbeat.client.errors import FencedInstanceIdError, KafkaError, NodeDisconnected
from drumbeat.client.membership import (
    Action,
    AssignmentChanged,
    Callback,
    CallbackKind,
    Left,
    Membership,
    MembershipConfig,
    Raise,
    RefreshMetadata,
    SendRequest,
)
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import offset_commit
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

SESSION_TIMEOUT_MS = 6_000
HEARTBEAT_INTERVAL_MS = 2_000
MAX_POLL_INTERVAL_MS = 8_000
REQUESTS_PER_SECOND_MAX = 30
INPUTS_PER_INSTANT_MAX = 40


class ListenerError(Exception):
    """What a listener raises now and then."""


class Actor:
    def __init__(
        self,
        name: str,
        world: World,
        names: tuple[str, ...],
        topics: frozenset[str],
        instance_id: str | None = None,
    ) -> None:
        self.name = name
        self.world = world
        self.topics = topics
        self.instance_id = instance_id
        self.owned: frozenset[TopicPartition] = frozenset()
        self.assigned_in = -1
        self.is_alive = True
        self.is_fenced = False
        self.is_pattern = world.chance(0.2)
        self.heartbeats_at_ms: list[int] = []
        self.others: list[Actor] = []
        self._callback: Callback | None = None
        self._errors_due: list[Exception] = []
        self._in_poll = False
        self._version = 0
        self._requests: Counter[int] = Counter()
        self._inputs: tuple[int, int] = (0, 0)
        config = MembershipConfig(
            group_id=GROUP,
            group_instance_id=instance_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            max_poll_interval_ms=MAX_POLL_INTERVAL_MS,
            request_timeout_ms=4_000,
            enable_auto_commit=world.chance(0.7),
        )
        self.membership = Membership(config, assignors(names), dice=world.random.random)
        self._learn_metadata()
        self.subscribe(topics)
        self._enter_poll()

    # -- what the application does ---------------------------------------------------------------

    def subscribe(self, topics: frozenset[str]) -> None:
        self.topics = topics
        if self.is_pattern:
            actions = self.membership.subscription_changed((), self.now_ms, topics.__contains__)
        else:
            actions = self.membership.subscription_changed(topics, self.now_ms)
        self._feed(actions)

    def _enter_poll(self) -> None:
        if self.is_alive and not self.membership.is_leaving:
            self._in_poll = True
            self.world.after(self.world.random.randrange(50, 400), self._leave_poll)
            self._feed(self.membership.poll(self.now_ms))

    def _leave_poll(self) -> None:
        if not self.is_alive or not self._in_poll:
            return
        if self._callback is not None:  # poll() does not return while a callback runs
            self.world.after(20, self._leave_poll)
            return
        self._in_poll = False
        self.world.after(self._work_ms(), self._enter_poll)

    def _work_ms(self) -> int:
        if self.world.chance(self.world.faults.dawdles):
            return MAX_POLL_INTERVAL_MS + self.world.random.randrange(4_000)
        return self.world.random.randrange(300)

    def close(self) -> None:
        if self.is_alive and not self.membership.is_leaving:
            self._in_poll = False
            self._feed(self.membership.leave("closed", self.now_ms))

    def crash(self) -> None:
        self.is_alive = False

    def learn_of_topics(self) -> None:
        self.world.after(self.world.random.randrange(1, 3_000), self._learn_metadata)

    def _learn_metadata(self) -> None:
        if self.is_alive:
            self._feed(self.membership.metadata_changed(self._metadata(), self.now_ms))

    def _metadata(self) -> Any:
        watched = self.membership.watched_topics
        counts = self.world.partitions
        known = {name: n for name, n in counts.items() if watched is None or name in watched}
        return without_racks(known)

    @property
    def now_ms(self) -> int:
        return self.world.now_ms

    # -- what the membership asks for ------------------------------------------------------------

    def _feed(self, actions: list[Action]) -> None:
        self._count_input()
        for action in actions:
            match action:
                case SendRequest():
                    self._send(action)
                case Callback():
                    self._call_back(action)
                case RefreshMetadata():
                    self._refresh(action)
                case Raise(error=error):
                    self._raised(error)
                case AssignmentChanged(partitions=partitions):
                    assert frozenset(partitions) == self.membership.assignment
                case Left(error=error):
                    self._left(error)
        if self._callback is None:
            assert self.owned == self.membership.assignment, f"{self.name} missed a callback"
        self._arm()

    def _count_input(self) -> None:
        at_ms, count = self._inputs
        self._inputs = (self.now_ms, count + 1 if at_ms == self.now_ms else 1)
        assert self._inputs[1] <= INPUTS_PER_INSTANT_MAX, f"{self.name} is in a loop"

    def _arm(self) -> None:
        """Comes back when the membership wants to, unless something else happens before."""
        self._version += 1
        version = self._version

        def tick() -> None:
            if self.is_alive and version == self._version:
                self._feed(self.membership.tick(self.now_ms))

        def poll() -> None:
            if self.is_alive and version == self._version and self._polls:
                self._feed(self.membership.poll(self.now_ms))

        if (at_ms := self.membership.next_deadline_ms) is not None:
            self.world.after(max(at_ms - self.now_ms, 0), tick)
        if self._polls and (at_ms := self.membership.next_poll_ms) is not None:
            self.world.after(max(at_ms - self.now_ms, 0), poll)

    @property
    def _polls(self) -> bool:
        """Whether poll() waits; it does nothing else while the listener runs."""
        is_running = self._callback is not None and self._callback.kind.is_listener
        return self._in_poll and not is_running

    def _report(self, report: Any) -> None:
        """What happened is told; poll() goes on if the application is in it."""
        if not self.is_alive:
            return
        self._feed(report())
        if self._polls and self.is_alive:
            self._feed(self.membership.poll(self.now_ms))

    def _send(self, action: SendRequest) -> None:
        second = self.now_ms // 1_000
        self._requests[second] += 1
        assert self._requests[second] <= REQUESTS_PER_SECOND_MAX, f"{self.name} asks too often"
        if action.api.name == "Heartbeat":
            self.heartbeats_at_ms.append(self.now_ms)

        def reply(response: Any) -> None:
            self._report(lambda: self.membership.on_response(action.id, response, self.now_ms))

        self.world.send(self.name, action, reply)

    def _refresh(self, action: RefreshMetadata) -> None:
        def finish() -> None:
            failed = self.world.chance(self.world.faults.refresh_fails)
            answer = NodeDisconnected() if failed else self._metadata()
            self._report(lambda: self.membership.on_refresh(action.id, answer, self.now_ms))

        self.world.after(self.world.random.randrange(1, 200), finish)

    def _raised(self, error: Exception) -> None:
        assert self._in_poll, "only poll() raises"
        if isinstance(error, ListenerError):
            self._errors_due.remove(error)
        self._in_poll = False
        if isinstance(error, FencedInstanceIdError):
            self.is_fenced = True
            assert not self.owned, "a fenced member still owns partitions"
            self.world.after(1, self.close)
        else:
            self.world.after(self._work_ms(), self._enter_poll)

    def _left(self, error: Exception | None) -> None:
        assert not self.owned
        if isinstance(error, ListenerError):
            self._errors_due.remove(error)
        self.is_alive = False

    # -- callbacks -------------------------------------------------------------------------------

    def _call_back(self, callback: Callback) -> None:
        assert self._in_poll or self.membership.is_leaving, "a callback behind the back"
        assert self._callback is None or not self._callback.kind.is_listener, "two at once"
        self._callback = callback
        concerned = frozenset(callback.partitions)
        if callback.kind is CallbackKind.COMMIT_BEFORE_JOIN:
            assert concerned == self.owned
            self._commit(callback)
            return
        if callback.kind is CallbackKind.ASSIGNED:
            self._assigned(concerned)
        else:
            assert concerned <= self.owned, f"{self.name} gives up what it does not own"
        self.world.after(self._callback_ms(), lambda: self._call_back_done(callback))

    def _callback_ms(self) -> int:
        if self.world.chance(self.world.faults.callback_is_slow):
            return self.world.random.randrange(2 * MAX_POLL_INTERVAL_MS)
        return self.world.random.randrange(30)

    def _assigned(self, added: frozenset[TopicPartition]) -> None:
        assert not added & self.owned, f"{self.name} is assigned what it owns"
        if self.membership.protocol is RebalanceProtocol.EAGER:
            assert not self.owned, "assigned before revoked"
        self.owned |= added
        self.assigned_in = self.membership.generation.generation_id
        if not self.is_in_group:  # fenced or expired, and not yet aware of it
            return
        for other in self.others:
            if other.is_alive and other.is_in_group and other.assigned_in == self.assigned_in:
                both = other.owned & self.owned
                assert not both, f"{self.name} and {other.name} both own {both}"

    @property
    def is_in_group(self) -> bool:
        group = self.world.group
        return group is not None and self.membership.generation.member_id in group.members

    def _call_back_done(self, callback: Callback) -> None:
        if not self.is_alive:
            return
        if callback.kind is not CallbackKind.ASSIGNED:
            self.owned -= frozenset(callback.partitions)
        error = None
        if self.world.chance(self.world.faults.callback_raises):
            error = ListenerError(f"{callback.kind} of {self.name}")
            self._errors_due.append(error)
        self._done(callback, error)

    def _done(self, callback: Callback, error: Exception | None) -> None:
        if self._callback is callback:
            self._callback = None
        self._report(lambda: self.membership.callback_done(callback.id, error, self.now_ms))

    # -- commits ---------------------------------------------------------------------------------

    def _commit(self, callback: Callback) -> None:
        membership = self.membership
        try:
            generation = membership.commit_generation()
        except KafkaError as error:
            refused = error
            self.world.after(1, lambda: self._done(callback, refused))
            return
        if membership.coordinator is None:
            self.world.after(1, lambda: self._done(callback, NodeDisconnected()))
            return

        def reply(response: Any) -> None:
            self._committed(callback, generation, response)

        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=self.instance_id,
            topics=tuple(self._position(each) for each in sorted(self.owned)),
        )
        action = SendRequest(
            id=0, api=offset_commit.API, request=request, destination=membership.coordinator
        )
        self.world.send(self.name, action, reply)

    def _position(self, partition: TopicPartition) -> OffsetCommitRequestTopic:
        offset = OffsetCommitRequestPartition(partition.partition, self.now_ms)
        topic_id = self.world.coordinator.topics.topic_id(partition.topic)
        return OffsetCommitRequestTopic(topic_id=topic_id, partitions=(offset,))

    def _committed(self, callback: Callback, generation: Any, response: Any) -> None:
        if not self.is_alive:
            return
        if isinstance(response, KafkaError):
            codes = [response.code]
        else:
            codes = [p.error_code for topic in response.topics for p in topic.partitions]
        code = next((code for code in codes if code), 0)
        outcome, actions = self.membership.on_commit(code, generation, self.now_ms)
        self._feed(actions)
        self._done(callback, outcome.error)

    # -- what must hold in the end ---------------------------------------------------------------

    def check_nothing_swallowed(self) -> None:
        assert self._errors_due == [], f"{self.name} never heard of {self._errors_due}"
