"""`rebalances`: one row per completed rebalance of a classic group."""

from __future__ import annotations

from typing import Any, NamedTuple

from drumbeat.pipeline.tables.builder import NONE
from drumbeat.pipeline.tables.causes import Evidence, Finding, inferred, told
from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.group_changes import Generation, GroupChange, GroupType, Member
from drumbeat.pipeline.tables.group_events import Begun, GroupEvents
from drumbeat.pipeline.tables.membership import Membership, compare
from drumbeat.pipeline.tables.moves import compare_owners
from drumbeat.pipeline.tables.ownership import LastCommits


class _Start(NamedTuple):
    at_ms: int | None
    method: str | None


class Rebalances:
    def __init__(self, coverage: Coverage, events: GroupEvents) -> None:
        self._coverage = coverage
        self._events = events
        self._ended_ms: dict[str, int] = {}  # when the group's newest rebalance ended

    def on_change(self, change: GroupChange, commits: LastCommits) -> list[dict[str, Any]]:
        if change.group_type is not GroupType.CLASSIC:
            return []
        if change.after is None:
            self._ended_ms.pop(change.group_id, None)
            return []
        if not _is_rebalance(change.before, change.after):
            return []
        row = self._row(change, change.after, commits)
        self._ended_ms[change.group_id] = change.append_ts
        return [row]

    def _row(self, change: GroupChange, after: Generation, commits: LastCommits) -> dict[str, Any]:
        membership = compare(change)
        is_complete = self._coverage.is_complete(change.prev_log_offset, change.log_offset)
        failed_attempts = _failed_attempts(change.before, after) if is_complete else None
        begun = self._events.began(
            change.group_id, self._ended_ms.get(change.group_id, 0), change.append_ts
        )
        if begun is None:
            finding = inferred(Evidence(change, membership, commits, failed_attempts))
        else:
            finding = told(begun)
        return {
            "log_offset": change.log_offset,
            "group_id": change.group_id,
            "from_generation": None if change.before is None else change.before.generation_id,
            "to_generation": after.generation_id,
            **_times(change, after, commits, begun),
            **_people(membership),
            **compare_owners(change.before, after)._asdict(),
            "failed_attempts": failed_attempts,
            **_why(finding),
            "complete": is_complete,
        }


def _is_rebalance(before: Generation | None, after: Generation) -> bool:
    """A static member that is replaced rewrites its generation; an unused group has no members."""
    if before is None:
        return bool(after.members)
    return before.generation_id != after.generation_id


def _failed_attempts(before: Generation | None, after: Generation) -> int | None:
    """The generation rises when a join phase ends, and is written when the leader has synced."""
    return None if before is None else max(0, after.generation_id - before.generation_id - 1)


def _times(
    change: GroupChange, after: Generation, commits: LastCommits, begun: Begun | None
) -> dict[str, Any]:
    has_sync = after.state_ts != NONE and bool(after.members)
    sync_ms = max(0, change.append_ts - after.state_ts) if has_sync else None
    start = _start(change, commits, sync_ms) if begun is None else _Start(begun.at_ms, "event")
    return {
        "start_ts": start.at_ms,
        "end_ts": change.append_ts,
        "duration_ms": None if start.at_ms is None else change.append_ts - start.at_ms,
        "duration_method": start.method,
        "sync_ms": sync_ms,
    }


def _start(change: GroupChange, commits: LastCommits, sync_ms: int | None) -> _Start:
    """Members commit before they join again, so it began after the last commit.

    And no join phase lasts longer than the longest rebalance timeout.
    """
    members = () if change.before is None else change.before.members.values()
    timeouts = [member.rebalance_timeout_ms or 0 for member in members]
    if timeouts and commits:
        earliest = change.append_ts - (sync_ms or 0) - max(timeouts)
        committed_at = max(commits.values())
        if committed_at >= earliest:
            return _Start(committed_at, "last_commit")
        return _Start(earliest, "rebalance_timeout")
    if sync_ms is not None:
        return _Start(change.append_ts - sync_ms, "sync_phase")
    return _Start(None, None)


def _people(membership: Membership) -> dict[str, Any]:
    returned = (*membership.replaced, *membership.restarted)
    return {
        "joined": _ids(membership.joined),
        "left": _ids(membership.left),
        "restarted": [pair.back.member_id for pair in returned],
        "stayed": membership.stayed,
    }


def _ids(members: tuple[Member, ...]) -> list[str]:
    return [member.member_id for member in members]


def _why(finding: Finding) -> dict[str, Any]:
    return {
        "cause": str(finding.cause),
        "cause_confidence": finding.confidence,
        "cause_source": str(finding.source),
        "client_reason": finding.client_reason,
    }
