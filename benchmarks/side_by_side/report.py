"""The tables of a run in the terminal, and everything that was measured as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.side_by_side.brokers import DRUMBEAT, KAFKA
from benchmarks.side_by_side.goals import GOALS, Goal
from benchmarks.side_by_side.results import Results, Spread

VERDICTS = {True: "met", False: "not met", None: "not measured"}


def show(results: Results, machine: dict[str, str]) -> None:
    console = Console(width=None if Console().is_terminal else 150)
    for name, value in machine.items():
        console.print(f"{name}: {value}", highlight=False)
    if results.noise:
        console.print(noise_text(results), highlight=False)
    console.print(_rich("Side by side: median (lowest - highest)", *value_table(results)))
    console.print(_rich("Goals", *goal_table(results)))


def noise_text(results: Results) -> str:
    ordered = sorted(results.noise)
    return (
        f"other processes meanwhile: {ordered[len(ordered) // 2]:.2f} cores in the median of the"
        f" measurements, {ordered[-1]:.2f} at most"
    )


def value_table(results: Results) -> tuple[list[str], list[list[str]]]:
    systems = results.systems
    header = ["", "question", "unit", *systems, "ratio"]
    rows = []
    for key in results.keys:
        spreads = [_spread_text(results.spread(key, system)) for system in systems]
        ratio = _ratio_text(results.ratio(key, DRUMBEAT, KAFKA))
        rows.append([key.phase, key.question, key.unit, *spreads, ratio])
    return header, rows


def goal_table(results: Results) -> tuple[list[str], list[list[str]]]:
    rows = [
        [
            f"{goal.key.phase}: {goal.key.question}",
            goal.key.unit,
            goal.text(),
            _goal_value(goal, results),
            VERDICTS[goal.is_met(results)],
        ]
        for goal in GOALS
    ]
    return ["goal", "unit", "Drumbeat / Kafka", "reached", ""], rows


def write(results: Results, machine: dict[str, str], path: Path) -> None:
    document: dict[str, Any] = {
        "machine": machine,
        "noise": results.noise,
        "results": results.as_json(),
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def read(path: Path) -> tuple[Results, dict[str, str]]:
    document = json.loads(path.read_text())
    results = Results.from_json(document["results"])
    results.noise = document["noise"]
    return results, document["machine"]


def _rich(title: str, header: list[str], rows: list[list[str]]) -> Table:
    table = Table(*header, title=title, title_justify="left")
    previous = None
    for row in rows:
        # One rule between two phases.
        if previous not in (None, row[0]) and header[0] == "":
            table.add_section()
        previous = row[0]
        table.add_row(*row)
    return table


def _spread_text(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    low, high = _number(spread.low), _number(spread.high)
    return _number(spread.median) if low == high else f"{_number(spread.median)} ({low} - {high})"


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def _ratio_text(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def _goal_value(goal: Goal, results: Results) -> str:
    value = goal.value(results)
    return "-" if value is None else _ratio_text(value) if goal.is_ratio else _number(value)
