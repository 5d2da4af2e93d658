"""One partition of `__consumer_offsets` at work: decide, append, apply, follow, sync, answer.

The core decides and the log remembers; what is here is the order of the steps. A reply leaves
once the newest fact its decision could have seen is synced, so nobody is told what a crash could
take back. If the log fails, the shard's memory is ahead of it: the shard stops, everybody who
waits is sent away, and the coordinator may load it anew from what the log has.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from drumbeat.core.commit_batch import encode_facts
from drumbeat.core.config import GroupConfig
from drumbeat.core.deadlines import expire
from drumbeat.core.decide import decide, settle
from drumbeat.core.effects import SetDeadline
from drumbeat.core.events import GroupEvent
from drumbeat.core.loading import on_loaded, on_unloaded
from drumbeat.core.outcome import Context, Outcome, Reply, TopicsView
from drumbeat.core.records import OffsetCommitRecord, OffsetCommitTombstone
from drumbeat.core.records import Record as Fact
from drumbeat.core.reducer import apply
from drumbeat.core.session import Session, View, follow, view_of
from drumbeat.core.state import State
from drumbeat.log.errors import Fenced, LogError
from drumbeat.protocol.apis.join_group import API as JOIN_GROUP
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import BatchOptions, Envelope
from drumbeat.runtime.clock import Clock
from drumbeat.runtime.coordinator.counts import CoordinatorCounts
from drumbeat.runtime.coordinator.refusals import refuse
from drumbeat.runtime.coordinator.timers import Timers, Turns
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Deferred, Request

log = logging.getLogger(__name__)

_JOIN_GROUP: Final = JOIN_GROUP.key


class ShardState(Enum):
    LOADING = auto()
    ACTIVE = auto()
    STOPPED = auto()


class Environment(NamedTuple):
    """What all shards of a node share."""

    clock: Clock
    config: GroupConfig
    codec: Codec
    topics: TopicsView
    turns: Turns
    new_id: Callable[[], str]  # for members that have none yet
    tell: Callable[[Iterable[GroupEvent]], None]
    on_failed: Callable[["Shard", Exception], None]
    counts: CoordinatorCounts


ACTIVE: Final = ShardState.ACTIVE  # an enum's member takes longer to find than to compare
# As the others that follow: in compiled code a global that is not Final is looked up each time.
_STOPPED: Final = ShardState.STOPPED
_SetDeadline: Final = SetDeadline
_OffsetCommitRecord: Final = OffsetCommitRecord


class _Waiting:
    """A request that has no answer yet, with what is needed to refuse it."""

    __slots__ = ("body", "deferred", "request")

    def __init__(self, request: Request, body: Any, deferred: Deferred) -> None:
        self.request = request
        self.body = body
        self.deferred = deferred


class Shard:
    def __init__(self, index: int, partition: Partition, environment: Environment) -> None:
        self.index = index
        self.partition = partition
        self._log = partition.log
        self.state = ShardState.LOADING
        self._environment = environment
        self._counts = environment.counts
        self._config = environment.config
        self._topics = environment.topics
        self._steady_ms = environment.clock.steady_ms
        options = BatchOptions(
            codec=environment.codec, base_sequence=0, partition_leader_epoch=partition.log.epoch
        )
        self._envelope = Envelope(options)
        self._durable, self._session = State(), Session()
        self._view = view_of(self._durable, self._session)
        self._timers = Timers(self._session.deadlines)
        self._alarm: asyncio.TimerHandle | None = None
        self._waiting: dict[int, _Waiting] = {}  # by request id
        self._unsynced: deque[tuple[int, tuple[Reply, ...]]] = deque()  # by offset to be synced
        self._request_id = 0
        self._submitting = 0  # the request that is being decided, or 0
        self._response: Any = None  # to that one, if it need not wait
        self._is_on_its_way = False  # whether its answer waits for nothing but the disk

    # -- coming and going ------------------------------------------------------------------------

    def activate(self, durable: State) -> None:
        """Serve from the state that the log gave."""
        self._durable = durable
        self._view = view_of(self._durable, self._session)
        self.state = ACTIVE
        # A newer owner of the log must end this one even if nothing is being written.
        self.partition.on_failed = self._fail
        self.partition.on_synced = self._on_synced
        context = self._context()
        for outcome in on_loaded(self._view, context):
            self._carry_out(context, outcome)

    def stop(self, error_code: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Answer everybody who waits, and forget."""
        if self.state is _STOPPED:
            return
        self.state = _STOPPED
        if self._alarm is not None:
            self._alarm.cancel()
        for reply in on_unloaded(self._view, self._context()).replies:
            self._deliver(reply)
        waiting, self._waiting = self._waiting, {}
        for one in waiting.values():
            one.deferred.resolve(refuse(one.request, one.body, error_code))

    # -- requests --------------------------------------------------------------------------------

    def submit(self, request: Request, body: Any) -> Any:
        """The response, or a Deferred if it has to wait for others or for the disk."""
        self._request_id = self._submitting = request_id = self._request_id + 1
        self._response, self._is_on_its_way = None, False
        is_new_member = request.api_key == _JOIN_GROUP and not body.member_id
        context = self._context(request, request_id, is_new_member)
        self._carry_out(context, decide(self._view, context, body))
        self._submitting = 0
        if self._response is not None:
            return self._response
        if self.state is not ACTIVE:
            return refuse(request, body, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        # An answer that waits for the disk lets later requests of the connection go on; one that
        # waits for other members does not.
        deferred = Deferred(not self._is_on_its_way)
        self._waiting[request_id] = _Waiting(request, body, deferred)
        return deferred

    @property
    def view(self) -> View:
        """What is known of the groups here, for who wants to look."""
        return self._view

    def run(self, job: Callable[..., Iterable[Outcome]], *arguments: Any) -> Iterable[int]:
        """Carry out a job's outcomes; pauses after each so that others get their turn.

        Yields how many offsets each of them has removed.
        """
        context = self._context()
        for outcome in job(self._view, context, *arguments):
            if self.state is not ACTIVE:
                return
            self._carry_out(context, outcome)
            yield sum(type(fact) is OffsetCommitTombstone for fact in outcome.records)

    def _context(
        self, request: Request | None = None, request_id: int = 0, is_new_member: bool = False
    ) -> Context:
        now_ms = self._steady_ms()
        if request is None:
            return Context(now_ms, self._config, self._topics)
        new_id = self._environment.new_id() if is_new_member else ""
        # fmt: off
        return Context(
            now_ms, self._config, self._topics, request_id,
            request.api_version, request.client_id or "", request.client_host, new_id,
        )
        # fmt: on

    # -- outcomes --------------------------------------------------------------------------------

    def _carry_out(self, context: Context, outcome: Outcome) -> None:
        while True:
            records, replies = outcome.records, outcome.replies
            if records and not self._append(context, records):
                return
            for effect in outcome.effects:
                follow(self._session, effect)
                if type(effect) is _SetDeadline:
                    key, at_ms = effect
                    if self._timers.note(key, at_ms):
                        self._set_alarm()
            if outcome.events:
                self._environment.tell(outcome.events)
            if replies or records:
                # Records that nobody waits for are synced too, or their loss would go unnoticed.
                self._answer(replies)
            if outcome.settle is None:
                return
            outcome = settle(self._view, context, outcome.settle)

    def _append(self, context: Context, facts: tuple[Fact, ...]) -> bool:
        log = self._log
        offset, now_ms = log.end_offset, context.now_ms
        try:
            log.append(encode_facts(facts, self._envelope, offset, now_ms), expected=offset)
        except LogError as problem:
            self._fail(problem)
            return False
        for fact in facts:
            apply(self._durable, fact, offset)
            offset += 1
        if type(facts[0]) is _OffsetCommitRecord:  # then all of them are
            self._counts.offset_commits += len(facts)
        return True

    def _answer(self, replies: tuple[Reply, ...]) -> None:
        log = self._log
        end_offset = log.end_offset
        if end_offset == log.synced_offset:
            for reply in replies:
                self._deliver(reply)
            return
        for reply in replies:
            if reply.request_id == self._submitting:
                self._is_on_its_way = True
        self._unsynced.append((end_offset, replies))
        log.request_sync()

    def _on_synced(self, synced_offset: int) -> None:
        unsynced = self._unsynced
        while unsynced and unsynced[0][0] <= synced_offset:
            for reply in unsynced.popleft()[1]:
                self._deliver(reply)

    def _deliver(self, reply: Reply) -> None:
        if reply.request_id == self._submitting:
            if self.state is ACTIVE:
                self._response = reply.response
        elif (waiting := self._waiting.pop(reply.request_id, None)) is not None:
            waiting.deferred.resolve(reply.response)

    def _fail(self, problem: Exception) -> None:
        is_stopped = self.state is _STOPPED
        if is_stopped and isinstance(problem, Fenced):
            return  # that its epoch has ended is no news to it
        fields = {"partition": self.index, "reason": str(problem)}
        log.error("%s: the log failed: %s", self, problem, extra={"fields": fields})
        if not is_stopped:
            self.stop(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            self._environment.on_failed(self, problem)

    # -- deadlines -------------------------------------------------------------------------------

    def _set_alarm(self) -> None:
        at_ms = self._timers.next_ms()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if at_ms is not None:
            delay_ms = max(0, at_ms - self._steady_ms())
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(delay_ms / 1000, self._expire_due)

    @property
    def next_deadline_ms(self) -> int | None:
        """When `expire_due` has something to look at next."""
        return self._timers.next_ms()

    def expire_due(self) -> None:
        """Deal with deadlines that have passed; for whoever has moved the clock."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._expire_due()

    def _expire_due(self) -> None:
        self._alarm = None
        context = self._context()
        due = self._timers.due(context.now_ms)
        while self._environment.turns.take() and (key := next(due, None)) is not None:
            self._carry_out(context, expire(self._view, context, key))
            if self.state is not ACTIVE:
                return
        self._set_alarm()

    def __str__(self) -> str:
        return str(self.partition.log.topic_partition)
