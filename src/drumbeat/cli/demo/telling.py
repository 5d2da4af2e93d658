"""How the demo speaks, and how it waits: with a limit, and words for what did not happen."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

WAIT_S = 30.0
LOOK_EVERY_S = 0.02


class DemoError(Exception):
    """A step that did not work out, in words."""


class Teller:
    """Numbers and times the scenes. Plain lines where there is no terminal."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, soft_wrap=True)
        self._started = time.perf_counter()
        self._scene = 0

    def scene(self, title: str) -> None:
        self._scene += 1
        self._console.print(Text(f"\n{self._scene}. {title}", style="bold"))

    def say(self, text: str) -> None:
        seconds = time.perf_counter() - self._started
        self._console.print(Text.assemble((f"{seconds:6.1f} s  ", "dim"), text))

    def command(self, words: list[str]) -> None:
        """What one could have typed."""
        self._console.print(Text(f"\n  $ drumbeat {' '.join(words)}", style="cyan"))


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.perf_counter() + WAIT_S
    while not condition():
        if time.perf_counter() > deadline:
            raise DemoError(f"waited {WAIT_S:.0f} s in vain until {what}")
        time.sleep(LOOK_EVERY_S)
