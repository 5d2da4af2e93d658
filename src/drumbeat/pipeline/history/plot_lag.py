"""The lower part of the picture: lag over time, or commits where no lag is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, StrMethodFormatter

from drumbeat.pipeline.history.plot_axes import (
    COLORS,
    FAINT,
    INK,
    SMALL,
    days,
    legend,
    say,
    share,
)
from drumbeat.pipeline.history.plot_data import Line, PlotData

_UNITS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_HEADROOM: Final = 1.18
_TICKS: Final = 5


def draw_lag(ax: Axes, data: PlotData) -> None:
    ax.yaxis.set_major_locator(MaxNLocator(_TICKS, integer=True))
    if data.lags:
        _draw_lags(ax, data)
    else:
        _draw_commits(ax, data)


def _draw_lags(ax: Axes, data: PlotData) -> None:
    for line in data.lags:
        ax.plot(days(line.times), _values(line), color=FAINT, linewidth=0.8, alpha=0.8)
    times, total = _total(data.lags)
    ax.plot(days(times), total, color=INK, linewidth=1.6, clip_on=False)
    ax.fill_between(days(times), total, color=INK, alpha=0.07, linewidth=0)
    ax.set_ylabel("lag (records)")
    ax.yaxis.set_major_formatter(FuncFormatter(_short_number))
    highest = int(np.nanargmax(total))
    ax.set_ylim(0, max(total[highest] * _HEADROOM, _TICKS - 1))
    if total[highest]:
        _mark_peak(ax, data, times[highest], total[highest])
    else:
        say(ax, "no lag: all that was written was consumed")
    handles = [Patch(color=INK, label="all partitions")]
    if len(data.lags) > 1:
        handles.append(Patch(color=FAINT, label=f"each of {len(data.lags)}"))
    legend(ax, handles, "lag")


def _mark_peak(ax: Axes, data: PlotData, at_ms: int, total: float) -> None:
    is_right = share(data, at_ms) > 0.9
    ax.plot(days(at_ms), total, marker="o", markersize=4, color=INK, clip_on=False)
    ax.annotate(
        f"{int(total):,}", (days(at_ms), total), xytext=(-6 if is_right else 6, 3),
        textcoords="offset points", ha="right" if is_right else "left", fontsize=SMALL, color=INK,
    )  # fmt: skip


def _draw_commits(ax: Axes, data: PlotData) -> None:
    """In place of the lag that nobody knows: how far the commits got."""
    for line, color in zip(data.commits, cycle(COLORS), strict=False):
        ax.plot(
            days(line.times), _values(line), color=color, linewidth=1.2, marker=".",
            markersize=4, drawstyle="steps-post",
        )  # fmt: skip
    ax.set_ylabel("committed offset")
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if 0 < len(data.commits) <= len(COLORS):
        named = zip(data.commits, COLORS, strict=False)
        legend(ax, [Patch(color=c, label=f"{x.topic}-{x.partition}") for x, c in named], "offset")
    text = "lag is not known: no log-end offsets were sampled" if data.commits else "no commits"
    say(ax, text)


def _values(line: Line) -> list[float]:
    return [np.nan if value is None else value for value in line.values]


def _total(lines: Sequence[Line]) -> tuple[list[int], list[float]]:
    """The sum over partitions, each with its newest value; a gap where none has one."""
    points = sorted(
        (at_ms, number, value)
        for number, line in enumerate(lines)
        for at_ms, value in zip(line.times, _values(line), strict=True)
    )
    newest: dict[int, float] = {}
    totals: dict[int, float] = {}
    for at_ms, number, value in points:
        newest[number] = value
        if np.isnan(value):
            del newest[number]
        totals[at_ms] = sum(newest.values()) if newest else np.nan
    return list(totals), list(totals.values())


def _short_number(value: float, _: object = None) -> str:
    for unit, name in _UNITS:
        if abs(value) >= unit:
            return f"{value / unit:g} {name}"
    return f"{value:g}"
