"""The diagrams of rebalance.md: the state table as it is, and a rebalance that the core plays.

Nothing here knows how a group works. Requests go to `drumbeat.core`, and what comes back is drawn.
"""

from __future__ import annotations

from typing import Any

from drumbeat.core.classic.group_state import VALID_PREVIOUS_STATES, GroupState
from drumbeat.core.config import GroupConfig
from drumbeat.core.deadlines import expire
from drumbeat.core.decide import decide, settle
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.reducer import apply
from drumbeat.core.session import Session, follow, view_of
from drumbeat.core.state import State
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from drumbeat.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from drumbeat.protocol.errors import ErrorCode

GROUP = "billing"
SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS = 45_000, 300_000
_NAMES = {
    JoinGroupRequest: "JoinGroup",
    SyncGroupRequest: "SyncGroup",
    HeartbeatRequest: "Heartbeat",
}


def state_diagram() -> str:
    lines = ["stateDiagram-v2"]
    for state, previous in VALID_PREVIOUS_STATES.items():
        if state is GroupState.DEAD:  # deletion is possible everywhere; arrows would hide the rest
            assert previous == set(GroupState)
            continue
        lines += [f"    {before} --> {state}" for before in GroupState if before in previous]
    return "\n".join(lines)


def rebalance_diagram() -> str:
    """A second member joins a group of one; then it falls silent."""
    play = Play()
    play.note("Empty")
    play.enter("A")
    play.sync("A")
    play.enter("B")
    play.heartbeat("A")
    play.join("A")
    play.sync("B")
    play.sync("A")
    play.wait(SESSION_TIMEOUT_MS - 1)
    play.heartbeat("A")
    play.note(f"{SESSION_TIMEOUT_MS // 1000} s without a heartbeat of B")
    play.wait(1)
    play.heartbeat("A")
    play.join("A")
    play.sync("A")
    return "\n".join(["sequenceDiagram", *play.lines])


class Play:
    """The core with members on one side and paper on the other."""

    def __init__(self) -> None:
        self.lines = ["    participant A", "    participant C as coordinator", "    participant B"]
        self._state, self._session = State(), Session()
        self._view = view_of(self._state, self._session)
        self._config = GroupConfig(group_initial_rebalance_delay_ms=0)
        self._asked: dict[int, tuple[str, str]] = {}
        self._member_ids: dict[str, str] = {}
        self._generations: dict[str, int] = {}
        self._leader, self._now_ms, self._offset = "", 0, 0
        self._shown = GroupState.EMPTY

    def enter(self, name: str) -> None:
        """JoinGroup twice, as clients do: the first answer only hands out an id."""
        self.join(name)
        self.join(name)

    def join(self, name: str) -> None:
        self._ask(
            name,
            JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                member_id=self._member_ids.get(name, ""),
                protocol_type="consumer",
                protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
            ),
        )

    def sync(self, name: str) -> None:
        is_leader = self._member_ids[name] == self._leader
        plan = [SyncGroupRequestAssignment(i, b"") for i in self._session.groups[GROUP].members]
        self._ask(
            name,
            SyncGroupRequest(
                group_id=GROUP,
                generation_id=self._generations[name],
                member_id=self._member_ids[name],
                protocol_type="consumer",
                protocol_name="range",
                assignments=tuple(plan) if is_leader else (),
            ),
            " with everybody's assignment" if is_leader else "",
        )

    def heartbeat(self, name: str) -> None:
        self._ask(name, HeartbeatRequest(GROUP, self._generations[name], self._member_ids[name]))

    def wait(self, duration_ms: int) -> None:
        self._now_ms += duration_ms
        self._meet_deadlines()

    def note(self, text: str) -> None:
        self.lines.append(f"    Note over C: {text}")

    def _ask(self, name: str, request: Any, detail: str = "") -> None:
        request_id = len(self._asked) + 1
        self._asked[request_id] = (name, type(request).__name__)
        self.lines.append(f"    {name}->>C: {_NAMES[type(request)]}{detail}")
        context = self._context(
            request_id=request_id, api_version=5, client_id=name, new_id=f"id-of-{name}"
        )
        self._carry_out(decide(self._view, context, request))
        self._meet_deadlines()

    def _meet_deadlines(self) -> None:
        deadlines = self._session.deadlines
        while due := [key for key, at_ms in deadlines.items() if at_ms <= self._now_ms]:
            del deadlines[due[0]]
            self._carry_out(expire(self._view, self._context(), due[0]))

    def _context(self, **facts: Any) -> Context:
        return Context(self._now_ms, self._config, topics=None, **facts)  # type: ignore[arg-type]

    def _carry_out(self, outcome: Outcome) -> None:
        for record in outcome.records:
            apply(self._state, record, self._offset)
            self._offset += 1
            self.note(f"writes {type(record).__name__} to the log")
        for effect in outcome.effects:
            follow(self._session, effect)
        self._show_state()
        for reply in outcome.replies:
            self._answer(*self._asked[reply.request_id], reply.response)
        if outcome.settle is not None:
            self._carry_out(settle(self._view, self._context(), outcome.settle))

    def _show_state(self) -> None:
        group = self._session.groups.get(GROUP)
        if group is not None and group.state is not self._shown:
            self._shown = group.state
            self.note(str(group.state))

    def _answer(self, name: str, request: str, response: Any) -> None:
        code = ErrorCode(response.error_code)
        said = "" if code is ErrorCode.NONE else code.name
        if request == "JoinGroupRequest":
            self._member_ids[name] = response.member_id
            self._generations[name] = response.generation_id
            self._leader = response.leader or self._leader
            role = "leader" if response.leader == response.member_id else "follower"
            said = said or f"generation {response.generation_id}, {role}"
        elif request == "SyncGroupRequest":
            said = said or "its assignment"
        self.lines.append(f"    C-->>{name}: {said or 'ok'}")
