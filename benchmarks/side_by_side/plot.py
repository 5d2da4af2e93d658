"""One picture of a run: the ratios to Apache Kafka with their goals, and how each system grows."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.side_by_side.brokers import DRUMBEAT, INTERPRETED, KAFKA, KAFKA_SYNCED
from benchmarks.side_by_side.goals import GOALS, Goal
from benchmarks.side_by_side.results import Key, Results

COLOURS = {
    DRUMBEAT: "#c8553d",
    KAFKA: "#588b8b",
    INTERPRETED: "#e7b3a6",
    KAFKA_SYNCED: "#b3cccc",
}
INK = "#333333"
PLAIN = FuncFormatter(lambda value, _place: f"{value:,.10g}")
# Title, unit, and the questions that belong to it: the number in each is the size.
GROWTH = (
    ("commits x1 by connections", "per CPU-s", r"commits x1, ([\d,]+) connections?"),
    ("heartbeats by connections", "per CPU-s", r"heartbeats, ([\d,]+) connections?"),
    ("commits by partitions", "per CPU-s", r"commits x(\d+), 100 connections"),
    ("members settle", "s", r"([\d,]+) members settle"),
    ("groups of one member", "MB", r"([\d,]+) groups of one member"),
    ("restart with offsets", "s", r"restart with ([\d,]+) offsets"),
)


def plot(results: Results, path: Path) -> None:
    mpl.use("Agg")
    plt.rcParams.update({"font.size": 8, "axes.edgecolor": INK, "text.color": INK})
    figure = plt.figure(figsize=(9, 9), layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=(1, 1.35))
    upper, lower = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    _plot_goals(upper.subplots(), results)
    panels = lower.subplots(2, 3).flatten()
    for panel, (title, unit, pattern) in zip(panels, GROWTH, strict=True):
        _plot_growth(panel, results, unit, pattern)
        panel.set_title(f"{title} [{unit}]", fontsize=8)
    panels[0].legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


# -- ratios ----------------------------------------------------------------------------------------


def _plot_goals(axes: Axes, results: Results) -> None:
    """How many times better than Kafka; the mark is where the goal lies."""
    measured = [goal for goal in GOALS if goal.is_ratio and goal.value(results) is not None]
    places = range(len(measured))
    values = [_better(goal, goal.value(results)) for goal in measured]
    # From Kafka's value on: to the right is better, to the left is worse.
    axes.barh(places, [value - 1 for value in values], left=1, color=COLOURS[DRUMBEAT])
    axes.scatter(
        [_better(goal, goal.bound) for goal in measured], places, marker="|", s=180, color=INK
    )
    axes.set_yticks(places, [f"{goal.key.question} ({goal.key.phase})" for goal in measured])
    axes.axvline(1, color=COLOURS[KAFKA], linewidth=1)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_title(
        "Drumbeat, times better than Apache Kafka (line at 1); the mark is the goal", fontsize=9
    )
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.xaxis.set_minor_formatter("")
    axes.spines[["top", "right"]].set_visible(False)


def _better(goal: Goal, ratio: float | None) -> float:
    assert ratio is not None
    return ratio if goal.is_minimum else 1 / ratio


# -- growth ----------------------------------------------------------------------------------------


def _plot_growth(axes: Axes, results: Results, unit: str, pattern: str) -> None:
    sizes = _sizes(results, unit, pattern)
    for system in results.systems:
        points = [(size, spread) for size, key in sizes if (spread := results.spread(key, system))]
        if not points:
            continue
        values = [spread.median for _, spread in points]
        errors = (
            [spread.median - spread.low for _, spread in points],
            [spread.high - spread.median for _, spread in points],
        )
        colour = COLOURS[system]
        axes.errorbar(
            [size for size, _ in points],
            values,
            errors,
            label=system,
            color=colour,
            marker="o",
            markersize=3,
            linewidth=1,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_major_formatter(PLAIN)
    low, high = axes.get_ylim()
    # Labels between the powers of ten, where there is no room for two of those.
    axes.yaxis.set_minor_formatter(PLAIN if high < low * 10 else NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)


def _sizes(results: Results, unit: str, pattern: str) -> list[tuple[int, Key]]:
    """The questions of one panel in order of size; the cold ones belong to none."""
    found = [
        (int(match[1].replace(",", "")), key)
        for key in results.keys
        if key.unit == unit
        and key.phase != "cold"
        and (match := re.fullmatch(pattern, key.question))
    ]
    return sorted(found)
