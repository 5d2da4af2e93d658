"""Many windows at once give what each gives alone, by a plain reading of Burrow's rules."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.pipeline.lag.burrow import INTERVALS, BurrowStatus, Commits, Windows, status_of

S = BurrowStatus
UNKNOWN = -1


class Seen(NamedTuple):
    """Commits as (offset, time, lag), oldest first; ends that were polled; and the moment."""

    commits: list[tuple[int, int, int]]
    polled: list[int]
    current_lag: int
    now_ms: int


def plain_status(seen, allowed_lag):
    offsets, times, lags = zip(*seen.commits, strict=True)
    known = [lag for lag in lags if lag != UNKNOWN]
    has_stopped = seen.now_ms - times[-1] > times[-1] - times[0]
    if seen.current_lag <= allowed_lag:
        return S.OK
    if has_stopped and not any(end <= offsets[-1] for end in seen.polled):
        return S.STOP
    if is_rewound(offsets):
        return S.REWIND
    if any(lag <= allowed_lag for lag in known):
        return S.OK
    if len(set(offsets)) == 1:
        return S.STALL
    return S.WARN if all(later >= earlier for earlier, later in pairwise(known)) else S.OK


def is_rewound(offsets):
    for at in range(1, len(offsets)):
        if offsets[at] < offsets[at - 1]:
            return all(offset < offsets[at - 1] for offset in offsets[at:])
    return False


@st.composite
def windows(draw):
    count = draw(st.integers(1, INTERVALS))
    steps = draw(st.lists(st.sampled_from((-3, -1, 0, 0, 1, 2)), min_size=count, max_size=count))
    times = sorted(draw(st.lists(st.integers(0, 100), min_size=count, max_size=count)))
    lags = draw(st.lists(st.integers(UNKNOWN, 6), min_size=count, max_size=count))
    offsets = np.cumsum([10, *steps])[1:].tolist()
    return Seen(
        commits=list(zip(offsets, times, lags, strict=True)),
        polled=draw(st.lists(st.integers(5, 25), max_size=INTERVALS)),
        current_lag=draw(st.integers(0, 5)),
        now_ms=times[-1] + draw(st.integers(0, 60)),
    )


def column(rows, empty):
    """Rows of one width, those that are shorter with something else in front."""
    return np.array([[*[empty] * (INTERVALS - len(row)), *row] for row in rows])


def together(given_windows, empty):
    offsets, times, lags = (
        column([[commit[at] for commit in each.commits] for each in given_windows], empty)
        for at in range(3)
    )
    counts = np.array([len(each.commits) for each in given_windows])
    return Windows(
        commits=Commits(offsets, times, lags, counts),
        polled_ends=column([each.polled for each in given_windows], empty),
        poll_counts=np.array([len(each.polled) for each in given_windows]),
        current_lags=np.array([each.current_lag for each in given_windows]),
        now_ms=np.array([each.now_ms for each in given_windows]),
    )


@given(
    st.lists(windows(), min_size=1, max_size=8), st.integers(0, 3), st.sampled_from((-9, 0, 11, 99))
)
def test_statuses_are_those_of_the_plain_rules(given_windows, allowed_lag, empty):
    found = status_of(together(given_windows, empty), allowed_lag)
    assert [S(status) for status in found] == [
        plain_status(each, allowed_lag) for each in given_windows
    ]
