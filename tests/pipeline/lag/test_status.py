"""Our own rules, each with a case in which it holds and one in which it just does not."""

from typing import NamedTuple

import pytest

from drumbeat.pipeline.lag.burrow import Commit
from drumbeat.pipeline.lag.status import Debounced, Rules, Status, evaluate

S = Status
MOVING = ((100, 50), (200, 60), (300, 70))
CATCHING_UP = ((100, 70), (200, 60), (300, 50))
STANDING = ((100, 50), (100, 60), (100, 70))
REWOUND = ((300, 50), (100, 250), (200, 150))


class Seen(NamedTuple):
    commits: list[Commit]
    lag: int | None = 70
    silence_ms: int = 5_000
    still_ms: int = 5_000
    interval_p95_ms: int = 10_000
    has_grown_in_silence: bool = True
    has_grown_while_still: bool = False
    has_moving_sibling: bool = False


def evidence(offsets_and_lags=MOVING, **changes):
    commits = [Commit(offset, 0, lag) for offset, lag in offsets_and_lags]
    return Seen(commits, **changes)


STUCK = {"still_ms": 300_000, "has_grown_while_still": True, "has_moving_sibling": True}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (evidence((), lag=None), S.NOTFOUND),
        (evidence(lag=None), S.UNKNOWN),
        (evidence(lag=0), S.OK),
        (evidence(STANDING, lag=0, **STUCK), S.OK),
        (evidence(STANDING, **STUCK), S.STUCK_PARTITION),
        (evidence(STANDING, **STUCK | {"still_ms": 299_999}), S.STALL),
        (evidence(STANDING, **STUCK | {"has_moving_sibling": False}), S.STALL),
        (evidence(STANDING, **STUCK | {"has_grown_while_still": False}), S.STALL),
        (evidence(silence_ms=45_001), S.STOP),
        (evidence(silence_ms=45_000), S.WARN),  # as long as the session lasts it may still come
        (evidence(silence_ms=45_001, interval_p95_ms=20_000), S.WARN),  # seldom commits
        (evidence(silence_ms=60_001, interval_p95_ms=20_000), S.STOP),
        (evidence(silence_ms=900_000, has_grown_in_silence=False), S.WARN),  # nothing to consume
        (evidence(REWOUND), S.REWIND),
        (evidence(((300, 50), (100, 250), (300, 50))), S.OK),
        (evidence(STANDING), S.STALL),
        (evidence(STANDING[:2]), S.OK),  # two commits are too few
        (evidence(((100, 0), (100, 60), (100, 70))), S.OK),  # was at the end in this window
        (evidence(MOVING), S.WARN),
        (evidence(((100, 50), (200, 50), (300, 50))), S.OK),  # keeps up, a little behind
        (evidence(CATCHING_UP), S.OK),
    ],
)
def test_rules(given, status):
    assert evaluate(given) is status


def test_allowed_lag():
    assert evaluate(evidence(STANDING), Rules(allowed_lag=70)) is S.OK
    assert evaluate(evidence(STANDING), Rules(allowed_lag=49)) is S.STALL
    assert evaluate(evidence(STANDING), Rules(allowed_lag=55)) is S.OK


@pytest.mark.parametrize(
    ("raw", "settled"),
    [
        ([S.STOP], [S.OK]),
        ([S.STOP, S.STOP, S.STOP], [S.OK, S.STOP, S.STOP]),
        ([S.STOP, S.OK, S.STOP], [S.OK, S.OK, S.OK]),
        ([S.STOP, S.STOP, S.OK], [S.OK, S.STOP, S.OK]),
        ([S.WARN, S.WARN, S.STOP, S.STOP], [S.OK, S.WARN, S.WARN, S.STOP]),
        ([S.NOTFOUND, S.UNKNOWN], [S.NOTFOUND, S.UNKNOWN]),
    ],
)
def test_bad_status_counts_when_two_evaluations_agree(raw, settled):
    state, seen = Debounced(), []
    for status in raw:
        state = state.after(status)
        seen.append(state.status)
    assert seen == settled
