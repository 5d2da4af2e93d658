"""Our own evaluation of partitions: like Burrow's, without its known false alarms.

The end offset is that of the moment and not of the last poll; a quiet consumer has stopped only if
there is something to consume and it is silent for longer than it usually is; a partition that
stands still beside moving ones of the same member is told apart; a slow consumer is one whose lag
grows; and a bad status counts when two evaluations in a row agree.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

import numpy as np

from drumbeat.pipeline.lag import burrow
from drumbeat.pipeline.lag.burrow import Commits
from drumbeat.pipeline.tables.builder import NONE, Bools, Ints


class Status(IntEnum):
    NOTFOUND = 0  # nothing is committed, or no longer
    UNKNOWN = 1  # the partition's end was never sampled
    OK = 2
    WARN = 3
    STOP = 4
    STALL = 5
    REWIND = 6
    STUCK_PARTITION = 7


class Rules(NamedTuple):
    allowed_lag: int = 0
    session_timeout_ms: int = 45_000  # Kafka's default
    silence_factor: float = 3.0  # times the 95th percentile of the commit interval
    stuck_ms: int = 300_000
    window_min: int = 3  # commits below which STALL and WARN would be guesses


class Evidence(Protocol):
    """What evaluations look at, a row each. What is dear is asked for few rows only."""

    @property
    def commits(self) -> Commits: ...

    @property
    def lags(self) -> Ints:
        """NONE if unknown."""

    @property
    def silence_ms(self) -> Ints:
        """Since the last commit."""

    @property
    def still_ms(self) -> Ints:
        """Since the committed offset last changed."""

    def interval_p95_ms(self, rows: Ints) -> Ints:
        """Between commits."""

    def has_grown_in_silence(self, rows: Ints) -> Bools:
        """Whether records came since the last commit."""

    def has_grown_while_still(self, rows: Ints) -> Bools:
        """Whether records came since the offset last changed."""

    def has_moving_sibling(self, rows: Ints) -> Bools:
        """Whether another partition of the same owner moved since."""


DEFAULT: Final = Rules()


def evaluate(evidence: Evidence, rules: Rules = DEFAULT) -> Ints:
    """For each row the first rule that holds."""
    holds = [rule(evidence, rules) for rule, _ in _RULES]
    return np.select(holds, [np.int64(status) for _, status in _RULES], np.int64(Status.OK))


def _is_gone(evidence: Evidence, _rules: Rules) -> Bools:
    is_gone: Bools = evidence.commits.counts == 0
    return is_gone


def _is_unknown(evidence: Evidence, _rules: Rules) -> Bools:
    is_unknown: Bools = evidence.lags == NONE
    return is_unknown


def _is_at_end(evidence: Evidence, rules: Rules) -> Bools:
    return evidence.lags <= rules.allowed_lag


def _is_stuck(evidence: Evidence, rules: Rules) -> Bools:
    is_behind = _is_behind(evidence, rules)
    rows = np.flatnonzero(is_behind & (evidence.still_ms >= rules.stuck_ms))
    rows = rows[evidence.has_grown_while_still(rows)]
    return _chosen(rows[evidence.has_moving_sibling(rows)], len(is_behind))


def _has_stopped(evidence: Evidence, rules: Rules) -> Bools:
    is_behind = _is_behind(evidence, rules)
    rows = np.flatnonzero(is_behind & (evidence.silence_ms > rules.session_timeout_ms))
    usual_ms = rules.silence_factor * evidence.interval_p95_ms(rows)
    rows = rows[evidence.silence_ms[rows] > usual_ms]
    return _chosen(rows[evidence.has_grown_in_silence(rows)], len(is_behind))


def _is_rewound(evidence: Evidence, _rules: Rules) -> Bools:
    return burrow.is_rewound(evidence.commits)


def _is_stalled(evidence: Evidence, rules: Rules) -> Bools:
    return _can_judge(evidence, rules) & burrow.is_stalled(evidence.commits)


def _is_slow(evidence: Evidence, rules: Rules) -> Bools:
    """A lag that stays the same is the delay between polling and committing."""
    commits = evidence.commits
    is_known = commits.are_there & (commits.lags != NONE)
    first = np.take_along_axis(commits.lags, is_known.argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
    last_column = is_known.shape[1] - 1 - is_known[:, ::-1].argmax(axis=1)
    last = np.take_along_axis(commits.lags, last_column[:, np.newaxis], axis=1)[:, 0]
    has_grown: Bools = is_known.any(axis=1) & (last > first)
    return has_grown & _can_judge(evidence, rules) & burrow.is_lag_never_falling(commits)


def _is_behind(evidence: Evidence, rules: Rules) -> Bools:
    return (evidence.commits.counts > 0) & (evidence.lags > rules.allowed_lag)


def _can_judge(evidence: Evidence, rules: Rules) -> Bools:
    is_enough = evidence.commits.counts >= rules.window_min
    return is_enough & burrow.is_lag_always_above(evidence.commits, rules.allowed_lag)


def _chosen(rows: Ints, count: int) -> Bools:
    is_chosen = np.zeros(count, np.bool_)
    is_chosen[rows] = True
    return is_chosen


_RULES: Final[tuple[tuple[Callable[[Evidence, Rules], Bools], Status], ...]] = (
    (_is_gone, Status.NOTFOUND),
    (_is_unknown, Status.UNKNOWN),
    (_is_at_end, Status.OK),
    (_is_stuck, Status.STUCK_PARTITION),
    (_has_stopped, Status.STOP),
    (_is_rewound, Status.REWIND),
    (_is_stalled, Status.STALL),
    (_is_slow, Status.WARN),
)
_COUNT_AT_ONCE: Final = (Status.OK, Status.NOTFOUND, Status.UNKNOWN)


def settles(raw: Ints, raw_before: Ints) -> Bools:
    """Whether a status counts from this evaluation on; if not, the one before goes on to count."""
    settled: Bools = np.isin(raw, _COUNT_AT_ONCE) | (raw == raw_before)
    return settled
