"""What all parts of the picture share: the time axis, colours, legends and small texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib import dates as matplotlib_dates
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from drumbeat.pipeline.history.plot_data import PlotData

_DATES: Any = matplotlib_dates  # has no types

INK, FAINT, ALARM = "#222222", "#8a8f98", "#c22f2f"
COLORS: Final = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a90f", "#7a5195",
    "#4c9f70", "#8c6d46", "#5b7db1", "#c06c84",
)  # fmt: skip
SMALL: Final = 8  # points
TEXT_WIDTH: Final = 0.0069  # of a small character, as a share of the time axis
_DAY_MS: Final = 24 * 3_600_000
# Up to how long a picture, and how its times are written.
_TIMES: Final = ((20 * 60_000, "%H:%M:%S"), (_DAY_MS, "%H:%M"), (30 * _DAY_MS, "%m-%d %H:%M"))


def clipped(data: PlotData, from_ms: int, to_ms: int | None) -> tuple[int, int]:
    """The part of a stretch of time that the picture shows."""
    start = max(from_ms, data.since)
    return start, max(min(data.until if to_ms is None else to_ms, data.until), start)


def share(data: PlotData, at_ms: int) -> float:
    """Where a time is on the axis, from 0 to 1."""
    return (at_ms - data.since) / (data.until - data.since)


def bar(from_ms: int, to_ms: int) -> tuple[float, float]:
    start = days(from_ms)
    return start, days(to_ms) - start


def days(at_ms: Any) -> Any:
    """As matplotlib counts time."""
    return _DATES.date2num(np.asarray(at_ms, dtype="datetime64[ms]"))


def show_times(ax: Axes, data: PlotData) -> None:
    span_ms = data.until - data.since
    text = next((text for longest_ms, text in _TIMES if span_ms <= longest_ms), "%Y-%m-%d")
    ax.set_xlim(days(data.since), days(data.until))
    ax.xaxis.set_major_locator(_DATES.AutoDateLocator(minticks=5, maxticks=11))
    ax.xaxis.set_major_formatter(_DATES.DateFormatter(text))


def legend(ax: Axes, handles: Sequence[Patch], title: str | None = None) -> None:
    """At the right of the axes."""
    ax.legend(
        handles=list(handles), title=title, loc="upper left", bbox_to_anchor=(1.005, 1.02),
        frameon=False, fontsize=SMALL, title_fontsize=SMALL, alignment="left", handlelength=1.2,
        borderaxespad=0,
    )  # fmt: skip


def say(ax: Axes, text: str) -> None:
    """In the corner where there is room."""
    ax.text(0.005, 0.97, text, transform=ax.transAxes, va="top", color=FAINT, fontsize=SMALL)
