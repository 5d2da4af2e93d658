"""The upper part of the picture: generations side by side, and above them why they began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any, Final, NamedTuple

from matplotlib.axes import Axes

from drumbeat.pipeline.history.plot_axes import (
    ALARM,
    FAINT,
    INK,
    SMALL,
    TEXT_WIDTH,
    bar,
    clipped,
    days,
    share,
)
from drumbeat.pipeline.history.plot_data import GenerationSpan, PlotData

_BANDS: Final = ("#e3e7ee", "#cfd6e1")
_CAUSE_ROWS_MAX: Final = 3  # causes that would touch each other are written above each other
_BAND_IN, _CAUSE_ROW_IN = 0.3, 0.22
_CAUSE_HEIGHT: Final = _CAUSE_ROW_IN / _BAND_IN  # in heights of the band
_ALARMING: Final = frozenset({"SESSION_TIMEOUT", "POLL_INTERVAL", "FAILED"})


class PlacedCause(NamedTuple):
    span: GenerationSpan
    row: int
    is_left: bool  # of the moment it is about: there is no room at its right


def height_in(causes: Sequence[PlacedCause]) -> float:
    return _BAND_IN + _CAUSE_ROW_IN * (_rows(causes) + 0.4)


def draw_generations(ax: Axes, data: PlotData, causes: Sequence[PlacedCause]) -> None:
    for span, color in zip(data.generations, cycle(_BANDS), strict=False):
        start, end = clipped(data, span.from_ms, span.to_ms)
        ax.broken_barh([bar(start, end)], (0, 1), facecolors=color)
        text = str(span.generation)
        if len(text) * TEXT_WIDTH < share(data, end) - share(data, start):
            middle = days((start + end) // 2)
            ax.text(middle, 0.48, text, ha="center", va="center", fontsize=SMALL, color=INK)
    for cause in causes:
        _write_cause(ax, cause)
    ax.set_ylim(0, height_in(causes) / _BAND_IN)
    ticks = {"generation": 0.5} | ({"cause": _height_of(0)} if causes else {})
    ax.set_yticks(list(ticks.values()), list(ticks))
    ax.tick_params(axis="y", length=0)


def _write_cause(ax: Axes, cause: PlacedCause) -> None:
    span, row, is_left = cause
    color = ALARM if span.cause in _ALARMING else INK
    look: Any = {"fontsize": SMALL - 0.5, "color": color, "va": "center"}
    at, text = days(span.from_ms), f" {span.cause} "
    ax.text(at, _height_of(row), text, ha="right" if is_left else "left", **look)
    ax.plot([at, at], [1, _height_of(row + 0.4)], color=FAINT, linewidth=0.7)


def _height_of(row: float) -> float:
    return 1 + _CAUSE_HEIGHT * (row + 0.6)


def _rows(causes: Sequence[PlacedCause]) -> int:
    return max((cause.row + 1 for cause in causes), default=0)


def placed_causes(data: PlotData) -> Iterator[PlacedCause]:
    """Those that can be written without touching each other."""
    reached = dict.fromkeys(range(_CAUSE_ROWS_MAX), 0.0)
    for span in data.generations:
        if span.cause is None or not data.since <= span.from_ms <= data.until:
            continue
        at, width = share(data, span.from_ms), (len(span.cause) + 2) * TEXT_WIDTH
        is_left = at + width > 1
        begin = at - width if is_left else at
        row = next((row for row, end in reached.items() if end <= begin), None)
        if row is not None:
            reached[row] = begin + width
            yield PlacedCause(span, row, is_left)
