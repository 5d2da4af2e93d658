"""`members`: one row per session, from the first generation of a member id to its last."""

from __future__ import annotations

from typing import Any, NamedTuple

from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.group_changes import GroupChange, GroupType, Member
from drumbeat.pipeline.tables.membership import SESSION_TIMEOUT_MS, compare, is_silent
from drumbeat.pipeline.tables.ownership import LastCommits


class _Session(NamedTuple):
    log_offset: int
    prev_log_offset: int
    group_type: GroupType
    member: Member
    first_generation: int
    last_generation: int
    joined_at: int
    is_counted: bool  # False until the epoch that a modern member brings about is written
    assigned: int = 0
    assigned_max: int = 0
    committed_ms: int | None = None  # of what a modern member had when all was taken from it


class Members:
    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._open: dict[str, dict[str, _Session]] = {}  # by group, then member id

    def on_change(self, change: GroupChange, commits: LastCommits) -> list[dict[str, Any]]:
        sessions = self._open.setdefault(change.group_id, {})
        for member in change.joined:
            sessions[member.member_id] = _opened(change, member)
        self._count_assigned(change, sessions)
        _note_commits(change, commits, sessions)
        rows = []
        if change.left:
            reasons = _end_reasons(change, commits, sessions)
            for member in change.left:
                session = sessions.pop(member.member_id)
                end = {"left_at": change.append_ts, "end_reason": reasons.get(member.member_id)}
                rows.append(self._row(change.group_id, session, change.log_offset) | end)
        for member in change.updated:
            session = sessions[member.member_id]
            sessions[member.member_id] = session._replace(member=member)
        _note_generation(change, sessions)
        if not sessions:
            del self._open[change.group_id]
        return rows

    def open_rows(self) -> list[dict[str, Any]]:
        through = self._coverage.last_offset
        return [
            self._row(group_id, session, through)
            for group_id, sessions in self._open.items()
            for session in sessions.values()
        ]

    def _count_assigned(self, change: GroupChange, sessions: dict[str, _Session]) -> None:
        counts: dict[str, int] = {}
        for handover in change.ownership:
            if handover.before is not None:
                counts[handover.before.member_id] = counts.get(handover.before.member_id, 0) - 1
            if handover.after is not None:
                counts[handover.after.member_id] = counts.get(handover.after.member_id, 0) + 1
        for member_id, count in counts.items():
            if member_id in sessions:
                session = sessions[member_id]
                assigned = session.assigned + count
                sessions[member_id] = session._replace(
                    assigned=assigned, assigned_max=max(session.assigned_max, assigned)
                )

    def _row(self, group_id: str, session: _Session, through: int) -> dict[str, Any]:
        member = session.member
        return {
            "log_offset": session.log_offset,
            "group_id": group_id,
            "group_type": str(session.group_type),
            "member_id": member.member_id,
            "group_instance_id": member.group_instance_id,
            "client_id": member.client_id,
            "client_host": member.client_host,
            "first_generation": session.first_generation,
            "last_generation": session.last_generation,
            "joined_at": session.joined_at,
            "left_at": None,
            "end_reason": None,
            "session_timeout_ms": member.session_timeout_ms,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
            "assignor": member.assignor,
            "subscription": list(member.topics),
            "assigned_max": session.assigned_max,
            "complete": self._coverage.is_complete(session.prev_log_offset, through),
        }


def _opened(change: GroupChange, member: Member) -> _Session:
    generation = 0 if change.after is None else change.after.generation_id
    return _Session(
        log_offset=change.log_offset,
        prev_log_offset=change.prev_log_offset,
        group_type=change.group_type,
        member=member,
        first_generation=generation,
        last_generation=generation,
        joined_at=change.append_ts,
        is_counted=change.group_type is GroupType.CLASSIC,
    )


def _note_generation(change: GroupChange, sessions: dict[str, _Session]) -> None:
    if change.after is None or change.after is change.before:
        return
    generation = change.after.generation_id
    for member_id, session in sessions.items():
        if session.group_type is not change.group_type:  # a group that is being converted
            continue
        first = session.first_generation if session.is_counted else generation
        sessions[member_id] = session._replace(
            first_generation=first, last_generation=generation, is_counted=True
        )


def _note_commits(change: GroupChange, commits: LastCommits, sessions: dict[str, _Session]) -> None:
    """A member of the newer groups gives up what it has one record before it goes."""
    if change.group_type is GroupType.CLASSIC or not commits:
        return
    losers = {owner.member_id for _, _, owner, after in change.ownership if owner and not after}
    for member_id in losers & sessions.keys():
        committed_ms = max(commits.values())
        sessions[member_id] = sessions[member_id]._replace(committed_ms=committed_ms)


def _end_reasons(
    change: GroupChange, commits: LastCommits, sessions: dict[str, _Session]
) -> dict[str, str]:
    """Why each member went, as far as the log tells. Of those that are not classic and static it
    does not: whether another takes their place shows later."""
    if change.group_type is not GroupType.CLASSIC:
        dynamic = (member for member in change.left if member.group_instance_id is None)
        return {
            member.member_id: _epoch_end_reason(change, sessions[member.member_id])
            for member in dynamic
        }
    if change.after is None:
        return dict.fromkeys((member.member_id for member in change.left), "group_deleted")
    membership = compare(change)
    reasons = {pair.gone.member_id: "static_replacement" for pair in membership.replaced}
    reasons |= {pair.gone.member_id: "restart" for pair in membership.restarted}
    for member in membership.left:
        silent = is_silent(member, change, commits)
        reasons[member.member_id] = "session_timeout" if silent else "leave"
    return reasons


def _epoch_end_reason(change: GroupChange, session: _Session) -> str:
    committed_ms = session.committed_ms
    is_silent_long = (
        committed_ms is not None and change.append_ts - committed_ms >= SESSION_TIMEOUT_MS
    )
    return "session_timeout" if is_silent_long else "leave"
