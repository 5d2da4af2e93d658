"""The core behind one door: requests in, answers out, on a clock that only moves when told.

Every request and answer crosses the wire format of its version, every record the log's. After
every step the durable state must equal a replay of the whole log from nothing, and what is parked
must be exactly what is unanswered.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

from drumbeat.core.config import GroupConfig
from drumbeat.core.deadlines import expire
from drumbeat.core.decide import decide, settle
from drumbeat.core.events import GroupEvent
from drumbeat.core.loading import on_loaded, on_unloaded
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.record_codec import decode, encode
from drumbeat.core.records import Record
from drumbeat.core.reducer import apply
from drumbeat.core.session import Session, follow, view_of
from drumbeat.core.state import State
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS
from drumbeat.protocol.schema import NULL_UUID
from support.invariants import check_session

BY_REQUEST = {api.request: api for api in APIS.values()}

# The settings of the broker that the golden answers come from.
GOLDEN_CONFIG = GroupConfig(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100)

START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Topics:
    """A TopicsView over a plain table: name -> number of partitions."""

    partitions: dict[str, int]

    def partition_count(self, topic: str) -> int | None:
        return self.partitions.get(topic)

    def topic_name(self, topic_id: bytes) -> str | None:
        return next((name for name in self.partitions if self.topic_id(name) == topic_id), None)

    def topic_id(self, topic: str) -> bytes:
        known = topic in self.partitions
        return topic.encode().rjust(16, b"\x01")[-16:] if known else NULL_UUID


DEFAULT_TOPICS = Topics({"t1": 4, "t2": 4})


@dataclass
class Call:
    """One request, and its answer once there is one."""

    api: Api
    version: int
    request_id: int
    answer: Any = None

    @property
    def is_parked(self) -> bool:
        return self.answer is None

    @property
    def response(self) -> Any:
        assert self.answer is not None, f"{self.api.name} is parked"
        return self.answer

    @property
    def error_code(self) -> int:
        return self.response.error_code


class Coordinator:
    """One partition's coordinator. `checks` can be switched off where groups are large."""

    def __init__(
        self,
        config: GroupConfig = GOLDEN_CONFIG,
        topics: Topics = DEFAULT_TOPICS,
        checks: bool = True,
        **settings: int,
    ) -> None:
        self.config = replace(config, **settings)
        self.topics = topics
        self.checks = checks
        self.now_ms = START_MS
        self.new_id = ""  # the UUID to draw, where a test cares
        self.log: list[tuple[bytes, bytes | None]] = []
        self.batches: list[tuple[Record, ...]] = []
        self.events: list[GroupEvent] = []
        self.calls: dict[int, Call] = {}
        self._request_ids = itertools.count(1)
        self.state, self.session = State(), Session()
        self.view = view_of(self.state, self.session)

    # -- what a client does -----------------------------------------------------------------------

    def send(
        self,
        request: Any,
        version: int | None = None,
        client_id: str = "cl",
        client_host: str = "/127.0.0.1",
    ) -> Call:
        api = BY_REQUEST[type(request)]
        version = api.versions[-1] if version is None else version
        call = Call(api, version, next(self._request_ids))
        self.calls[call.request_id] = call
        context = self.context(
            request_id=call.request_id,
            api_version=version,
            client_id=client_id,
            client_host=client_host,
            new_id=self.new_id or f"{call.request_id:08x}-0000-4000-8000-{call.request_id:012x}",
        )
        wire = api.encode_request(version)(request)
        self._carry_out(context, decide(self.view, context, api.decode_request(version)(wire, 0)))
        self.advance(0)
        return call

    # -- what time and operators do ---------------------------------------------------------------

    def advance(self, ms: int) -> None:
        """Let time pass. Deadlines on the way fire at their own time, the earliest first."""
        end_ms = self.now_ms + ms
        while True:
            due = [(at_ms, key) for key, at_ms in self.session.deadlines.items() if at_ms <= end_ms]
            if not due:
                break
            at_ms, key = min(due)
            self.now_ms = max(self.now_ms, at_ms)
            context = self.context()
            self._carry_out(context, expire(self.view, context, key))
        self.now_ms = end_ms

    def restart(self, **settings: int) -> None:
        """Everything but the log is gone; parked requests with it."""
        self.config = replace(self.config, **settings)
        self.calls = {i: call for i, call in self.calls.items() if not call.is_parked}
        self.state, self.session = replayed(self.log), Session()
        self.view = view_of(self.state, self.session)
        context = self.context()
        for outcome in on_loaded(self.view, context):
            self._carry_out(context, outcome)

    def unload(self) -> None:
        context = self.context()
        self._carry_out(context, on_unloaded(self.view, context))

    def carry_out(self, outcome: Outcome) -> None:
        """An outcome of a job, such as the sweep."""
        self._carry_out(self.context(), outcome)

    # -- the shell's part -------------------------------------------------------------------------

    def context(self, **facts: Any) -> Context:
        return Context(self.now_ms, self.config, self.topics, **facts)

    def _carry_out(self, context: Context, outcome: Outcome) -> None:
        while True:
            self._append(outcome.records)
            for effect in outcome.effects:
                follow(self.session, effect)
            self.events.extend(outcome.events)
            for reply in outcome.replies:
                self._answer(reply)
            if outcome.settle is None:
                break
            outcome = settle(self.view, context, outcome.settle)
        self._check()

    def _append(self, records: tuple[Record, ...]) -> None:
        if records:
            self.batches.append(records)
        for record in records:
            key, value = encode(record)
            apply(self.state, decode(key, value), len(self.log))
            self.log.append((key, value))

    def _answer(self, reply: Reply) -> None:
        call = self.calls.get(reply.request_id)
        assert call is not None, f"request {reply.request_id} is not waiting"
        assert call.is_parked, f"request {reply.request_id} is answered twice"
        wire = call.api.encode_response(call.version)(reply.response)
        call.answer = call.api.decode_response(call.version)(wire, 0)

    def _check(self) -> None:
        if not self.checks:
            return
        groups = self.session.groups.values()
        parked = [p.request_id for g in groups for p in (*g.joins.values(), *g.syncs.values())]
        waiting = [i for i, call in self.calls.items() if call.is_parked]
        assert sorted(parked) == sorted(waiting)
        check_session(self.state, self.session)
        assert self.state == replayed(self.log)


def replayed(log: list[tuple[bytes, bytes | None]]) -> State:
    state = State()
    for log_offset, (key, value) in enumerate(log):
        apply(state, decode(key, value), log_offset)
    return state
