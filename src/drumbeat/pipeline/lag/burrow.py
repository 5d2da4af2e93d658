"""Burrow's evaluation of a consumer, rule for rule, so that its alerts can be compared with ours.

Its known weaknesses are kept: it takes the end offset that was last polled, whenever that was,
and it looks at a fixed number of commits. `drumbeat.pipeline.lag.status` does better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

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


class Commit(NamedTuple):
    committed_offset: int
    at_ms: int
    lag: int | None  # when it was made; None if no end offset was known then


class Window(NamedTuple):
    """What Burrow knows about one partition of a group; commits oldest first, at least one."""

    commits: Sequence[Commit]
    polled_ends: Sequence[int]
    current_lag: int
    now_ms: int


class Thresholds(NamedTuple):
    intervals: int = INTERVALS
    allowed_lag: int = 0
    minimum_complete: float = 0.0


class PartitionEvaluation(NamedTuple):
    status: BurrowStatus
    complete: float
    current_lag: int


class GroupEvaluation(NamedTuple):
    status: BurrowStatus
    complete: float
    total_lag: int


DEFAULT: Final = Thresholds()


def evaluate_group(partitions: Sequence[PartitionEvaluation]) -> GroupEvaluation:
    worst = max((each.status for each in partitions), default=BurrowStatus.OK)
    full = sum(each.complete == 1.0 for each in partitions)
    return GroupEvaluation(
        status=min(worst, BurrowStatus.ERR),
        complete=full / len(partitions) if partitions else 0.0,
        total_lag=sum(each.current_lag for each in partitions),
    )


def evaluate_partition(window: Window, thresholds: Thresholds = DEFAULT) -> PartitionEvaluation:
    complete = min(1.0, len(window.commits) / thresholds.intervals)
    status = BurrowStatus.OK
    if window.commits and complete >= thresholds.minimum_complete:
        status = status_of(window, thresholds.allowed_lag)
    return PartitionEvaluation(status, complete, window.current_lag)


def status_of(window: Window, allowed_lag: int = 0) -> BurrowStatus:
    if window.current_lag <= allowed_lag:
        return BurrowStatus.OK
    if has_stopped(window) and not was_recently_at_end(window):
        return BurrowStatus.STOP
    if is_rewound(window.commits):
        return BurrowStatus.REWIND
    if not is_lag_always_above(window.commits, allowed_lag):
        return BurrowStatus.OK
    found = (status for rule, status in _LAG_RULES if rule(window.commits))
    return next(found, BurrowStatus.OK)


def is_lag_always_above(commits: Sequence[Commit], allowed_lag: int) -> bool:
    """Rule 1: a consumer that was at the end once in the window is well."""
    return all(commit.lag is None or commit.lag > allowed_lag for commit in commits)


def rewind_index(commits: Sequence[Commit]) -> int:
    """Rule 2: the first commit below the one before; -1 if there is none."""
    offsets = [commit.committed_offset for commit in commits]
    return next((at for at in range(1, len(offsets)) if offsets[at] < offsets[at - 1]), -1)


def is_rewound(commits: Sequence[Commit]) -> bool:
    """Whether the consumer went back and has not come to where it was since."""
    at = rewind_index(commits)
    if at < 0:
        return False
    before = commits[at - 1].committed_offset
    return all(commit.committed_offset < before for commit in commits[at:])


def has_stopped(window: Window) -> bool:
    """Rule 3: silent for longer than all commits of the window took."""
    first_ms, last_ms = window.commits[0].at_ms, window.commits[-1].at_ms
    return window.now_ms - last_ms > last_ms - first_ms


def was_recently_at_end(window: Window) -> bool:
    last_offset = window.commits[-1].committed_offset
    return any(end <= last_offset for end in window.polled_ends)


def is_stalled(commits: Sequence[Commit]) -> bool:
    """Rule 4: commits, but always the same offset."""
    return len({commit.committed_offset for commit in commits}) == 1


def is_lag_never_falling(commits: Sequence[Commit]) -> bool:
    """Rule 5: moves, but not faster than the partition grows."""
    lags = [commit.lag for commit in commits if commit.lag is not None]
    return all(later >= earlier for earlier, later in pairwise(lags))


_LAG_RULES: Final[tuple[tuple[Callable[[Sequence[Commit]], bool], BurrowStatus], ...]] = (
    (is_stalled, BurrowStatus.STALL),
    (is_lag_never_falling, BurrowStatus.WARN),
)
