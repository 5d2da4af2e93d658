"""Rebalances of classic groups: each ends with the record of a new generation.

When it began is not in the log, unless the cluster tells it in `__group_events`.
"""

from __future__ import annotations

from drumbeat.pipeline.tables.builder import NONE
from drumbeat.pipeline.tables.causes import Evidence, inferred, told
from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.group_changes import Generation, GroupChange, Owner, TopicPartition
from drumbeat.pipeline.tables.group_events import Begun, GroupEvents
from drumbeat.pipeline.tables.membership import compare
from drumbeat.pipeline.tables.ownership import LastCommits
from drumbeat.pipeline.tables.rebalance_round import Method, Round, Times


class ClassicRebalances:
    def __init__(self, coverage: Coverage, events: GroupEvents) -> None:
        self._coverage = coverage
        self._events = events
        self._ended_ms: dict[str, int] = {}  # when the group's newest rebalance ended
        # What the newest rebalance took away and gave to nobody: a cooperative one has two rounds.
        self._withheld: dict[str, dict[TopicPartition, Owner]] = {}

    def on_change(self, change: GroupChange, commits: LastCommits) -> list[Round]:
        group_id, after = change.group_id, change.after
        if after is None:
            self._ended_ms.pop(group_id, None)
            self._withheld.pop(group_id, None)
            return []
        if not change.ends_rebalance:
            return []
        withheld = self._withheld.pop(group_id, {})
        ended = self._round(change, after, commits, withheld)
        self._ended_ms[group_id] = change.append_ts
        if after.members and (left_over := _left_over(change.before, after, withheld)):
            self._withheld[group_id] = left_over
        return [ended]

    def _round(
        self,
        change: GroupChange,
        after: Generation,
        commits: LastCommits,
        withheld: dict[TopicPartition, Owner],
    ) -> Round:
        membership = compare(change)
        is_complete = self._coverage.is_complete(change.prev_log_offset, change.log_offset)
        failed_attempts = _failed_attempts(change.before, after) if is_complete else None
        begun = self._begun(change, after)
        evidence = Evidence(change, membership, commits, failed_attempts, frozenset(withheld))
        return Round(
            change=change,
            membership=membership,
            finding=inferred(evidence) if begun is None else told(begun, evidence),
            times=_times(change, after, commits, begun),
            is_complete=is_complete,
            failed_attempts=failed_attempts,
            end_offset=change.log_offset,
            withheld=withheld,
            paused=None,
            committed_ms=_committed_ms(change.before, commits),
        )

    def _begun(self, change: GroupChange, after: Generation) -> Begun | None:
        first = NONE if change.before is None else change.before.generation_id
        return self._events.began(
            change.group_id,
            self._ended_ms.get(change.group_id, 0),
            change.append_ts,
            range(first, after.generation_id),
        )


def _committed_ms(before: Generation | None, commits: LastCommits) -> int | None:
    has_members = before is not None and bool(before.members)
    return max(commits.values(), default=None) if has_members else None


def _left_over(
    before: Generation | None, after: Generation, withheld: dict[TopicPartition, Owner]
) -> dict[TopicPartition, Owner]:
    owned = {} if before is None else before.owners
    return {
        partition: owner
        for partition, owner in {**withheld, **owned}.items()
        if partition not in after.owners
    }


def _failed_attempts(before: Generation | None, after: Generation) -> int | None:
    """The generation rises when a join phase ends, and is written when the leader has synced."""
    return None if before is None else max(0, after.generation_id - before.generation_id - 1)


def _times(
    change: GroupChange, after: Generation, commits: LastCommits, begun: Begun | None
) -> Times:
    has_sync = after.state_ts != NONE and bool(after.members)
    sync_ms = max(0, change.append_ts - after.state_ts) if has_sync else None
    if begun is not None:
        return Times(begun.at_ms, change.append_ts, Method.EVENT, sync_ms)
    start_ts, method = _start(change, commits, sync_ms)
    return Times(start_ts, change.append_ts, method, sync_ms)


def _start(
    change: GroupChange, commits: LastCommits, sync_ms: int | None
) -> tuple[int | None, Method | None]:
    """Members commit before they join again, so it began after the last commit.

    And no join phase lasts longer than the longest rebalance timeout.
    """
    members = () if change.before is None else change.before.members.values()
    timeouts = [member.rebalance_timeout_ms or 0 for member in members]
    if timeouts and commits:
        earliest = change.append_ts - (sync_ms or 0) - max(timeouts)
        committed_at = max(commits.values())
        if committed_at >= earliest:
            return committed_at, Method.LAST_COMMIT
        return earliest, Method.REBALANCE_TIMEOUT
    if sync_ms is not None:
        return change.append_ts - sync_ms, Method.SYNC_PHASE
    return None, None
