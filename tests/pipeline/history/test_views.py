"""What people see of the golden log's history, and of rows made up for it."""

import io

import pytest

from drumbeat.pipeline.history.layout import write_view
from drumbeat.pipeline.history.questions import LAG, REBALANCES_OF_GROUPS, Scope, answer
from drumbeat.pipeline.history.views import (
    FINDINGS_VIEW,
    LAG_VIEW,
    REBALANCES_VIEW,
    duration_text,
    shortened,
)

REBALANCES_OF_ORDERS = """\
on 1970-01-01, UTC
at            group   generation       took  cause  why                 members   moved  gap
00:00:01.000  orders  ? -> 1      <= 100 ms  JOIN   inferred, 90% sure  1: +1 -0      0    -
00:00:03.000  orders  1 -> 2         <= 1 s  JOIN   inferred, 90% sure  2: +1 -0      2  2 s
"""
REBALANCE = {
    "at": 0,
    "group_id": "g",
    "from_generation": 3,
    "to_generation": 4,
    "duration_ms": 323,
    "duration_method": "event",
    "cause": "JOIN",
    "confidence": 1.0,
    "source": "event",
    "client_reason": None,
    "joined": 1,
    "left": 2,
    "restarted": 0,
    "stayed": 5,
    "moved": 1,
    "commit_gap_ms": None,
}
LAG_ROW = {
    "group_id": "g",
    "topic": "t",
    "partition": 3,
    "committed": 5,
    "log_end": 100,
    "lag": 95,
    "error_bound": 0,
    "lag_seconds": 12.25,
    "velocity": -2.5,
    "eta_s": 38.0,
    "retention_pct": 95.0,
    "status": "OK",
    "burrow": "OK",
    "at": 0,
}
FINDING = {
    "severity": "warning",
    "kind": "REWIND",
    "group_id": "g",
    "subject": "g: t-3",
    "from": 1_000,
    "to": 4_500,
    "evidence": '{"lag": 7, "share": 0.123456, "eta_s": null, "is_open": true}',
    "suggested_action": "Do this.",
}


def seen(view, row, name):
    [column] = [column for column in view.columns if column.name == name]
    return column.value(row)


def test_rebalances_of_the_golden_log(history, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    found = answer(history, REBALANCES_OF_GROUPS, Scope(group_id="orders", at_ms=4_000))
    out = io.StringIO()
    write_view(found.view, [dict(zip(found.columns, row, strict=True)) for row in found.rows], out)
    assert out.getvalue() == REBALANCES_OF_ORDERS


def test_every_column_of_a_view_finds_its_value(history):
    for question in (LAG, REBALANCES_OF_GROUPS):
        found = answer(history, question, Scope())
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
        assert rows
        for column in question.view.columns:
            assert any(column.value(row) is not None for row in rows) or column.interest < 10


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({}, "generation", "3 -> 4"),
        ({"from_generation": None}, "generation", "? -> 4"),
        ({}, "took", "323 ms"),
        ({"duration_method": "last_commit"}, "took", "<= 323 ms"),
        ({"duration_method": "reconciled"}, "took", "323 ms"),
        ({"duration_ms": None}, "took", None),
        ({}, "why", None),
        ({"client_reason": "closed"}, "why", "closed"),
        ({"source": "inferred", "confidence": 0.8}, "why", "inferred, 80% sure"),
        ({}, "members", "6: +1 -2"),
        ({"restarted": 1}, "members", "7: +1 -2 ~1"),
        ({"commit_gap_ms": 61_500}, "gap", "61.5 s"),
    ],
)
def test_a_rebalance(changes, name, expected):
    assert seen(REBALANCES_VIEW, REBALANCE | changes, name) == expected


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({}, "partition", "t-3"),
        ({}, "lag", "95"),
        ({"error_bound": 4}, "lag", "95 ±4"),
        ({"lag": None}, "lag", None),
        ({}, "behind", "12.2 s"),
        ({"lag": 0, "lag_seconds": 0.0}, "behind", None),
        ({}, "trend", "-2.5/s"),
        ({"velocity": 0.0}, "trend", "0/s"),
        ({"velocity": 20.0}, "trend", "+20/s"),
        ({}, "done in", "38 s"),
        ({}, "unread", "95 %"),
    ],
)
def test_a_lag(changes, name, expected):
    assert seen(LAG_VIEW, LAG_ROW | changes, name) == expected


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({}, "subject", "t-3"),
        ({"subject": "g"}, "subject", None),
        ({"group_id": None}, "subject", "g: t-3"),
        ({}, "lasted", "3.5 s"),
        ({}, "evidence", "lag 7, share 0.1235, is_open yes"),
        ({"evidence": "{}"}, "evidence", "-"),
    ],
)
def test_a_finding(changes, name, expected):
    assert seen(FINDINGS_VIEW, FINDING | changes, name) == expected


def test_advice_is_given_once():
    other = FINDING | {"kind": "RESET", "suggested_action": "Or that."}
    assert FINDINGS_VIEW.notes([FINDING, other, FINDING]) == ["REWIND: Do this.", "RESET: Or that."]


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (89_900, "89.9 s"),
        (90_000, "1.5 min"),
        (5_400_000, "1.5 h"),
        (48 * 3_600_000, "2 d"),
        (-2_000, "-2 s"),
    ],
)
def test_durations(duration_ms, text):
    assert duration_text(duration_ms) == text


def test_random_ids_are_shortened():
    text = "gave the id billing-1-0788908e-fd99-428d-9e57-d2661a132ff9 to it"
    assert shortened(text) == "gave the id billing-1-0788908e… to it"
    assert shortened("audit-1-0788908e") == "audit-1-0788908e"
