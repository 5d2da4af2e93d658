"""`rebalances`: one row per rebalance of a group of any type.

What a rebalance cost shows only later, in commits: a row is done when the group's next rebalance
has ended, and open until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from drumbeat.pipeline.tables.classic_rebalances import ClassicRebalances
from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.epoch_rebalances import EpochRebalances
from drumbeat.pipeline.tables.group_changes import GroupChange, GroupType, TopicPartition
from drumbeat.pipeline.tables.group_events import GroupEvents
from drumbeat.pipeline.tables.group_history import GroupHistory
from drumbeat.pipeline.tables.moves import Moves, compare_owners
from drumbeat.pipeline.tables.ownership import LastCommits
from drumbeat.pipeline.tables.rebalance_cost import Cost, Resumption
from drumbeat.pipeline.tables.rebalance_round import Round, cause_columns, people_columns

Resumptions: TypeAlias = Mapping[int, Sequence[Resumption]]
"""By the log offset of the record that ended a rebalance."""


class _Open(NamedTuple):
    """A row whose cost may still grow."""

    row: dict[str, Any]
    end_offset: int | None
    paused: frozenset[TopicPartition] | None
    cost: Cost

    def columns(self) -> dict[str, Any]:
        return {**self.row, **self.cost.columns()}


class Rebalances:
    def __init__(self, coverage: Coverage, events: GroupEvents, history: GroupHistory) -> None:
        self._history = history
        self._classic = ClassicRebalances(coverage, events)
        self._epochs = EpochRebalances(coverage, history)
        self._open: dict[str, _Open] = {}  # by group
        self._groups: dict[int, str] = {}  # by the offset where their open rows ended

    def resumed(self, resumptions: Resumptions) -> None:
        """Commits that followed on rebalances of earlier batches."""
        for end_offset, commits in resumptions.items():
            if (group_id := self._groups.get(end_offset)) is not None:
                self._open[group_id] = self._with_cost(self._open[group_id], commits)

    def on_change(
        self, change: GroupChange, commits: LastCommits, resumptions: Resumptions
    ) -> list[dict[str, Any]]:
        """Rows that are done. `resumptions` are all of this batch."""
        is_classic = change.group_type is GroupType.CLASSIC
        rounds = (self._classic if is_classic else self._epochs).on_change(change, commits)
        rows: list[dict[str, Any]] = []
        for ended in rounds:
            rows += self._close(change.group_id)
            opened = _Open(_row(ended), ended.end_offset, ended.paused, Cost(ended.committed_ms))
            if ended.end_offset is not None:
                self._groups[ended.end_offset] = change.group_id
                opened = self._with_cost(opened, resumptions.get(ended.end_offset, ()))
            self._open[change.group_id] = opened
        if change.after is None:
            rows += self._close(change.group_id)
        return rows

    def open_rows(self) -> list[dict[str, Any]]:
        return [known.columns() for known in self._open.values()]

    def _close(self, group_id: str) -> Iterable[dict[str, Any]]:
        known = self._open.pop(group_id, None)
        if known is None:
            return []
        if known.end_offset is not None:
            del self._groups[known.end_offset]
        return [known.columns()]

    def _with_cost(self, known: _Open, commits: Sequence[Resumption]) -> _Open:
        if known.paused is None:
            return known._replace(cost=known.cost.plus(commits))
        topics = {topic for topic, _ in known.paused}
        affected = (
            commit
            for commit in commits
            if any(
                (topic, commit.partition) in known.paused
                and self._history.topic_name(topic, commit.place) == commit.topic
                for topic in topics
            )
        )
        return known._replace(cost=known.cost.plus(affected))


def _row(ended: Round) -> dict[str, Any]:
    change = ended.change
    assert change.after is not None
    return {
        "log_offset": change.log_offset,
        "group_id": change.group_id,
        "group_type": str(change.group_type),
        "from_generation": None if change.before is None else change.before.generation_id,
        "to_generation": change.after.generation_id,
        **ended.times.columns(),
        **people_columns(ended.membership),
        **_moves(ended)._asdict(),
        "failed_attempts": ended.failed_attempts,
        **cause_columns(ended.finding),
        "complete": ended.is_complete,
    }


def _moves(ended: Round) -> Moves:
    before, after = ended.change.before, ended.change.after
    assert after is not None
    if before is not None and ended.withheld:
        before = before._replace(owners={**ended.withheld, **before.owners})
    return compare_owners(before, after)
