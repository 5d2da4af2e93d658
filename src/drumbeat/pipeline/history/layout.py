"""Tables for people, as wide as their terminal and not wider.

Numbers and names stay in one piece; long texts are folded into the room that is left. Where that is
not enough, columns of less interest are left out, and a line below says which.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from drumbeat.pipeline.history.cells import NOTHING, STYLES, cell, printable
from drumbeat.pipeline.history.times import time_text

PIPED_WIDTH: Final = 120
_GAP: Final = 2
_DAY_CHARACTERS: Final = len("2026-11-16")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    value: Callable[[Row], Any]
    is_time: bool = False  # in milliseconds since the epoch
    is_number: bool = False
    folds_to: int | None = None  # the least width to which texts are folded; None: never
    tells_apart: bool = False  # and says nothing if it is the same everywhere
    interest: int = 10  # columns of least interest go first


class View(NamedTuple):
    columns: tuple[Column, ...]
    notes: Callable[[Sequence[Row]], list[str]] = lambda _rows: []  # what is to be said below


class _Shown(NamedTuple):
    column: Column
    cells: list[str]

    @property
    def says_something(self) -> bool:
        different = set(self.cells)
        return different != {NOTHING} and not (self.column.tells_apart and len(different) == 1)

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.column.name, *self.cells)))

    @property
    def width_min(self) -> int:
        least = self.column.folds_to
        return self.width if least is None else min(self.width, least)


def write_view(view: View, rows: Sequence[Row], out: IO[str]) -> None:
    """Columns that say nothing are left out."""
    days = _days(view, rows)
    all_columns = [_shown(column, rows, is_one_day=len(days) == 1) for column in view.columns]
    said = [shown for shown in all_columns if shown.says_something]
    width = _width(out)
    kept = _fitting(said, width)
    if len(days) == 1 and any(shown.column.is_time for shown in kept):
        out.write(f"on {days.pop()}, UTC\n")
    _print(_table(kept, width, is_terminal=Console(file=out).is_terminal), width, out)
    missing = [shown.column.name for shown in said if shown not in kept]
    if missing:
        _print(Text(f"no room for {', '.join(missing)}; --wide shows everything"), width, out)
    notes = view.notes(rows)
    if notes:
        _print(Text("\n" + "\n".join(map(printable, notes))), width, out)


def _width(out: IO[str]) -> int:
    """COLUMNS, if it is set, counts without a terminal too."""
    console = Console(file=out)
    return console.width if console.is_terminal or "COLUMNS" in os.environ else PIPED_WIDTH


def _days(view: View, rows: Sequence[Row]) -> set[str]:
    times = (column.value(row) for column in view.columns if column.is_time for row in rows)
    return {time_text(at_ms)[:_DAY_CHARACTERS] for at_ms in times if at_ms is not None}


def _shown(column: Column, rows: Sequence[Row], *, is_one_day: bool) -> _Shown:
    values = [column.value(row) for row in rows]
    if column.is_time:
        values = [None if at_ms is None else _time(at_ms, is_one_day) for at_ms in values]
    return _Shown(column, list(map(cell, values)))


def _time(at_ms: int, is_one_day: bool) -> str:
    """To the millisecond within a day, to the second within longer."""
    text = time_text(at_ms).removesuffix("Z")
    return text[_DAY_CHARACTERS + 1 :] if is_one_day else text[:19].replace("T", " ")


def _fitting(columns: Sequence[_Shown], width: int) -> list[_Shown]:
    kept = list(columns)
    while len(kept) > 1 and _needed(kept) > width:
        kept.remove(min(reversed(kept), key=lambda shown: shown.column.interest))
    return kept


def _needed(columns: Sequence[_Shown]) -> int:
    return sum(shown.width_min for shown in columns) + _GAP * (len(columns) - 1)


def _widths(columns: Sequence[_Shown], width: int) -> list[int]:
    """What is left of the width goes to folded texts: names first, which are shorter."""
    widths = [shown.width_min for shown in columns]
    room = max(width - _needed(columns), 0)
    for number in sorted(range(len(columns)), key=lambda n: columns[n].width):
        more = min(columns[number].width - widths[number], room)
        widths[number] += more
        room -= more
    return widths


def _table(columns: Sequence[_Shown], width: int, *, is_terminal: bool) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD if is_terminal else None,
        padding=(0, 1 if is_terminal else _GAP, 0, 0),  # the box has a space of its own
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for shown, column_width in zip(columns, _widths(columns, width), strict=True):
        column = shown.column
        justify: JustifyMethod = "right" if column.is_number else "left"
        table.add_column(column.name, justify=justify, width=column_width, overflow="fold")
    for cells in zip(*(shown.cells for shown in columns), strict=True):
        table.add_row(*(Text(text, style=STYLES.get(text, "")) for text in cells))
    return table


def _print(what: Table | Text, width: int, out: IO[str]) -> None:
    """Without the spaces that fill lines up."""
    is_terminal = Console(file=out).is_terminal
    text = io.StringIO()
    console = Console(file=text, width=width, highlight=False, force_terminal=is_terminal)
    console.print(what)
    out.writelines(line.rstrip() + "\n" for line in text.getvalue().splitlines())
