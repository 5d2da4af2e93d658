"""Rebalances of consumer, share and streams groups: each epoch is one.

It begins with the record that raises the epoch and ends when the last member has reached it, or
when the next epoch overtakes it. Members keep what they do not have to give up in the meantime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from drumbeat.pipeline.tables.builder import NONE
from drumbeat.pipeline.tables.causes import Evidence, inferred
from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.group_changes import (
    Generation,
    GroupChange,
    GroupType,
    Member,
    Owner,
    TopicPartition,
)
from drumbeat.pipeline.tables.group_history import GroupHistory
from drumbeat.pipeline.tables.membership import compare
from drumbeat.pipeline.tables.ownership import LastCommits
from drumbeat.pipeline.tables.rebalance_round import Method, Round, Times


class _Epoch(NamedTuple):
    """An epoch that not all members have reached."""

    change: GroupChange
    members: Mapping[str, Member]
    assigned_ts: int | None  # when its target assignment was there
    handed_over: frozenset[TopicPartition]


@dataclass(slots=True)
class _Group:
    before: Generation | None = None  # as the newest rebalance left it
    log_offset: int = NONE  # up to where that is known
    members: dict[str, Member] = field(default_factory=dict)
    owners: dict[TopicPartition, Owner] = field(default_factory=dict)
    commits: LastCommits = field(default_factory=dict)  # of partitions that were taken away
    epoch: _Epoch | None = None


class EpochRebalances:
    def __init__(self, coverage: Coverage, history: GroupHistory) -> None:
        self._coverage = coverage
        self._history = history
        self._groups: dict[str, _Group] = {}

    def on_change(self, change: GroupChange, commits: LastCommits) -> list[Round]:
        group = self._groups.setdefault(change.group_id, _Group())
        self._note(group, change, commits)
        rounds = []
        if _is_new_epoch(change):
            if group.epoch is not None:
                rounds.append(self._end(group, group.epoch, change, Method.SUPERSEDED))
            group.epoch = _Epoch(change, dict(group.members), None, frozenset())
            if not group.members:
                rounds += self._emptied(group, group.epoch, change)
        elif group.epoch is not None:
            group.epoch = _continued(group.epoch, change)
            if change.is_reconciled:
                rounds.append(self._end(group, group.epoch, change, Method.RECONCILED))
        if change.after is None and not group.members:
            del self._groups[change.group_id]
        return rounds

    def _note(self, group: _Group, change: GroupChange, commits: LastCommits) -> None:
        for member in (*change.joined, *change.updated):
            group.members[member.member_id] = member
        for member in change.left:
            group.members.pop(member.member_id, None)
        if change.group_type is GroupType.SHARE:  # whose partitions have no one owner
            return
        for topic, partition, before, after in change.ownership:
            name = self._history.topic_name(topic, change.log_offset)
            if before is not None and name is not None and (name, partition) in commits:
                group.commits[topic, partition] = commits[name, partition]
            if after is None:
                group.owners.pop((topic, partition), None)
            else:
                group.owners[topic, partition] = after

    def _emptied(self, group: _Group, epoch: _Epoch, change: GroupChange) -> list[Round]:
        """Nobody has to reach the epoch; where nobody was before either, it is no rebalance."""
        has_members = group.before is not None and bool(group.before.members)
        ended = self._end(group, epoch, change, Method.RECONCILED)
        return [ended] if has_members else []

    def _end(self, group: _Group, epoch: _Epoch, change: GroupChange, method: Method) -> Round:
        whole = _whole(group, epoch)
        membership = compare(whole)
        ended = Round(
            change=whole,
            membership=membership,
            finding=inferred(Evidence(whole, membership, group.commits, None)),
            times=_times(epoch, change, method),
            is_complete=self._coverage.is_complete(group.log_offset, change.log_offset),
            failed_attempts=None,
            end_offset=None if method is Method.SUPERSEDED else change.log_offset,
            withheld={},
            paused=epoch.handed_over,
            committed_ms=max(
                (group.commits[place] for place in epoch.handed_over if place in group.commits),
                default=None,
            ),
        )
        group.before, group.epoch = _baseline(whole, method), None
        group.log_offset = change.log_offset
        return ended


def _is_new_epoch(change: GroupChange) -> bool:
    if change.after is None:
        return False
    return change.before is None or change.before.generation_id != change.after.generation_id


def _continued(epoch: _Epoch, change: GroupChange) -> _Epoch:
    if change.is_assigned and epoch.assigned_ts is None:
        epoch = epoch._replace(assigned_ts=change.append_ts)
    moved = {(topic, partition) for topic, partition, _, _ in change.ownership}
    return epoch._replace(handed_over=epoch.handed_over | moved) if moved else epoch


def _whole(group: _Group, epoch: _Epoch) -> GroupChange:
    """From the group that the rebalance before left to the one that this epoch made of it."""
    assert epoch.change.after is not None
    old = {} if group.before is None else group.before.members
    new = epoch.members
    return epoch.change._replace(
        before=group.before,
        after=epoch.change.after._replace(members=new, owners=dict(group.owners)),
        joined=tuple(member for key, member in new.items() if key not in old),
        left=tuple(member for key, member in old.items() if key not in new),
        updated=tuple(member for key, member in new.items() if key in old),
    )


def _baseline(whole: GroupChange, method: Method) -> Generation | None:
    """What the next rebalance is compared with.

    One that was overtaken has left partitions with nobody: they are still on their way.
    """
    after = whole.after
    if method is Method.RECONCILED or whole.before is None or after is None:
        return after
    return after._replace(owners={**whole.before.owners, **after.owners})


def _times(epoch: _Epoch, change: GroupChange, method: Method) -> Times:
    has_target = epoch.assigned_ts is not None and method is Method.RECONCILED
    sync_ms = change.append_ts - (epoch.assigned_ts or 0) if has_target else None
    return Times(epoch.change.append_ts, change.append_ts, method, sync_ms)
