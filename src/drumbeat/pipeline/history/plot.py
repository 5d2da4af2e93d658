"""The picture of a group: generations, who owned which partition, and the lag, over one time axis.

Drawn without a display. Stretches of rebalancing are shaded through all three parts.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib import dates as matplotlib_dates
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from drumbeat.pipeline.history.plot_data import Line, OwnershipSpan, PlotData
from drumbeat.pipeline.history.times import time_text

_DATES: Any = matplotlib_dates  # has no types

DPI: Final = 130
_WIDTH_IN: Final = 12.5
_ROW_IN: Final = 0.24
_OWNERSHIP_IN: Final = (1.2, 9.0)
_LABELS_MAX: Final = 36  # partitions that fit with a label each
_OWNERS_NAMED: Final = 14
_TEXT_WIDTH: Final = 0.0075  # of a character, as a share of the time axis
_MEMBER_COLORS: Final = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a90f", "#7a5195",
    "#4c9f70", "#8c6d46", "#5b7db1", "#c06c84",
)  # fmt: skip
_REBALANCE, _REBALANCE_ALPHA = "#d62728", 0.18
_INK, _FAINT, _BAND = "#222222", "#8a8f98", ("#e3e7ee", "#cfd6e1")
_STYLE: Final[Any] = {
    "font.size": 9,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.parse_math": False,  # a name with two dollar signs is a name
}
_UNITS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def draw(data: PlotData, path: str) -> None:
    """Write the picture to `path` as PNG."""
    places = sorted({(span.topic, span.partition) for span in data.ownerships})
    lowest, highest = _OWNERSHIP_IN
    ownership_in = min(max(len(places) * _ROW_IN, lowest), highest)
    heights = (0.55, ownership_in, 2.4)
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=(_WIDTH_IN, sum(heights) + 1.5), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(3, 1, sharex=True, height_ratios=heights)
        _draw_generations(axes[0], data)
        _draw_ownership(axes[1], data, places)
        _draw_lag(axes[2], data)
        _finish(figure, axes, data)
        figure.savefig(path, format="png", dpi=DPI)


def _draw_generations(ax: Axes, data: PlotData) -> None:
    for span, color in zip(data.generations, cycle(_BAND), strict=False):
        start, end = _clipped(data, span.from_ms, span.to_ms)
        ax.broken_barh([_bar(start, end)], (0, 1), facecolors=color)
        texts = (f"{span.generation} {span.cause}" if span.cause else "", f"{span.generation}")
        share = (end - start) / (data.until - data.since)
        text = next((t for t in texts if t and len(t) * _TEXT_WIDTH < share), None)
        if text is not None:
            middle = _days((start + end) // 2)
            ax.text(middle, 0.5, text, ha="center", va="center", fontsize=8, color=_INK)
    ax.set(ylim=(0, 1), yticks=[])
    ax.set_ylabel("generation", rotation=0, ha="right", va="center")


def _draw_ownership(ax: Axes, data: PlotData, places: Sequence[tuple[str, int]]) -> None:
    names = _owner_names(data.ownerships)
    colors = dict(zip(dict.fromkeys(names.values()), cycle(_MEMBER_COLORS), strict=False))
    rows = {place: row for row, place in enumerate(places)}
    for span in data.ownerships:
        bar = _bar(*_clipped(data, span.from_ms, span.to_ms))
        row = rows[span.topic, span.partition]
        # What is about to be given up is paler, and hatched.
        look: dict[str, Any] = {"alpha": 0.45, "hatch": "////"} if span.is_pending else {}
        color = colors[names[span.member_id]]
        ax.broken_barh(
            [bar], (row - 0.41, 0.82), facecolors=color, edgecolor="white", linewidth=0.6, **look
        )
    if not places:
        _say(ax, "no member owned a partition")
        ax.set(yticks=[])
        return
    step = -(-len(places) // _LABELS_MAX)
    ticks = range(0, len(places), step)
    ax.set_yticks(ticks, [f"{places[row][0]}-{places[row][1]}" for row in ticks])
    ax.set_ylim(len(places) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    handles = [Patch(color=colors[name], label=name) for name in list(colors)[:_OWNERS_NAMED]]
    if len(colors) > _OWNERS_NAMED:
        handles.append(Patch(color="none", label=f"and {len(colors) - _OWNERS_NAMED} more"))
    _legend(ax, handles, "owner")


def _draw_lag(ax: Axes, data: PlotData) -> None:
    lines = data.lags
    if not lines:
        _draw_commits(ax, data)
        return
    for line in lines:
        ax.plot(_days(line.times), _values(line), color=_FAINT, linewidth=0.7, alpha=0.7)
    times, total = _total(lines)
    ax.plot(_days(times), total, color=_INK, linewidth=1.6)
    ax.fill_between(_days(times), total, color=_INK, alpha=0.07, linewidth=0)
    ax.set_ylabel("lag (records)")
    ax.set_ylim(bottom=0)
    handles = [Patch(color=_INK, label="all partitions"), Patch(color=_FAINT, label="each")]
    _legend(ax, handles, "lag")


def _draw_commits(ax: Axes, data: PlotData) -> None:
    """In place of the lag that nobody knows: how far the commits got."""
    for line, color in zip(data.commits, cycle(_MEMBER_COLORS), strict=False):
        ax.plot(
            _days(line.times), _values(line), color=color, linewidth=1.2, marker=".",
            markersize=4, drawstyle="steps-post",
        )  # fmt: skip
    ax.set_ylabel("committed offset")
    if 0 < len(data.commits) <= len(_MEMBER_COLORS):
        named = zip(data.commits, _MEMBER_COLORS, strict=False)
        _legend(ax, [Patch(color=c, label=f"{x.topic}-{x.partition}") for x, c in named], "offset")
    text = "lag is not known: no log-end offsets were sampled" if data.commits else "no commits"
    _say(ax, text)


def _finish(figure: Figure, axes: Sequence[Axes], data: PlotData) -> None:
    shaded = _rebalancing(data)
    for ax in axes:
        ax.broken_barh(
            shaded, (0, 1), transform=ax.get_xaxis_transform(), facecolors=_REBALANCE,
            alpha=_REBALANCE_ALPHA, zorder=2 if ax is axes[0] else 0.5,
        )  # fmt: skip
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", color=_FAINT, alpha=0.18, linewidth=0.6)
        ax.set_axisbelow(True)
    for ax in axes[:2]:
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.tick_params(axis="x", length=0, labelbottom=False)
    bottom = axes[-1]
    bottom.set_xlim(_days(data.since), _days(data.until))
    bottom.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    bottom.yaxis.set_major_formatter(FuncFormatter(_short_number))
    locator = _DATES.AutoDateLocator()
    bottom.xaxis.set_major_locator(locator)
    bottom.xaxis.set_major_formatter(_DATES.ConciseDateFormatter(locator, show_offset=False))
    bottom.set_xlabel(f"UTC, {time_text(data.since)} to {time_text(data.until)}", color=_FAINT)
    title = f"{data.group_id}: {_counted(len(data.generations), 'generation')}"
    figure.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    if shaded:
        _legend(axes[0], [Patch(color=_REBALANCE, alpha=_REBALANCE_ALPHA, label="rebalancing")])


def _legend(ax: Axes, handles: Sequence[Patch], title: str | None = None) -> None:
    ax.legend(
        handles=list(handles), title=title, loc="upper left", bbox_to_anchor=(1.005, 1.02),
        frameon=False, fontsize=8, title_fontsize=8, alignment="left", handlelength=1.2,
        borderaxespad=0,
    )  # fmt: skip


def _say(ax: Axes, text: str) -> None:
    ax.text(0.005, 0.97, text, transform=ax.transAxes, va="top", color=_FAINT, fontsize=8)


def _owner_names(spans: Sequence[OwnershipSpan]) -> dict[str, str]:
    """What each member is called: its client id, numbered where several had the same.

    With more members than colours, all that a client ever was are one.
    """
    clients = {span.member_id: span.client_id or span.member_id for span in spans}
    sessions, counted = Counter(clients.values()), Counter[str]()
    if len(clients) > len(_MEMBER_COLORS):
        return clients
    names = {}
    for member_id, client_id in clients.items():
        counted[client_id] += 1
        number = f" #{counted[client_id]}" if sessions[client_id] > 1 else ""
        names[member_id] = f"{client_id}{number}"
    return names


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


def _rebalancing(data: PlotData) -> list[tuple[float, float]]:
    """Stretches of time, those that overlap as one."""
    spans = sorted(
        _clipped(data, span.rebalance_from_ms, span.from_ms)
        for span in data.generations
        if span.rebalance_from_ms is not None and span.from_ms >= data.since
    )
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return [_bar(start, end) for start, end in found]


def _clipped(data: PlotData, from_ms: int, to_ms: int | None) -> tuple[int, int]:
    start = max(from_ms, data.since)
    return start, max(min(data.until if to_ms is None else to_ms, data.until), start)


def _bar(from_ms: int, to_ms: int) -> tuple[float, float]:
    start = _days(from_ms)
    return start, _days(to_ms) - start


def _days(at_ms: Any) -> Any:
    """As matplotlib counts time."""
    return _DATES.date2num(np.asarray(at_ms, dtype="datetime64[ms]"))


def _short_number(value: float, _: object = None) -> str:
    for unit, name in _UNITS:
        if abs(value) >= unit:
            return f"{value / unit:g} {name}"
    return f"{value:g}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
