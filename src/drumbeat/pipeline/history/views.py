"""What people see of the answers that have a verb of their own; programs get all columns."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from drumbeat.pipeline.history.cells import NOTHING, cell
from drumbeat.pipeline.history.layout import Column, Row, View
from drumbeat.pipeline.tables.rebalance_round import Method

_MEASURED: Final = frozenset({Method.EVENT, Method.RECONCILED, Method.SUPERSEDED})
_UUID: Final = re.compile(r"([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# From how many milliseconds on which unit is used.
_UNITS: Final = (
    (48 * 3_600_000, 86_400_000, "d"),
    (90 * 60_000, 3_600_000, "h"),
    (90_000, 60_000, "min"),
    (1_000, 1_000, "s"),
)


def duration_text(duration_ms: float) -> str:
    """To about three digits."""
    for least_ms, unit_ms, unit in _UNITS:
        if abs(duration_ms) >= least_ms:
            return f"{duration_ms / unit_ms:.3g} {unit}"
    return f"{duration_ms:.0f} ms"


def shortened(text: str) -> str:
    """With the first digits of a random id in its stead: they tell members apart."""
    return _UUID.sub(r"\1…", text)


def _of(name: str) -> Any:
    return lambda row: row[name]


def _duration_of(name: str, unit_ms: int = 1) -> Any:
    return lambda row: None if row[name] is None else duration_text(row[name] * unit_ms)


def _generation(row: Row) -> str:
    before = "?" if row["from_generation"] is None else row["from_generation"]
    return f"{before} -> {row['to_generation']}"


def _took(row: Row) -> str | None:
    """An upper bound where it had to be inferred when it began."""
    if row["duration_ms"] is None:
        return None
    bound = "" if row["duration_method"] in _MEASURED else "<= "
    return bound + duration_text(row["duration_ms"])


def _why(row: Row) -> str | None:
    """In the client's words; else how sure the cause is."""
    if row["client_reason"] is not None:
        return shortened(row["client_reason"])
    if row["source"] == "inferred":
        return f"inferred, {row['confidence']:.0%} sure"
    return None


def _members(row: Row) -> str:
    """How many there are, and how many of them came, and left."""
    count = row["stayed"] + row["joined"] + row["restarted"]
    restarted = f" ~{row['restarted']}" if row["restarted"] else ""
    return f"{count}: +{row['joined']} -{row['left']}{restarted}"


REBALANCES_VIEW: Final = View(
    (
        Column(name="at", value=_of("at"), is_time=True),
        Column(name="group", value=_of("group_id"), folds_to=14),
        Column(name="generation", value=_generation, interest=8),
        Column(name="took", value=_took, is_number=True, interest=9),
        Column(name="cause", value=_of("cause"), interest=20),
        Column(name="why", value=_why, folds_to=22, interest=4),
        Column(name="members", value=_members, interest=5),
        Column(name="moved", value=_of("moved"), is_number=True, interest=3),
        Column(name="gap", value=_duration_of("commit_gap_ms"), is_number=True, interest=2),
    )
)


def _lag(row: Row) -> str | None:
    """With how far it may be off."""
    if row["lag"] is None:
        return None
    bound = f" ±{row['error_bound']}" if row["error_bound"] else ""
    return f"{row['lag']}{bound}"


def _behind(row: Row) -> str | None:
    """Since when the next record waits; of no lag there is nothing to say."""
    return duration_text(row["lag_seconds"] * 1_000) if row["lag"] and row["lag_seconds"] else None


def _trend(row: Row) -> str | None:
    return None if row["velocity"] is None else f"{row['velocity']:+.3g}/s".replace("+0/", "0/")


def _unread(row: Row) -> str | None:
    return None if row["retention_pct"] is None else f"{row['retention_pct']:.0f} %"


LAG_VIEW: Final = View(
    (
        Column(name="group", value=_of("group_id"), folds_to=14),
        Column(
            name="partition", value=lambda row: f"{row['topic']}-{row['partition']}", folds_to=14
        ),
        Column(name="committed", value=_of("committed"), is_number=True, interest=6),
        Column(name="log end", value=_of("log_end"), is_number=True, interest=6),
        Column(name="lag", value=_lag, is_number=True, interest=20),
        Column(name="behind", value=_behind, is_number=True, interest=5),
        Column(name="trend", value=_trend, is_number=True, interest=4),
        Column(name="done in", value=_duration_of("eta_s", 1_000), is_number=True, interest=2),
        Column(name="unread", value=_unread, is_number=True, interest=2),
        Column(name="status", value=_of("status")),
        Column(name="burrow", value=_of("burrow"), interest=1),
        Column(name="at", value=_of("at"), is_time=True, interest=3),
    )
)

GROUPS_VIEW: Final = View(
    (
        Column(name="group", value=_of("group_id"), folds_to=14),
        Column(name="type", value=_of("type"), interest=5),
        Column(name="state", value=_of("state")),
        Column(name="generation", value=_of("generation"), is_number=True, interest=3),
        Column(name="members", value=_of("members"), is_number=True),
        Column(name="commits", value=_of("commits"), is_number=True, interest=4),
        Column(name="last commit", value=_of("last_commit"), is_time=True, interest=6),
        Column(name="lag", value=_of("lag"), is_number=True),
        Column(name="rebalances", value=_of("rebalances"), is_number=True, interest=5),
        Column(name="findings", value=_of("findings"), is_number=True),
        Column(name="cluster", value=_of("cluster_id"), folds_to=14, tells_apart=True),
    )
)


def _subject(row: Row) -> str | None:
    """Without the group, which has a column."""
    if row["subject"] == row["group_id"]:
        return None
    return shortened(row["subject"].removeprefix(f"{row['group_id']}: "))


def _evidence(row: Row) -> str:
    facts = json.loads(row["evidence"])
    told = (f"{name} {cell(value)}" for name, value in facts.items() if value is not None)
    return shortened(", ".join(told)) or NOTHING


def _advice(rows: Sequence[Row]) -> list[str]:
    """Once for each kind, however often it was found."""
    actions = {row["kind"]: row["suggested_action"] for row in rows}
    return [f"{kind}: {action}" for kind, action in actions.items()]


FINDINGS_VIEW: Final = View(
    (
        Column(name="severity", value=_of("severity")),
        Column(name="kind", value=_of("kind")),
        Column(name="group", value=_of("group_id"), folds_to=14),
        Column(name="subject", value=_subject, folds_to=14, interest=8),
        Column(name="since", value=_of("from"), is_time=True, interest=7),
        Column(
            name="lasted",
            value=lambda row: duration_text(row["to"] - row["from"]),
            is_number=True,
            interest=4,
        ),
        Column(name="evidence", value=_evidence, folds_to=24, interest=5),
    ),
    _advice,
)
