"""Rows that answer a question, and how they are written: for people, or for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import IO, Any, Final, NamedTuple

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from drumbeat.pipeline.history.cells import STYLES, cell, plain, printable
from drumbeat.pipeline.history.layout import View, write_view
from drumbeat.pipeline.history.times import time_text

TABLE_ROWS: Final = 100  # unless more are asked for; files and programs get all
_FOLDED_FROM: Final = 32  # characters; shorter cells stay in one piece
_WIDTH_MAX: Final = 10_000


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class Answer(NamedTuple):
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    times: Collection[str] = ()  # columns of milliseconds since the epoch
    title: str = ""
    view: View | None = None  # how people see the rows, if not all columns as they are

    def readable(self) -> list[tuple[Any, ...]]:
        """With instants as text."""
        at = [n for n, name in enumerate(self.columns) if name in self.times]
        return [_with_times(row, at) for row in self.rows] if at else list(self.rows)

    def documents(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.readable()]


def write_answer(answer: Answer, output: Output, out: IO[str], limit: int = TABLE_ROWS) -> None:
    """`limit` is for tables only; 0 is none."""
    match output:
        case Output.JSON:
            write_json(answer.documents(), out)
        case Output.CSV:
            write_csv(answer, out)
        case Output.TABLE:
            write_table(answer, out, limit)


def write_json(document: Any, out: IO[str]) -> None:
    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    out.write(text + "\n")


def write_csv(answer: Answer, out: IO[str]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(answer.columns)
    for row in answer.readable():
        writer.writerow([_csv_cell(value) for value in row])


def write_table(answer: Answer, out: IO[str], limit: int = TABLE_ROWS) -> None:
    """As its view says, or with all columns, however wide that gets."""
    shown = answer._replace(rows=answer.rows[:limit] if limit else answer.rows)
    console = Console(file=out, highlight=False)
    if answer.title:
        console.print(Text(printable(answer.title)), style="bold", soft_wrap=True)
    if not answer.rows:
        out.write("nothing\n")
    elif answer.view is not None:
        write_view(
            answer.view, [dict(zip(answer.columns, row, strict=True)) for row in shown.rows], out
        )
    elif console.is_terminal:
        _write_rich_table(shown, out)
    else:
        out.write(_text_table(shown))
    if len(shown.rows) < len(answer.rows):
        more = len(answer.rows) - len(shown.rows)
        out.write(f"{more:,} more; --limit 0 shows all\n")


def _write_rich_table(answer: Answer, out: IO[str]) -> None:
    """As wide as it must be: a line that the terminal wraps is better than a number cut short."""
    folded = rich_table(answer)
    for column in folded.columns:
        column.max_width = column.min_width  # also a word that is longer, such as a member id
    console = Console(file=out, highlight=False)
    needed = Measurement.get(console, console.options.update(width=_WIDTH_MAX), folded).minimum
    console.width = max(console.width, needed)
    console.print(rich_table(answer), crop=False)


def rich_table(answer: Answer) -> Table:
    """Columns that say nothing are left out; long texts are folded."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    columns = list(zip(*answer.readable(), strict=True))
    said = [n for n, column in enumerate(columns) if any(value is not None for value in column)]
    are_numbers = _are_numbers(answer)
    for n in said:
        is_short = max(len(cell(value)) for value in columns[n]) <= _FOLDED_FROM
        table.add_column(
            answer.columns[n],
            justify="right" if are_numbers[n] else "left",
            no_wrap=is_short,
            min_width=None if is_short else _FOLDED_FROM,
            overflow="fold",
        )
    for row in zip(*(columns[n] for n in said), strict=True):
        texts = map(cell, row)
        table.add_row(*(Text(text, style=STYLES.get(text, "")) for text in texts))
    return table


def _text_table(answer: Answer) -> str:
    lines = [list(answer.columns), *(list(map(cell, row)) for row in answer.readable())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    align = [str.rjust if is_number else str.ljust for is_number in _are_numbers(answer)]
    text = ""
    for line in lines:
        cells = (a(cell, w) for a, cell, w in zip(align, line, widths, strict=True))
        text += "  ".join(cells).rstrip() + "\n"
    return text


def _are_numbers(answer: Answer) -> list[bool]:
    columns = zip(*answer.readable(), strict=True)
    return [
        all(value is None or isinstance(value, int | float) for value in column)
        for column in columns
    ]


def _with_times(row: tuple[Any, ...], at: list[int]) -> tuple[Any, ...]:
    cells = list(row)
    for n in at:
        cells[n] = None if cells[n] is None else time_text(cells[n])
    return tuple(cells)


def _csv_cell(value: Any) -> Any:
    is_nested = isinstance(value, list | tuple | Mapping)
    return json.dumps(plain(value), ensure_ascii=False) if is_nested else plain(value)
