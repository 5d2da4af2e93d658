"""Our own evaluation of a partition: like Burrow's, without its known false alarms.

The end offset is that of the moment and not of the last poll; a quiet consumer has stopped only if
there is something to consume and it is silent for longer than it usually is; a partition that
stands still beside moving ones of the same member is told apart; a slow consumer is one whose lag
grows; and a bad status counts when two evaluations in a row agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol

from drumbeat.pipeline.lag.burrow import (
    Commit,
    is_lag_always_above,
    is_lag_never_falling,
    is_rewound,
    is_stalled,
)


class Status(Enum):
    NOTFOUND = "NOTFOUND"  # nothing is committed, or no longer
    UNKNOWN = "UNKNOWN"  # the partition's end was never sampled
    OK = "OK"
    WARN = "WARN"
    STOP = "STOP"
    STALL = "STALL"
    REWIND = "REWIND"
    STUCK_PARTITION = "STUCK_PARTITION"


class Rules(NamedTuple):
    allowed_lag: int = 0
    session_timeout_ms: int = 45_000  # Kafka's default
    silence_factor: float = 3.0  # times the 95th percentile of the commit interval
    stuck_ms: int = 300_000
    window_min: int = 3  # commits below which STALL and WARN would be guesses


class Evidence(Protocol):
    """What one evaluation looks at. Rules ask the cheap questions first."""

    @property
    def commits(self) -> Sequence[Commit]:
        """Oldest first."""

    @property
    def lag(self) -> int | None: ...

    @property
    def silence_ms(self) -> int:
        """Since the last commit."""

    @property
    def still_ms(self) -> int:
        """Since the committed offset last changed."""

    @property
    def interval_p95_ms(self) -> int:
        """Between commits."""

    @property
    def has_grown_in_silence(self) -> bool:
        """Whether records came since the last commit."""

    @property
    def has_grown_while_still(self) -> bool:
        """Whether records came since the offset last changed."""

    @property
    def has_moving_sibling(self) -> bool:
        """Whether another partition of the same owner moved since."""


DEFAULT: Final = Rules()


def evaluate(evidence: Evidence, rules: Rules = DEFAULT) -> Status:
    """The first rule that holds."""
    return next((status for rule, status in _RULES if rule(evidence, rules)), Status.OK)


def _is_gone(evidence: Evidence, _rules: Rules) -> bool:
    return not evidence.commits


def _is_unknown(evidence: Evidence, _rules: Rules) -> bool:
    return evidence.lag is None


def _is_at_end(evidence: Evidence, rules: Rules) -> bool:
    return evidence.lag is not None and evidence.lag <= rules.allowed_lag


def _is_stuck(evidence: Evidence, rules: Rules) -> bool:
    return (
        evidence.still_ms >= rules.stuck_ms
        and evidence.has_grown_while_still
        and evidence.has_moving_sibling
    )


def _has_stopped(evidence: Evidence, rules: Rules) -> bool:
    silence_ms = evidence.silence_ms
    return (
        silence_ms > rules.session_timeout_ms
        and silence_ms > rules.silence_factor * evidence.interval_p95_ms
        and evidence.has_grown_in_silence
    )


def _is_rewound(evidence: Evidence, _rules: Rules) -> bool:
    return is_rewound(evidence.commits)


def _is_stalled(evidence: Evidence, rules: Rules) -> bool:
    return _can_judge(evidence, rules) and is_stalled(evidence.commits)


def _is_slow(evidence: Evidence, rules: Rules) -> bool:
    """A lag that stays the same is the delay between polling and committing."""
    lags = [commit.lag for commit in evidence.commits if commit.lag is not None]
    has_grown = len(lags) > 1 and lags[-1] > lags[0]
    return has_grown and _can_judge(evidence, rules) and is_lag_never_falling(evidence.commits)


def _can_judge(evidence: Evidence, rules: Rules) -> bool:
    enough = len(evidence.commits) >= rules.window_min
    return enough and is_lag_always_above(evidence.commits, rules.allowed_lag)


_RULES: Final[tuple[tuple[Callable[[Evidence, Rules], bool], Status], ...]] = (
    (_is_gone, Status.NOTFOUND),
    (_is_unknown, Status.UNKNOWN),
    (_is_at_end, Status.OK),
    (_is_stuck, Status.STUCK_PARTITION),
    (_has_stopped, Status.STOP),
    (_is_rewound, Status.REWIND),
    (_is_stalled, Status.STALL),
    (_is_slow, Status.WARN),
)
_COUNT_AT_ONCE: Final = frozenset({Status.OK, Status.NOTFOUND, Status.UNKNOWN})


class Debounced(NamedTuple):
    """The status that counts, given what single evaluations say."""

    status: Status = Status.OK
    raw: Status = Status.OK

    def after(self, raw: Status) -> Debounced:
        is_settled = raw in _COUNT_AT_ONCE or raw is self.raw
        return Debounced(raw if is_settled else self.status, raw)
