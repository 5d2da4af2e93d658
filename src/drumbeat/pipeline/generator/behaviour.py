"""How far a group has come at a given time, and when it commits at all.

Everything is a function of time, so a log can be written window by window without remembering
anything. A group's life repeats every `period_ms`; `phase` below is how far it is in that, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from drumbeat.pipeline.generator.plan import Behaviour, GroupPlan

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

STALLS_AT: Final = 0.7
STOPS_AT: Final = 0.75
DELETED_AT: Final = 0.8
EMPTIED_AT: Final = 0.98  # for a reset
_CAUGHT_UP_AT: Final = 0.2
_REPLAYED_AT: Final = 0.5
_REWIND_SHARE: Final = 0.3  # of a period, how far a reset goes back
_JITTER_SHARE: Final = 0.2
_JITTER_STEPS: Final = 1_009  # a prime, so that neighbouring commits get unlike delays
_BEHIND_MS: Final = 200  # a consumer commits what it polled a moment ago


class Commits(NamedTuple):
    """The commits of one member in a window of time."""

    times: Ints  # ms since the log began
    indexes: Ints  # the how-manieth commit of this member each one is

    def where(self, chosen: Flags) -> Commits:
        return Commits(self.times[chosen], self.indexes[chosen])


def commits_between(group: GroupPlan, slot: int, begin_ms: int, end_ms: int) -> Commits:
    """When the member in `slot` commits, from `begin_ms` up to but not including `end_ms`."""
    phase_ms = (group.phase_ms + slot * group.cadence_ms // len(group.slots)) % group.cadence_ms
    first = max(0, (begin_ms - phase_ms) // group.cadence_ms - 1)
    last = (end_ms - phase_ms) // group.cadence_ms + 1
    indexes = np.arange(first, max(first, last), dtype=np.int64)
    jitter = (indexes * 7_919 % _JITTER_STEPS) * (group.cadence_ms * _JITTER_SHARE / _JITTER_STEPS)
    times = phase_ms + indexes * group.cadence_ms + jitter.astype(np.int64)
    commits = Commits(times, indexes)
    commits = commits.where((times >= begin_ms) & (times < end_ms))
    silent_from = _SILENT_FROM.get(group.behaviour)
    if silent_from is None:
        return commits
    return commits.where(phase_of(group, commits.times) < silent_from)


def phase_of(group: GroupPlan, times: Ints) -> Floats:
    return (times % group.period_ms) / group.period_ms


def behind_ms(group: GroupPlan, times: Ints) -> Floats:
    """How much older than now the newest record is that the group has consumed."""
    phase = phase_of(group, times)
    return _BEHIND_MS + group.period_ms * _BEHIND_SHARES[group.behaviour](phase)


def _steady(phase: Floats) -> Floats:
    return np.zeros_like(phase)


def _stalling(phase: Floats) -> Floats:
    stalled = np.maximum(phase - STALLS_AT, 0.0)
    return stalled + (1 - STALLS_AT) * _catching_up(phase, _CAUGHT_UP_AT)


def _absent(since: float) -> Callable[[Floats], Floats]:
    def behind(phase: Floats) -> Floats:
        return (1 - since) * _catching_up(phase, _CAUGHT_UP_AT)

    return behind


def _rewinding(phase: Floats) -> Floats:
    return _REWIND_SHARE * _catching_up(phase, _REPLAYED_AT)


def rewound_ms(group: GroupPlan) -> float:
    """How far back a reset sets a group."""
    return group.period_ms * _REWIND_SHARE


def _catching_up(phase: Floats, until: float) -> Floats:
    return np.maximum(1 - phase / until, 0.0)


_BEHIND_SHARES: Final[dict[Behaviour, Callable[[Floats], Floats]]] = {
    Behaviour.STEADY: _steady,
    Behaviour.STALLING: _stalling,
    Behaviour.STOPPING: _absent(STOPS_AT),
    Behaviour.REWINDING: _rewinding,
    Behaviour.STORMING: _steady,
    Behaviour.DELETED: _absent(DELETED_AT),
}
_SILENT_FROM: Final = {
    Behaviour.STOPPING: STOPS_AT,
    Behaviour.DELETED: DELETED_AT,
    Behaviour.REWINDING: EMPTIED_AT,
}
