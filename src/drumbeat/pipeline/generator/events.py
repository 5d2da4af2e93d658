"""The rare records of a group: rebalances, deletions, a transaction that never ends."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from drumbeat.core.record_codec import encode
from drumbeat.core.records import OffsetCommitRecord
from drumbeat.pipeline.generator.behaviour import DELETED_AT, EMPTIED_AT, STOPS_AT, rewound_ms
from drumbeat.pipeline.generator.generations import (
    KeyValue,
    deletion_rows,
    empty_rows,
    rows_of,
)
from drumbeat.pipeline.generator.members import Crowd
from drumbeat.pipeline.generator.plan import Behaviour, GroupPlan, GroupType, LogPlan


class Happening(Enum):
    RETURN = "return"  # everybody is there
    RESTART = "restart"
    JOIN = "join"
    LEAVE = "leave"
    FAIL = "fail"  # a rebalance that did not complete: its generation has no record
    EMPTY = "empty"
    DELETE = "delete"
    RESET = "reset"  # somebody sets the offsets of an empty group


class Event(NamedTuple):
    at_ms: int  # since the log began
    rows: list[KeyValue]
    producer_id: int = -1


_H = Happening
_RESET_AT: Final = 0.99
_USUAL: Final = ((0.1, _H.RESTART), (0.35, _H.JOIN), (0.6, _H.LEAVE))
_STORM: Final = tuple((0.4 + 0.003 * turn, _H.RESTART) for turn in range(30))
_TIMES: Final[dict[Behaviour, tuple[tuple[float, Happening], ...]]] = {
    Behaviour.STEADY: _USUAL[:1],
    Behaviour.STALLING: _USUAL,
    Behaviour.REWINDING: (
        *_USUAL,
        (EMPTIED_AT, _H.EMPTY),
        (_RESET_AT, _H.RESET),
        (0.0, _H.RETURN),
    ),
    Behaviour.STORMING: (*_USUAL, *_STORM, (0.5, _H.FAIL), (0.51, _H.FAIL)),
    Behaviour.STOPPING: (*_USUAL, (STOPS_AT, _H.EMPTY), (0.0, _H.RETURN)),
    Behaviour.DELETED: (*_USUAL, (0.78, _H.EMPTY), (DELETED_AT, _H.DELETE), (0.0, _H.RETURN)),
}
_CHANGES: Final = {
    _H.RESTART: Crowd.restart,
    _H.JOIN: Crowd.join,
    _H.LEAVE: Crowd.leave,
}
_ONLY_CLASSIC: Final = frozenset({_H.EMPTY, _H.DELETE, _H.RESET})
_HANGS_AT: Final = 0.5  # of the log's time


class History:
    """The rare events of one group, window after window."""

    def __init__(self, plan: LogPlan, group: GroupPlan) -> None:
        self._plan, self._group = plan, group
        self._crowd = Crowd(group)
        self._epoch = 0

    def between(self, begin_ms: int, end_ms: int) -> Iterator[Event]:
        group = self._group
        if group.producer_id >= 0:
            yield from self._hanging(begin_ms, end_ms)
        if group.type is GroupType.SIMPLE:
            return
        if begin_ms == 0:
            yield self._rebalance(0)
        for at_ms, happening in self._schedule(begin_ms, end_ms):
            yield from self._event(at_ms, happening)

    def _schedule(self, begin_ms: int, end_ms: int) -> list[tuple[int, Happening]]:
        period_ms = self._group.period_ms
        periods = range(begin_ms // period_ms, end_ms // period_ms + 1)
        times = [
            (int((period + share) * period_ms), happening)
            for period in periods
            for share, happening in _TIMES[self._group.behaviour]
        ]
        due = [each for each in times if max(begin_ms, 1) <= each[0] < end_ms]
        return sorted(due, key=lambda each: each[0])

    def _event(self, at_ms: int, happening: Happening) -> Iterator[Event]:
        if happening in _ONLY_CLASSIC and self._group.type is not GroupType.CLASSIC:
            return
        if happening is Happening.FAIL:
            self._epoch += 1
        elif happening is Happening.DELETE:
            self._epoch = 0
            yield Event(at_ms, deletion_rows(self._group))
        elif happening is Happening.RESET:
            yield Event(at_ms, self._commits(at_ms, at_ms - rewound_ms(self._group)))
        elif happening is Happening.EMPTY:
            self._epoch += 1
            now_ms = self._plan.start_ms + at_ms
            yield Event(at_ms, empty_rows(self._group, self._epoch, now_ms))
        else:
            if happening in _CHANGES:
                _CHANGES[happening](self._crowd, self._epoch)
            yield self._rebalance(at_ms)

    def _rebalance(self, at_ms: int) -> Event:
        self._epoch += 1
        now_ms = self._plan.start_ms + at_ms
        return Event(at_ms, rows_of(self._group, self._crowd, self._epoch, now_ms))

    def _hanging(self, begin_ms: int, end_ms: int) -> Iterator[Event]:
        """One transaction of another producer that no marker ends."""
        at_ms = int(self._plan.duration_ms * _HANGS_AT)
        if not begin_ms <= at_ms < end_ms:
            return
        yield Event(at_ms, self._commits(at_ms, at_ms)[:1], self._group.producer_id + 1)

    def _commits(self, at_ms: int, consumed_ms: float) -> list[KeyValue]:
        """Commits of every partition as of `consumed_ms`."""
        group = self._group
        places = [
            (group.topics[topic], partition) for slot in group.slots for topic, partition in slot
        ]
        return [
            encode(
                OffsetCommitRecord(
                    group_id=group.group_id,
                    topic=topic.name,
                    partition=partition,
                    committed_offset=topic.end_offset(consumed_ms),
                    leader_epoch=0,
                    metadata="",
                    commit_timestamp_ms=self._plan.start_ms + at_ms,
                    topic_id=topic.topic_id,
                )
            )
            for topic, partition in places
        ]
