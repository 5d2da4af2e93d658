"""Drawing groups again and again: live on a terminal, one below the other elsewhere."""

import json
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from drumbeat.cli.common import Output, show
from drumbeat.cli.groups.view import GroupView
from drumbeat.cli.logs import escaped
from drumbeat.client.clock import now_ms
from drumbeat.pipeline.history.answer import rich_table
from drumbeat.pipeline.history.times import time_text

Draw = Callable[[list[GroupView]], None]


def drawing(output: Output) -> AbstractContextManager[Draw]:
    """How rounds are shown here."""
    if output is Output.JSON:
        return nullcontext(_write_line)
    return _live() if sys.stdout.isatty() else nullcontext(_print)


def _write_line(views: list[GroupView]) -> None:
    """One array per line, so that a reader can tell the rounds apart."""
    print(json.dumps([view.document() for view in views], ensure_ascii=False), flush=True)


def _print(views: list[GroupView]) -> None:
    print(_now())
    for view in views:
        for answer in view.answers():
            show(answer, Output.TABLE)
    print(flush=True)


@contextmanager
def _live() -> Iterator[Draw]:
    with Live(auto_refresh=False, vertical_overflow="crop") as live:
        yield lambda views: live.update(_picture(views), refresh=True)


def _picture(views: list[GroupView]) -> Group:
    parts: list[Any] = []
    for view in views:
        parts.append(Text(escaped(view.title()), style="bold"))
        parts += [rich_table(answer) for answer in view.answers() if answer.rows]
    return Group(*parts, Text(f"{_now()}; q ends", style="dim"))


def _now() -> str:
    return time_text(now_ms())


class Pause:
    """The time between two rounds, which a key can cut short."""

    def __init__(self) -> None:
        self._saved: list[Any] | None = None

    def __enter__(self) -> "Pause":
        if sys.stdin.isatty():
            import termios
            import tty

            self._saved = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)  # single keys, unseen; Ctrl-C stays what it is
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._saved is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._saved)

    def is_ended_within(self, seconds: float) -> bool:
        """Wait; whether q was pressed. Any other key has the next round begin at once."""
        watched = [sys.stdin] if self._saved is not None else []
        pressed, _, _ = select.select(watched, [], [], seconds)
        return bool(pressed) and sys.stdin.read(1) in ("q", "Q", "")
