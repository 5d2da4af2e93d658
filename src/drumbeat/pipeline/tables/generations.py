"""`group_generations`: one row per generation of a classic group, or epoch of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from drumbeat.pipeline.tables.builder import NONE
from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.group_changes import (
    Generation,
    GroupChange,
    GroupType,
    Topic,
    TopicPartition,
)
from drumbeat.pipeline.tables.group_history import GroupHistory, TopicLearned
from drumbeat.pipeline.tables.unnamed_rows import UnnamedRow, UnnamedRows


class _Open(NamedTuple):
    """A generation that lasts."""

    log_offset: int
    group_type: GroupType
    generation: Generation
    prev_generation: int | None
    append_ts: int
    is_complete: bool
    reconciled_ts: int | None = None
    assigned: frozenset[TopicPartition] | None = None  # when it was reconciled


class Generations:
    def __init__(self, coverage: Coverage, history: GroupHistory) -> None:
        self._coverage = coverage
        self._history = history
        self._open: dict[str, _Open] = {}
        self._assigned: dict[str, Counter[TopicPartition]] = {}  # by how many members
        self._unnamed = UnnamedRows(history)

    def on_change(self, change: GroupChange) -> list[dict[str, Any]]:
        rows: list[UnnamedRow] = []
        known = self._open.get(change.group_id)
        if known is not None and _is_another(known, change):
            row = self._row(change.group_id, known, change.append_ts)
            rows += self._unnamed.add(row, change.log_offset)
        self._note_assigned(change)
        if change.after is None:
            self._open.pop(change.group_id, None)
            self._assigned.pop(change.group_id, None)
        elif known is None or _is_another(known, change):
            self._open[change.group_id] = self._opened(change, known)
        else:
            self._open[change.group_id] = self._continued(known, change)
        return self._named(rows, change.log_offset)

    def on_topic(self, learned: TopicLearned) -> list[dict[str, Any]]:
        return self._named(self._unnamed.learn(learned), learned.log_offset)

    def open_rows(self) -> list[dict[str, Any]]:
        lasting = (self._row(group_id, known, None) for group_id, known in self._open.items())
        return self._named((*self._unnamed, *lasting), self._coverage.last_offset)

    def _opened(self, change: GroupChange, known: _Open | None) -> _Open:
        assert change.after is not None
        return _Open(
            log_offset=change.log_offset,
            group_type=change.group_type,
            generation=change.after,
            prev_generation=None if known is None else known.generation.generation_id,
            append_ts=change.append_ts,
            is_complete=self._coverage.is_complete(change.prev_log_offset, change.log_offset),
        )

    def _continued(self, known: _Open, change: GroupChange) -> _Open:
        assert change.after is not None
        if not change.is_reconciled or known.reconciled_ts is not None:
            # A static member that is replaced has its generation written again, later.
            state_ts = known.generation.state_ts
            return known._replace(generation=change.after._replace(state_ts=state_ts))
        assigned = frozenset(self._assigned[change.group_id])
        return known._replace(reconciled_ts=change.append_ts, assigned=assigned)

    def _note_assigned(self, change: GroupChange) -> None:
        assigned = self._assigned.setdefault(change.group_id, Counter())
        for topic, partition, before, after in change.ownership:
            assigned[topic, partition] += (after is not None) - (before is not None)
            if not assigned[topic, partition]:
                del assigned[topic, partition]

    def _named(self, rows: Iterable[UnnamedRow], log_offset: int) -> list[dict[str, Any]]:
        return [{**row, "topics": self._names(topics, log_offset)} for row, topics in rows]

    def _names(self, topics: Iterable[Topic], log_offset: int) -> list[str]:
        names = {self._history.topic_name(topic, log_offset) for topic in topics}
        return sorted(name for name in names if name is not None)

    def _row(self, group_id: str, known: _Open, ended_ts: int | None) -> UnnamedRow:
        generation = known.generation
        # Members that leave give up their partitions just before the epoch that ends this one.
        assigned = known.assigned
        if assigned is None:
            assigned = frozenset(self._assigned.get(group_id, {}))
        row = {
            "log_offset": known.log_offset,
            "group_id": group_id,
            "group_type": str(known.group_type),
            "generation": generation.generation_id,
            "prev_generation": known.prev_generation,
            "skipped": _skipped(known),
            "protocol_type": generation.protocol_type,
            "protocol": generation.protocol,
            "leader": generation.leader,
            "n_members": generation.n_members,
            "n_static": generation.n_static,
            "partitions": len(assigned),
            "state_ts": None if generation.state_ts == NONE else generation.state_ts,
            "append_ts": known.append_ts,
            "ended_ts": ended_ts,
            "sync_ms": _sync_ms(known),
            "state_after": _state(known),
            "complete": known.is_complete,
        }
        return UnnamedRow(row, frozenset(topic for topic, _ in assigned))


def _is_another(known: _Open, change: GroupChange) -> bool:
    return change.after is None or change.after.generation_id != known.generation.generation_id


def _skipped(known: _Open) -> int | None:
    """Generations without an assignment. An epoch may rise by more than one for good reasons."""
    if known.group_type is not GroupType.CLASSIC or not known.is_complete:
        return None
    previous = known.prev_generation
    return None if previous is None else max(0, known.generation.generation_id - previous - 1)


def _sync_ms(known: _Open) -> int | None:
    """Classic: from the end of the join phase, which the record tells, to the record."""
    if known.group_type is not GroupType.CLASSIC:
        return None if known.reconciled_ts is None else known.reconciled_ts - known.append_ts
    state_ts = known.generation.state_ts
    if state_ts == NONE or not known.generation.n_members:
        return None
    return max(0, known.append_ts - state_ts)


def _state(known: _Open) -> str:
    if not known.generation.n_members:
        return "Empty"
    is_stable = known.group_type is GroupType.CLASSIC or known.reconciled_ts is not None
    return "Stable" if is_stable else "Reconciling"
