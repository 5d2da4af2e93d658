"""Evaluations of partitions of groups: lag points, both statuses, and runs of the same result."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drumbeat.pipeline.lag import burrow, status
from drumbeat.pipeline.lag.burrow import BurrowStatus
from drumbeat.pipeline.lag.measures import (
    Lags,
    LagSeconds,
    Places,
    Trends,
    lag_seconds,
    lags_of,
    retention_pcts,
    trends,
)
from drumbeat.pipeline.lag.samples import Floats, Method
from drumbeat.pipeline.lag.status import Status
from drumbeat.pipeline.lag.ticks import Scene, Ticks
from drumbeat.pipeline.lag.tracks import LAST, POINT, Field
from drumbeat.pipeline.tables.builder import NONE, Bools, Ints

_BASE: Final = len(Status)  # results are numbers of three digits


class Result(NamedTuple):
    burrow: Ints
    raw: Ints
    status: Ints

    @property
    def numbers(self) -> Ints:
        return (self.burrow * _BASE + self.raw) * _BASE + self.status

    @classmethod
    def of(cls, numbers: Ints) -> Result:
        return cls(numbers // _BASE**2, numbers // _BASE % _BASE, numbers % _BASE)


class Points(NamedTuple):
    """What `lag_points` says beyond the ticks; only where they have a lag."""

    lags: Lags
    seconds: LagSeconds
    trends: Trends
    retention_pcts: Floats


class Evaluated(NamedTuple):
    ticks: Ticks
    points: Points
    ended_slots: Ints
    ended: Ints  # fields from RUN on, of runs that were followed by another
    last_slots: Ints
    last: Ints  # all fields, as of the last tick of each slot


def evaluate(scene: Scene, ticks: Ticks) -> Evaluated:
    sequence = _Sequence(ticks.slots, scene.fields[ticks.slots])
    places = _places(ticks)
    before = Places(*sequence.before(np.stack(places, axis=1), POINT).T)
    fields = np.full((len(ticks), len(Field)), NONE)
    fields[:, Field.TICKED] = ticks.now_ms
    fields[:, POINT] = np.stack(places, axis=1)
    results = _results(scene, ticks, sequence)
    fields[:, Field.RAW], fields[:, Field.STATUS] = results.raw, results.status
    fields[:, LAST] = _runs(ticks, results, sequence)
    ended_slots, ended = sequence.ended(fields[:, LAST])
    return Evaluated(
        ticks=ticks,
        points=_points(scene, ticks, trends(before, places)),
        ended_slots=ended_slots,
        ended=ended,
        last_slots=ticks.slots[sequence.is_last],
        last=fields[sequence.is_last],
    )


class _Sequence:
    """Ticks of slots, one after the other, and what was known of each slot before the first."""

    def __init__(self, slots: Ints, known: Ints) -> None:
        self._slots, self._known = slots, known
        self._is_first = np.ones(len(slots), np.bool_)
        self._is_first[1:] = slots[1:] != slots[:-1]
        self._firsts = np.maximum.accumulate(np.where(self._is_first, np.arange(len(slots)), 0))
        self.is_last = np.append(self._is_first[1:], np.ones(min(len(slots), 1), np.bool_))

    def before(self, rows: Ints, columns: slice | int) -> Ints:
        """Of each tick, the row of the tick before, or what was known."""
        shifted = np.roll(rows, 1, axis=0)
        shifted[self._is_first] = self._known[self._is_first, columns]
        return shifted

    def held(self, values: Ints, are_news: Bools, column: int) -> Ints:
        """The newest value that is news, or what was known."""
        places = np.where(are_news, np.arange(len(values)), NONE)
        newest = np.maximum.accumulate(places)
        is_here = newest >= self._firsts
        return np.where(is_here, values[newest], self._known[:, column])

    def ended(self, runs: Ints) -> tuple[Ints, Ints]:
        """Slots and runs that were followed by one with another result."""
        before = self.before(runs, LAST)
        has_ended = (before[:, 0] != NONE) & (before[:, 0] != runs[:, 0])
        return self._slots[has_ended], before[has_ended]


def _places(ticks: Ticks) -> Places:
    return Places(
        times=np.where(ticks.has_lag, ticks.now_ms, NONE),
        committed=ticks.committed,
        ends=ticks.ends.offsets,
        lags=ticks.lags,
    )


def _points(scene: Scene, ticks: Ticks, change: Trends) -> Points:
    lags = lags_of(ticks.committed, ticks.ends)
    first_unconsumed = np.maximum(ticks.committed, ticks.ends.log_starts)
    series = scene.series[ticks.slots]
    seconds = lag_seconds(scene.samples, series, first_unconsumed, lags.records, ticks.now_ms)
    has_lag = ticks.has_lag
    return Points(
        lags=Lags(
            ticks.lags, lags.are_clamped & has_lag, np.where(has_lag, lags.error_bounds, NONE)
        ),
        seconds=LagSeconds(
            np.where(has_lag, seconds.seconds, np.nan),
            np.where(has_lag, seconds.methods, Method.NONE),
        ),
        trends=change,
        retention_pcts=np.where(has_lag, retention_pcts(lags, ticks.ends), np.nan),
    )


def _results(scene: Scene, ticks: Ticks, sequence: _Sequence) -> Result:
    options = scene.options
    by_burrow = burrow.evaluate(ticks.burrow_windows, options.burrow)
    raw = status.evaluate(ticks, options.rules)
    raw_before = sequence.before(raw, Field.RAW)
    is_settled = status.settles(raw, np.where(raw_before == NONE, Status.OK, raw_before))
    settled = sequence.held(raw, is_settled, Field.STATUS)
    return Result(
        burrow=np.where(ticks.has_committed, by_burrow, BurrowStatus.NOTFOUND),
        raw=raw,
        status=np.where(settled == NONE, Status.OK, settled),
    )


def _runs(ticks: Ticks, results: Result, sequence: _Sequence) -> Ints:
    """The fields from RUN on: the run before, prolonged, or a new one."""
    numbers = results.numbers
    is_new = numbers != sequence.before(numbers, Field.RUN)
    columns = {
        Field.RUN: numbers,
        Field.RUN_FROM: sequence.held(ticks.now_ms, is_new, Field.RUN_FROM),
        Field.RUN_TO: ticks.now_ms,
        Field.WINDOW_N: ticks.commits.counts,
        Field.COMMITTED: ticks.committed,
        Field.END: ticks.ends.offsets,
        Field.LAG: ticks.lags,
        Field.SILENCE: ticks.silence_ms,
        Field.STILL: ticks.still_ms,
    }
    return np.stack([columns[field] for field in sorted(columns)], axis=1)
