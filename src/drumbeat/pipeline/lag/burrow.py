"""Burrow's evaluation of consumers, rule for rule, so that its alerts can be compared with ours.

Its known weaknesses are kept: it takes the end offset that was last polled, whenever that was,
and it looks at a fixed number of commits. `drumbeat.pipeline.lag.status` does better. Every rule
looks at many evaluations at a time and says for each whether it holds.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from drumbeat.pipeline.tables.builder import NONE, Bools, Ints

INTERVALS: Final = 10  # commits kept per partition, and polled end offsets


class BurrowStatus(IntEnum):
    """In Burrow's order: a group is as bad as its worst partition, though never worse than ERR."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6


class Commits(NamedTuple):
    """The newest commits at evaluations: a row for each, oldest first.

    Rows are as wide as a window; where there were fewer commits, the first columns are empty.
    """

    offsets: Ints
    times: Ints
    lags: Ints  # when they were made; NONE if no end offset was known then
    counts: Ints  # one per row: how many there are

    @property
    def are_there(self) -> Bools:
        width = self.offsets.shape[1]
        are_there: Bools = np.arange(width) >= width - self.counts[:, np.newaxis]
        return are_there

    @property
    def last_offsets(self) -> Ints:
        return self.offsets[:, -1]

    @property
    def last_times(self) -> Ints:
        return self.times[:, -1]


class Windows(NamedTuple):
    """What Burrow knows about partitions of groups."""

    commits: Commits
    polled_ends: Ints  # a row each, as wide as a window, empty columns first
    poll_counts: Ints
    current_lags: Ints
    now_ms: Ints


class Thresholds(NamedTuple):
    intervals: int = INTERVALS
    allowed_lag: int = 0
    minimum_complete: float = 0.0


DEFAULT: Final = Thresholds()


def evaluate(windows: Windows, thresholds: Thresholds = DEFAULT) -> Ints:
    """The status of each; OK without a judgement where there are too few commits for one."""
    counts = windows.commits.counts
    is_complete = np.minimum(1.0, counts / thresholds.intervals) >= thresholds.minimum_complete
    is_judged = is_complete & (counts > 0)
    return np.where(is_judged, status_of(windows, thresholds.allowed_lag), BurrowStatus.OK)


def group_status(statuses: Ints) -> BurrowStatus:
    """That of a group, given those of its partitions."""
    worst = int(statuses.max(initial=BurrowStatus.OK))
    return BurrowStatus(min(worst, BurrowStatus.ERR))


def status_of(windows: Windows, allowed_lag: int = 0) -> Ints:
    commits = windows.commits
    rules = (
        (windows.current_lags <= allowed_lag, BurrowStatus.OK),
        (has_stopped(windows) & ~was_recently_at_end(windows), BurrowStatus.STOP),
        (is_rewound(commits), BurrowStatus.REWIND),
        (~is_lag_always_above(commits, allowed_lag), BurrowStatus.OK),
        (is_stalled(commits), BurrowStatus.STALL),
        (is_lag_never_falling(commits), BurrowStatus.WARN),
    )
    holds, statuses = zip(*rules, strict=True)
    return np.select(holds, [np.int64(status) for status in statuses], np.int64(BurrowStatus.OK))


def is_lag_always_above(commits: Commits, allowed_lag: int) -> Bools:
    """Rule 1: a consumer that was at the end once in the window is well."""
    is_low = (commits.lags != NONE) & (commits.lags <= allowed_lag)
    is_above: Bools = ~(is_low & commits.are_there).any(axis=1)
    return is_above


def rewind_index(commits: Commits) -> Ints:
    """Rule 2: the first commit below the one before; -1 if there is none."""
    is_back = commits.offsets[:, 1:] < commits.offsets[:, :-1]
    is_back &= commits.are_there[:, :-1]
    first = commits.offsets.shape[1] - commits.counts
    return np.where(is_back.any(axis=1), is_back.argmax(axis=1) + 1 - first, -1)


def is_rewound(commits: Commits) -> Bools:
    """Whether the consumer went back and has not come to where it was since."""
    index = rewind_index(commits)
    width = commits.offsets.shape[1]
    column = index + width - commits.counts
    before = np.take_along_axis(commits.offsets, np.maximum(column - 1, 0)[:, np.newaxis], axis=1)
    is_later = np.arange(width) >= column[:, np.newaxis]
    stays_back: Bools = (~is_later | (commits.offsets < before)).all(axis=1)
    return stays_back & (index >= 0)


def has_stopped(windows: Windows) -> Bools:
    """Rule 3: silent for longer than all commits of the window took."""
    commits = windows.commits
    first = np.minimum(commits.times.shape[1] - commits.counts, commits.times.shape[1] - 1)
    first_ms = np.take_along_axis(commits.times, first[:, np.newaxis], axis=1)[:, 0]
    return windows.now_ms - commits.last_times > commits.last_times - first_ms


def was_recently_at_end(windows: Windows) -> Bools:
    width = windows.polled_ends.shape[1]
    was_polled = np.arange(width) >= width - windows.poll_counts[:, np.newaxis]
    is_reached = windows.polled_ends <= windows.commits.last_offsets[:, np.newaxis]
    was_at_end: Bools = (was_polled & is_reached).any(axis=1)
    return was_at_end


def is_stalled(commits: Commits) -> Bools:
    """Rule 4: commits, but always the same offset."""
    is_other = commits.offsets != commits.last_offsets[:, np.newaxis]
    is_same: Bools = ~(is_other & commits.are_there).any(axis=1)
    return is_same & (commits.counts > 0)


def is_lag_never_falling(commits: Commits) -> Bools:
    """Rule 5: moves, but not faster than the partition grows."""
    is_known = commits.are_there & (commits.lags != NONE)
    columns = np.where(is_known, np.arange(is_known.shape[1]), NONE)
    known_before = np.maximum.accumulate(columns, axis=1)[:, :-1]
    before = np.take_along_axis(commits.lags, np.maximum(known_before, 0), axis=1)
    is_less = (commits.lags[:, 1:] < before) & is_known[:, 1:] & (known_before != NONE)
    never_falls: Bools = ~is_less.any(axis=1)
    return never_falls
