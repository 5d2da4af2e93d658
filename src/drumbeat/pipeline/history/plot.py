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
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from drumbeat.pipeline.history.plot_axes import (
    COLORS,
    FAINT,
    INK,
    bar,
    clipped,
    legend,
    say,
    show_times,
)
from drumbeat.pipeline.history.plot_data import OwnershipSpan, PlotData
from drumbeat.pipeline.history.plot_generations import draw_generations, height_in, placed_causes
from drumbeat.pipeline.history.plot_lag import draw_lag
from drumbeat.pipeline.history.times import span_text

DPI: Final = 130
_WIDTH_IN: Final = 12.5
_ROW_IN: Final = 0.24
_LAG_IN, _MARGINS_IN, _TITLE_IN = 2.4, 1.3, 0.06
_OWNERSHIP_IN: Final = (1.2, 9.0)
_LABELS_MAX: Final = 36  # partitions that fit with a label each
_OWNERS_NAMED: Final = 14
_REBALANCE, _REBALANCE_ALPHA = "#d62728", 0.18
_SHADE_MIN: Final = 500  # a shorter rebalance is drawn as this part of the picture
_STYLE: Final[Any] = {
    "font.size": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.parse_math": False,  # a name with two dollar signs is a name
}


def draw(data: PlotData, path: str) -> None:
    """Write the picture to `path` as PNG."""
    places = sorted({(span.topic, span.partition) for span in data.ownerships})
    lowest, highest = _OWNERSHIP_IN
    ownership_in = min(max(len(places) * _ROW_IN, lowest), highest)
    causes = list(placed_causes(data))
    heights = (height_in(causes), ownership_in, _LAG_IN)
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=(_WIDTH_IN, sum(heights) + _MARGINS_IN), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(3, 1, sharex=True, height_ratios=heights)
        draw_generations(axes[0], data, causes)
        _draw_ownership(axes[1], data, places)
        draw_lag(axes[2], data)
        _finish(figure, axes, data)
        figure.savefig(path, format="png", dpi=DPI)


def _draw_ownership(ax: Axes, data: PlotData, places: Sequence[tuple[str, int]]) -> None:
    names = _owner_names(data.ownerships)
    colors = dict(zip(sorted(set(names.values())), cycle(COLORS), strict=False))
    rows = {place: row for row, place in enumerate(places)}
    for span in data.ownerships:
        row = rows[span.topic, span.partition]
        # What is about to be given up is paler, and hatched.
        look: dict[str, Any] = {"alpha": 0.45, "hatch": "////"} if span.is_pending else {}
        ax.broken_barh(
            [bar(*clipped(data, span.from_ms, span.to_ms))], (row - 0.41, 0.82),
            facecolors=colors[names[span.member_id]], edgecolor="white", linewidth=0.6, **look,
        )  # fmt: skip
    if not places:
        say(ax, "no member owned a partition")
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
    legend(ax, handles, "owner")


def _finish(figure: Figure, axes: Sequence[Axes], data: PlotData) -> None:
    shaded = _rebalancing(data)
    for ax in axes:
        ax.broken_barh(
            shaded, (0, 1), transform=ax.get_xaxis_transform(), facecolors=_REBALANCE,
            alpha=_REBALANCE_ALPHA, linewidth=0, zorder=2 if ax is axes[0] else 0.5,
        )  # fmt: skip
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", color=FAINT, alpha=0.18, linewidth=0.6)
        ax.set_axisbelow(True)
    for ax in axes[:2]:
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.tick_params(axis="x", length=0, labelbottom=False)
    show_times(axes[-1], data)
    title = f"{data.group_id}: {_counted(len(data.generations), 'generation')}"
    figure.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    when = span_text(data.since, data.until)
    about = f"cluster {data.cluster_id}, {when}"
    top = 1 - _TITLE_IN / figure.get_figheight()
    figure.text(0.99, top, about, ha="right", va="top", color=FAINT, fontsize=9)
    if shaded:
        legend(axes[0], [Patch(color=_REBALANCE, alpha=_REBALANCE_ALPHA, label="rebalancing")])


def _owner_names(spans: Sequence[OwnershipSpan]) -> dict[str, str]:
    """What each member is called: its client id, numbered where several had the same.

    With more members than colours, all that a client ever was are one.
    """
    clients = {span.member_id: span.client_id or span.member_id for span in spans}
    sessions, counted = Counter(clients.values()), Counter[str]()
    if len(clients) > len(COLORS):
        return clients
    names = {}
    for member_id, client_id in clients.items():
        counted[client_id] += 1
        number = f" #{counted[client_id]}" if sessions[client_id] > 1 else ""
        names[member_id] = f"{client_id}{number}"
    return names


def _rebalancing(data: PlotData) -> list[tuple[float, float]]:
    """Stretches of time, those that overlap as one; none so short that it cannot be seen."""
    shortest_ms = (data.until - data.since) // _SHADE_MIN
    spans = sorted(
        clipped(data, min(span.rebalance_from_ms, span.from_ms - shortest_ms), span.from_ms)
        for span in data.generations
        if span.rebalance_from_ms is not None and span.from_ms >= data.since
    )
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return [bar(start, end) for start, end in found]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
