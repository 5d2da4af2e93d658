"""Our own rules, each with a case in which it holds and one in which it just does not."""

import numpy as np
import pytest

from drumbeat.pipeline.lag.burrow import Commits
from drumbeat.pipeline.lag.status import Rules, Status, evaluate, settles

S = Status
MOVING = ((100, 50), (200, 60), (300, 70))
CATCHING_UP = ((100, 70), (200, 60), (300, 50))
STANDING = ((100, 50), (100, 60), (100, 70))
REWOUND = ((300, 50), (100, 250), (200, 150))


class Seen:
    """One evaluation."""

    def __init__(self, commits, **changes):
        columns = np.array([*[(7, 7)] * (WIDTH - len(commits)), *commits]).T
        offsets, lags = (column[np.newaxis] for column in columns)
        self.commits = Commits(offsets, np.zeros_like(offsets), lags, np.array([len(commits)]))
        self._said = USUAL | changes
        self.lags = self._say("lag")
        self.silence_ms, self.still_ms = self._say("silence_ms"), self._say("still_ms")

    def interval_p95_ms(self, rows):
        return self._say("interval_p95_ms")[rows]

    def has_grown_in_silence(self, rows):
        return self._say("has_grown_in_silence")[rows]

    def has_grown_while_still(self, rows):
        return self._say("has_grown_while_still")[rows]

    def has_moving_sibling(self, rows):
        return self._say("has_moving_sibling")[rows]

    def _say(self, name):
        return np.array([self._said[name]])


USUAL = {
    "lag": 70,
    "silence_ms": 5_000,
    "still_ms": 5_000,
    "interval_p95_ms": 10_000,
    "has_grown_in_silence": True,
    "has_grown_while_still": False,
    "has_moving_sibling": False,
}
UNKNOWN = -1
WIDTH = 5


def evidence(offsets_and_lags=MOVING, **changes):
    return Seen(offsets_and_lags, **changes)


STUCK = {"still_ms": 300_000, "has_grown_while_still": True, "has_moving_sibling": True}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (evidence((), lag=UNKNOWN), S.NOTFOUND),
        (evidence(lag=UNKNOWN), S.UNKNOWN),
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
    assert evaluate(given).tolist() == [status]


def test_allowed_lag():
    for allowed_lag, status in ((70, S.OK), (49, S.STALL), (55, S.OK)):
        assert evaluate(evidence(STANDING), Rules(allowed_lag=allowed_lag)).tolist() == [status]


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
    counts, before, seen = S.OK, S.OK, []
    for status in raw:
        counts = status if settles(np.array([status]), np.array([before]))[0] else counts
        before = status
        seen.append(counts)
    assert seen == settled
