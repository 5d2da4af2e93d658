"""Burrow's published evaluation cases: the same windows have to give the same answers.

The numbers are those of the cases with which Burrow checks its evaluator. Commits are written as
offset@seconds/lag, with "-" where no lag was known.
"""

import numpy as np
import pytest

from drumbeat.pipeline.lag.burrow import (
    BurrowStatus,
    Commits,
    Thresholds,
    Windows,
    evaluate,
    group_status,
    has_stopped,
    is_lag_always_above,
    is_lag_never_falling,
    is_stalled,
    rewind_index,
    status_of,
    was_recently_at_end,
)

# One second apart, almost; always at the end (Burrow issues 290 and 303).
BUSY_MS = (
    "18356 19362 20366 21367 22370 23373 24378 25379 26383 27383 28383 29388 30391 31394 32397"
)
BUSY = " ".join(
    f"{792748079 + index}@{1512224600 + int(at) / 1000:.3f}/0"
    for index, at in enumerate(BUSY_MS.split())
)
MOVING_FROM_ZERO = "1000@100/0 2000@200/50 3000@300/100 4000@400/150 5000@500/200"
MOVING = "1000@100/50 2000@200/100 3000@300/150 4000@400/200 5000@500/250"
STANDING = "1000@100/100 1000@200/150 1000@300/200 1000@400/250 1000@500/300"
GAPPED = (
    "1000@100/0 1500@150/- 2000@200/50 2500@250/- 3000@300/100 3500@350/- "
    "4000@400/150 4500@450/- 5000@500/200 5500@550/-"
)
RECOVERED = "1000@100/100 2000@200/150 3000@300/200 2000@400/1250 4000@500/300"

# commits, polled ends, current lag, now in seconds, allowed lag;
# always above, rewind at, stopped, stalled, never falling, recently at end; status
CASES = {
    "at the end once": (MOVING_FROM_ZERO, "5200", 200, 600, 0, "F -1 F F T F", "OK"),
    "silent as long as the window": (MOVING_FROM_ZERO, "5200", 200, 900, 0, "F -1 F F T F", "OK"),
    "silent for longer": (MOVING_FROM_ZERO, "5200", 200, 1000, 0, "F -1 T F T F", "STOP"),
    "silent, never at the end": (MOVING, "5250", 250, 1000, 0, "T -1 T F T F", "STOP"),
    "stands, was at the end": (
        "1000@100/0 1000@200/50 1000@300/100 1000@400/150 1000@500/200",
        "1200",
        200,
        600,
        0,
        "F -1 F T T F",
        "OK",
    ),
    "stands, lag grows": (STANDING, "1300", 300, 600, 0, "T -1 F T T F", "STALL"),
    "stands, lag stays": (
        "1000@100/100 1000@200/100 1000@300/100 1000@400/100 1000@500/100",
        "1100",
        100,
        600,
        0,
        "T -1 F T T F",
        "STALL",
    ),
    "rewound and recovered": (RECOVERED, "4300", 300, 600, 0, "T 3 F F F F", "OK"),
    "silent at the end": (MOVING, "5250", 0, 1000, 0, "T -1 T F T F", "OK"),
    "silent, records came": (
        BUSY,
        "792749024 792749000 792748800 792748600 792748500",
        931,
        1512224650,
        0,
        "F -1 T F T F",
        "STOP",
    ),
    "silent, one record came just now": (
        BUSY,
        "792748094 792748093 792748093 792748093",
        1,
        1512224650,
        0,
        "F -1 T F T T",
        "OK",
    ),
    "lag sometimes unknown": (
        GAPPED,
        "5700",
        200,
        600,
        0,
        "F -1 F F T F",
        "OK",
    ),
    "within the allowed lag": (
        "1000@100/2 2000@200/1 2000@300/1",
        "2001",
        1,
        550,
        1,
        "F -1 T F F F",
        "OK",
    ),
    "stands above the allowed lag": (STANDING, "1300", 300, 600, 99, "T -1 F T T F", "STALL"),
    "recovered above the allowed lag": (RECOVERED, "4300", 300, 600, 99, "T 3 F F F F", "OK"),
    "rewound, not recovered": (
        "1000@100/100 2000@200/150 3000@300/200 2000@400/1250 2500@500/300",
        "4300",
        300,
        600,
        0,
        "T 3 F F F F",
        "REWIND",
    ),
    # Not among Burrow's cases: the one status that they leave out.
    "moves, never catches up": (MOVING, "5250", 250, 600, 0, "T -1 F F T F", "WARN"),
}


WIDTH = 15  # of the longest


def commit(text):
    offset, rest = text.split("@")
    seconds, lag = rest.split("/")
    return int(offset), round(float(seconds) * 1000), -1 if lag == "-" else int(lag)


def row(values):
    """As wide as all rows, with something in the empty columns that would mislead."""
    return np.array([*[7] * (WIDTH - len(values)), *values])


def windows_of(cases):
    """One row per (commits, polled ends, current lag, now in seconds)."""
    commits = [[commit(text) for text in texts.split()] for texts, *_ in cases]
    ends = [[int(end) for end in ends.split()] for _, ends, *_ in cases]
    columns = ([row([each[at] for each in seen]) for seen in commits] for at in range(3))
    return Windows(
        commits=Commits(*map(np.array, columns), np.array([len(each) for each in commits])),
        polled_ends=np.array([row(each) for each in ends]),
        poll_counts=np.array([len(each) for each in ends]),
        current_lags=np.array([case[2] for case in cases]),
        now_ms=np.array([case[3] * 1000 for case in cases]),
    )


def shown(answers):
    """The only one: T, F or a number."""
    [answer] = answers.tolist()
    return "FT"[answer] if isinstance(answer, bool) else str(answer)


@pytest.mark.parametrize("name", CASES)
def test_published_case(name):
    *window, allowed_lag, rules, status = CASES[name]
    windows = windows_of([window])
    commits = windows.commits
    answers = (
        is_lag_always_above(commits, allowed_lag),
        rewind_index(commits),
        has_stopped(windows),
        is_stalled(commits),
        is_lag_never_falling(commits),
        was_recently_at_end(windows),
    )
    assert " ".join(map(shown, answers)) == rules
    assert BurrowStatus(status_of(windows, allowed_lag)[0]).name == status


def test_evaluations_do_not_mix():
    cases = [case for case in CASES.values() if case[4] == 0]
    found = status_of(windows_of([case[:4] for case in cases]))
    assert [BurrowStatus(status).name for status in found] == [case[-1] for case in cases]


@pytest.mark.parametrize(
    ("minimum_complete", "status"), [(0.0, "STALL"), (0.5, "STALL"), (0.6, "OK")]
)
def test_too_few_commits_are_not_judged(minimum_complete, status):
    windows = windows_of([(STANDING, "1300", 300, 600)])
    thresholds = Thresholds(intervals=10, minimum_complete=minimum_complete)
    assert BurrowStatus(evaluate(windows, thresholds)[0]).name == status


def test_partition_without_commits_is_ok():
    assert (
        evaluate(windows_of([("", "5", 0, 0), ("", "5", 9, 0)])).tolist() == [BurrowStatus.OK] * 2
    )


@pytest.mark.parametrize(
    ("partitions", "status"),
    [
        ("", "OK"),
        ("OK", "OK"),
        ("OK WARN", "WARN"),
        ("WARN STOP", "ERR"),
        ("STALL OK", "ERR"),
        ("REWIND", "ERR"),
    ],
)
def test_group_is_as_bad_as_its_worst_partition(partitions, status):
    statuses = np.array([BurrowStatus[name] for name in partitions.split()], np.int64)
    assert group_status(statuses).name == status
