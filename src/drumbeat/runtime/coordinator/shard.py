"""One partition of `__consumer_offsets` at work: decide, append, apply, follow, sync, answer.

The core decides and the log remembers; what is here is the order of the steps. A reply leaves
once the newest fact its decision could have seen is synced, so nobody is told what a crash could
take back. If the log fails, the shard's memory is ahead of it: the shard stops, everybody who
waits is sent away, and the coordinator may load it anew from what the log has.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, NamedTuple

from drumbeat.core.config import GroupConfig
from drumbeat.core.deadlines import expire
from drumbeat.core.decide import decide, settle
from drumbeat.core.effects import SetDeadline
from drumbeat.core.events import GroupEvent
from drumbeat.core.loading import on_loaded, on_unloaded
from drumbeat.core.outcome import Context, Outcome, Reply, TopicsView
from drumbeat.core.record_codec import encode
from drumbeat.core.records import Record as Fact
from drumbeat.core.reducer import apply
from drumbeat.core.session import Session, follow, view_of
from drumbeat.core.state import State
from drumbeat.log.errors import LogError
from drumbeat.protocol.apis.join_group import API as JOIN_GROUP
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import BatchOptions, Record, encode_batch
from drumbeat.runtime.clock import Clock
from drumbeat.runtime.coordinator.refusals import refuse
from drumbeat.runtime.coordinator.timers import Timers, Turns
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Deferred, Request

log = logging.getLogger(__name__)


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


class _Waiting(NamedTuple):
    """A request that has no answer yet, with what is needed to refuse it."""

    request: Request
    body: Any
    deferred: Deferred


class Shard:
    def __init__(self, index: int, partition: Partition, environment: Environment) -> None:
        self.index = index
        self.partition = partition
        self.state = ShardState.LOADING
        self._environment = environment
        self._options = BatchOptions(codec=environment.codec, base_sequence=0)
        self._durable, self._session = State(), Session()
        self._view = view_of(self._durable, self._session)
        self._timers = Timers(self._session.deadlines)
        self._alarm: asyncio.TimerHandle | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._immediate: dict[int, Any] = {}  # answers that are ready before anybody waits
        self._request_id = 0
        self._on_its_way = 0  # the request whose answer waits for nothing but the disk

    # -- coming and going ------------------------------------------------------------------------

    def activate(self, durable: State) -> None:
        """Serve from the state that the log gave."""
        self._durable = durable
        self._view = view_of(self._durable, self._session)
        self.state = ShardState.ACTIVE
        context = self._context()
        for outcome in on_loaded(self._view, context):
            self._carry_out(context, outcome)

    def stop(self, error_code: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Answer everybody who waits, and forget."""
        if self.state is ShardState.STOPPED:
            return
        self.state = ShardState.STOPPED
        if self._alarm is not None:
            self._alarm.cancel()
        for reply in on_unloaded(self._view, self._context()).replies:
            self._deliver(reply)
        waiting, self._waiting = self._waiting, {}
        for request, body, deferred in waiting.values():
            deferred.resolve(refuse(request, body, error_code))

    # -- requests --------------------------------------------------------------------------------

    def submit(self, request: Request, body: Any) -> Any:
        """The response, or a Deferred if it has to wait for others or for the disk."""
        self._request_id = request_id = self._request_id + 1
        context = self._context(request, request_id)
        self._carry_out(context, decide(self._view, context, body))
        if request_id in self._immediate:
            return self._immediate.pop(request_id)
        if self.state is not ShardState.ACTIVE:
            return refuse(request, body, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        # An answer that waits for the disk lets later requests of the connection go on; one that
        # waits for other members does not.
        deferred = Deferred(mutes=self._on_its_way != request_id)
        self._waiting[request_id] = _Waiting(request, body, deferred)
        return deferred

    def run(self, job: Callable[..., Iterable[Outcome]], *arguments: Any) -> Iterable[None]:
        """Carry out a job's outcomes; pauses after each so that others get their turn."""
        context = self._context()
        for outcome in job(self._view, context, *arguments):
            if self.state is not ShardState.ACTIVE:
                return
            self._carry_out(context, outcome)
            yield

    def _context(self, request: Request | None = None, request_id: int = 0) -> Context:
        environment = self._environment
        if request is None:
            return Context(environment.clock.steady_ms(), environment.config, environment.topics)
        is_join = request.api_key == JOIN_GROUP.key
        return Context(
            environment.clock.steady_ms(),
            environment.config,
            environment.topics,
            request_id,
            request.api_version,
            request.client_id or "",
            f"/{request.client_host}",
            environment.new_id() if is_join else "",
        )

    # -- outcomes --------------------------------------------------------------------------------

    def _carry_out(self, context: Context, outcome: Outcome) -> None:
        while True:
            records, replies, effects, events, unsettled = outcome
            if records and not self._append(context, records):
                return
            for effect in effects:
                follow(self._session, effect)
                if type(effect) is SetDeadline and self._timers.note(effect.key, effect.at_ms):
                    self._set_alarm()
            if events:
                self._environment.tell(events)
            if replies or records:
                # Records that nobody waits for are synced too, or their loss would go unnoticed.
                self._answer(replies)
            if unsettled is None:
                return
            outcome = settle(self._view, context, unsettled)

    def _append(self, context: Context, facts: tuple[Fact, ...]) -> bool:
        records = [Record(delta, context.now_ms, *encode(fact)) for delta, fact in enumerate(facts)]
        try:
            offset = self.partition.log.append(
                encode_batch(records, self._options), expected=self.partition.log.end_offset
            )
        except LogError as problem:
            self._fail(problem)
            return False
        for log_offset, fact in enumerate(facts, offset):
            apply(self._durable, fact, log_offset)
        return True

    def _answer(self, replies: tuple[Reply, ...]) -> None:
        end_offset = self.partition.log.end_offset
        if end_offset == self.partition.log.synced_offset:
            for reply in replies:
                self._deliver(reply)
        else:
            if any(reply.request_id == self._request_id for reply in replies):
                self._on_its_way = self._request_id
            self.partition.when_synced(end_offset, lambda problem: self._synced(replies, problem))

    def _synced(self, replies: tuple[Reply, ...], problem: Exception | None) -> None:
        if problem is not None:
            self._fail(problem)
            return
        for reply in replies:
            self._deliver(reply)

    def _deliver(self, reply: Reply) -> None:
        waiting = self._waiting.pop(reply.request_id, None)
        if waiting is not None:
            waiting.deferred.resolve(reply.response)
        elif reply.request_id == self._request_id and self.state is ShardState.ACTIVE:
            self._immediate[reply.request_id] = reply.response

    def _fail(self, problem: Exception) -> None:
        if self.state is ShardState.STOPPED:
            return
        log.error("%s: the log failed: %s", self, problem)
        self.stop(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._environment.on_failed(self, problem)

    # -- deadlines -------------------------------------------------------------------------------

    def _set_alarm(self) -> None:
        at_ms = self._timers.next_ms()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if at_ms is not None:
            delay_ms = max(0, at_ms - self._environment.clock.steady_ms())
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(delay_ms / 1000, self._expire_due)

    def _expire_due(self) -> None:
        self._alarm = None
        context = self._context()
        due = self._timers.due(context.now_ms)
        while self._environment.turns.take() and (key := next(due, None)) is not None:
            self._carry_out(context, expire(self._view, context, key))
            if self.state is not ShardState.ACTIVE:
                return
        self._set_alarm()

    def __str__(self) -> str:
        return str(self.partition.log.topic_partition)
