"""`assignments`: who had which partition from when to when, one row per stretch of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.group_changes import (
    GroupChange,
    GroupType,
    Owner,
    OwnershipChange,
    TopicPartition,
)
from drumbeat.pipeline.tables.group_history import GroupHistory, TopicLearned
from drumbeat.pipeline.tables.unnamed_rows import UnnamedRow, UnnamedRows


class _Open(NamedTuple):
    """An ownership that lasts."""

    log_offset: int
    prev_log_offset: int
    group_type: GroupType
    owner: Owner
    generation: int
    valid_from: int


# Group, partition, and in share groups, where several members have a partition, which of them.
_Key: TypeAlias = tuple[str, TopicPartition, str | None]


class Assignments:
    def __init__(self, coverage: Coverage, history: GroupHistory) -> None:
        self._coverage = coverage
        self._history = history
        self._open: dict[_Key, _Open] = {}
        self._unnamed = UnnamedRows(history)

    def on_change(self, change: GroupChange) -> list[dict[str, Any]]:
        rows: list[UnnamedRow] = []
        for handover in change.ownership:
            if handover.before != handover.after:
                rows += self._hand_over(change, handover)
        return self._named(rows, change.log_offset)

    def on_topic(self, learned: TopicLearned) -> list[dict[str, Any]]:
        return self._named(self._unnamed.learn(learned), learned.log_offset)

    def open_rows(self) -> list[dict[str, Any]]:
        through = self._coverage.last_offset
        lasting = (self._row(key, known, through, None) for key, known in self._open.items())
        return self._named((*self._unnamed, *lasting), through)

    def _hand_over(self, change: GroupChange, handover: OwnershipChange) -> Iterator[UnnamedRow]:
        key = _key(change, handover)
        known = self._open.pop(key, None)
        if handover.after is not None:
            self._open[key] = _Open(
                log_offset=change.log_offset,
                prev_log_offset=change.prev_log_offset,
                group_type=change.group_type,
                owner=handover.after,
                generation=0 if change.after is None else change.after.generation_id,
                valid_from=change.append_ts,
            )
        if known is not None:
            row = self._row(key, known, change.log_offset, change.append_ts)
            yield from self._unnamed.add(row, change.log_offset)

    def _named(self, rows: Iterable[UnnamedRow], log_offset: int) -> list[dict[str, Any]]:
        name = self._history.topic_name
        return [{**row, "topic": name(topic, log_offset)} for row, (topic,) in rows]

    def _row(self, key: _Key, known: _Open, through: int, valid_to: int | None) -> UnnamedRow:
        group_id, (topic, partition), _ = key
        row = {
            "log_offset": known.log_offset,
            "group_id": group_id,
            "group_type": str(known.group_type),
            "topic_id": topic if isinstance(topic, bytes) else None,
            "partition": partition,
            "member_id": known.owner.member_id,
            "client_id": known.owner.client_id,
            "generation": known.generation,
            "state": str(known.owner.state),
            "valid_from": known.valid_from,
            "valid_to": valid_to,
            "complete": self._coverage.is_complete(known.prev_log_offset, through),
        }
        return UnnamedRow(row, frozenset({topic}))


def _key(change: GroupChange, handover: OwnershipChange) -> _Key:
    owner = handover.before if handover.after is None else handover.after
    is_shared = change.group_type is GroupType.SHARE and owner is not None
    sharer = owner.member_id if is_shared and owner is not None else None
    return change.group_id, (handover.topic, handover.partition), sharer
