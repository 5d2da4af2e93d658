"""Where many partitions ended at many times, from samples of where they ended at some times.

Between two samples the end is interpolated, and the true one is between theirs: that is the error
bound. When the end goes back, the topic was created anew (or lost records), and nothing that was
sampled before says anything about the records after: a new life begins there.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drumbeat.pipeline.tables.builder import NONE, Bools, Ints

Floats = npt.NDArray[np.float64]

EXTRAPOLATED_MS_MAX: Final = 600_000
PACE_MS: Final = 60_000  # how long a pace is measured: later samples do not change it


class Method(IntEnum):
    """How something is known."""

    NONE = 0
    SAMPLED = 1
    INTERPOLATED = 2
    EXTRAPOLATED = 3
    HELD = 4  # no sample on one side: the nearest one is taken
    RECORD_TIMESTAMP = 5
    ZERO = 6

    @property
    def label(self) -> str:
        return self.name.lower()


METHOD_LABELS: Final = pa.array([method.label for method in Method])


class Ends(NamedTuple):
    """Where partitions ended, how that is known, and how many records it may be off."""

    offsets: Ints
    log_starts: Ints
    methods: Ints  # NONE: nobody ever asked
    error_bounds: Ints  # NONE: nobody knows

    @property
    def are_known(self) -> Bools:
        are_known: Bools = self.methods != Method.NONE
        return are_known


class Appended(NamedTuple):
    """When records were appended, and how that is known."""

    times: Floats
    methods: Ints  # NONE: nobody can tell


class SampleColumns(NamedTuple):
    """One entry per sample."""

    times: Ints
    log_starts: Ints
    lsos: Ints  # the high watermark where it was not asked
    high_watermarks: Ints
    max_timestamps: Ints  # NONE if unknown
    are_told: Ints  # 1: by timestamps of records, which are no evidence; 0: by who has asked


_BEHIND: Final = SampleColumns(*(np.zeros(1, np.int64) for _ in SampleColumns._fields))


class Samples:
    """The n-th series is that of one partition; the last one is empty."""

    def __init__(self, series: Ints, columns: SampleColumns, count: int) -> None:
        """`series` says for each sample which of the `count` it belongs to."""
        order = np.lexsort((columns.times, series))
        self.starts: Ints = np.searchsorted(series[order], np.arange(count + 2))
        # One more stands behind them all, so that each place, even that of no sample, has one.
        self.columns = SampleColumns(
            *(
                np.concatenate((column[order], more))
                for column, more in zip(columns, _BEHIND, strict=True)
            )
        )
        self.life_starts, self._life_ends = self._lives(series[order])

    def ends(self, series: Ints, at_ms: Ints, are_lso: Bools) -> Ends:
        """Where each of the partitions ended at its time, for one kind of readers or the other."""
        columns = self.columns
        first, last = self.starts[series], self.starts[series + 1]
        after = bisect_each(columns.times, (first, last), at_ms, "left")
        # Of two samples at one time the later one is the newer fact.
        exact = bisect_each(columns.times, (first, last), at_ms, "right") - 1
        is_exact = exact >= after
        is_between = ~is_exact & (first < after) & (after < last)
        low_at = np.where(is_exact, exact, np.maximum(after - 1, first))
        high_at = np.where(is_between, after, low_at)
        low, high = (
            np.where(are_lso, columns.lsos[at], columns.high_watermarks[at])
            for at in (low_at, high_at)
        )
        passed = _ratio(
            at_ms - columns.times[low_at], columns.times[high_at] - columns.times[low_at]
        )
        is_between &= high >= low
        offsets = np.where(is_between, low + np.rint((high - low) * passed).astype(np.int64), low)
        bounds = np.maximum(offsets - low, high - offsets)
        methods = np.where(is_exact, Method.SAMPLED, Method.HELD)
        methods[is_exact & (columns.are_told[low_at] != 0)] = Method.INTERPOLATED
        methods[is_between] = Method.INTERPOLATED
        methods[first == last] = Method.NONE
        bounds[(methods == Method.HELD) | (methods == Method.NONE)] = NONE
        return Ends(offsets, columns.log_starts[low_at], methods, bounds)

    def appended(self, series: Ints, offsets: Ints, at_ms: Ints) -> Appended:
        """When the records at `offsets` were appended, as seen from the lives at those times."""
        times, ends = self.columns.times, self.columns.high_watermarks
        bounds = self.starts[series], self.starts[series + 1]
        known = np.maximum(bisect_each(times, bounds, at_ms, "right") - 1, bounds[0])
        first, last = self.life_starts[known], self._life_ends[known]
        found = bisect_each(ends, (first, last), offsets, "right")  # the first that has the record
        is_found = (found < last) & (bounds[0] < bounds[1])
        found = np.where(is_found, found, first)
        is_told = (ends[found] == offsets + 1) & (self.columns.max_timestamps[found] != NONE)
        before = np.maximum(found - 1, first)
        share = _ratio(offsets + 1 - ends[before], ends[found] - ends[before])
        reached = times[before] + share * (times[found] - times[before])
        guessed, has_pace = self._extrapolated(first, last, offsets + 1)
        is_inside = is_found & (found > first)
        methods = np.where(is_inside, Method.INTERPOLATED, Method.EXTRAPOLATED)
        methods[is_told] = Method.RECORD_TIMESTAMP
        methods[~is_found | ~(is_told | is_inside | has_pace)] = Method.NONE
        told = self.columns.max_timestamps[found]
        return Appended(np.where(is_told, told, np.where(is_inside, reached, guessed)), methods)

    def seen_by(self, series: Ints, at_ms: Ints) -> Ints:
        """The place behind the last sample that a poller had made by then."""
        bounds = self.starts[series], self.starts[series + 1]
        return bisect_each(self.columns.times, bounds, at_ms, "right")

    def between(self, series: Ints, from_ms: Ints, until_ms: int) -> tuple[Ints, Ints]:
        """The places of the samples from each time on, and up to the one time."""
        bounds = self.starts[series], self.starts[series + 1]
        until = np.full(len(series), until_ms)
        return (
            bisect_each(self.columns.times, bounds, from_ms, "left"),
            bisect_each(self.columns.times, bounds, until, "left"),
        )

    def _extrapolated(self, first: Ints, last: Ints, ends_wanted: Ints) -> tuple[Floats, Bools]:
        """Back from the first sample, at the pace from there to another one, but not far."""
        times, ends = self.columns.times, self.columns.high_watermarks
        within = (first, np.maximum(last - 1, first))
        paced = bisect_each(times, within, times[first] + PACE_MS, "left")
        grown = ends[paced] - ends[first]
        pace = _ratio(grown, times[paced] - times[first])
        back_ms = (ends[first] - ends_wanted) / np.where(pace == 0, 1, pace)
        guessed = times[first].astype(np.float64) - np.minimum(back_ms, EXTRAPOLATED_MS_MAX)
        has_pace: Bools = grown != 0
        return guessed, has_pace

    def _lives(self, series: Ints) -> tuple[Ints, Ints]:
        """For each sample, where its life begins and ends."""
        ends = self.columns.high_watermarks
        is_first = np.ones(len(ends), np.bool_)
        is_first[1:-1] = (ends[1:-1] < ends[:-2]) | (series[1:] != series[:-1])
        firsts = np.flatnonzero(is_first)
        numbers = np.cumsum(is_first) - 1
        return firsts[numbers], np.append(firsts[1:], len(ends) - 1)[numbers]


def bisect_each(
    values: Ints, bounds: tuple[Ints, Ints], wanted: Ints, side: Literal["left", "right"]
) -> Ints:
    """Like bisect, each of the `wanted` in its own stretch of the values."""
    low, high = bounds
    while (low < high).any():
        middle = (low + high) >> 1
        found = values.take(middle, mode="clip")  # stretches may end where the values do
        is_above = (found < wanted) if side == "left" else (found <= wanted)
        is_open = low < high
        low = np.where(is_open & is_above, middle + 1, low)
        high = np.where(is_open & ~is_above, middle, high)
    return low


def _ratio(part: Ints, whole: Ints) -> Floats:
    ratio: Floats = part / np.where(whole == 0, 1, whole)
    return ratio
