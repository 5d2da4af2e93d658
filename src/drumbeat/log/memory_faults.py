"""How a memory store misbehaves on purpose."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from drumbeat.log.errors import AppendFailed, LogFull


class SyncFault(NamedTuple):
    """How one sync fails: which error, and whether its data reached the disk all the same."""

    error: type[LogFull | AppendFailed]
    lands: bool


class Faults:
    """Switches of a memory store; all of them act on the syncs that begin next."""

    def __init__(self) -> None:
        self._is_holding = False
        self._held: list[Callable[[], None]] = []
        self._failures: deque[SyncFault] = deque()

    def hold_syncs(self) -> None:
        """From now on syncs begin but do not end."""
        self._is_holding = True

    def release_syncs(self) -> None:
        """Let held syncs end, in the order in which they began, and hold no more."""
        self._is_holding = False
        held, self._held = self._held, []
        for end in held:
            end()

    def fail_next_sync(self, error: type[LogFull | AppendFailed], *, lands: bool = False) -> None:
        """`lands` is for AppendFailed: the outcome that its caller cannot know."""
        self._failures.append(SyncFault(error, lands))

    def schedule(self, end: Callable[[SyncFault | None], None]) -> None:
        """Called by a log whose sync begins: when and how will it end?"""
        failure = self._failures.popleft() if self._failures else None
        if self._is_holding:
            self._held.append(lambda: end(failure))
        else:
            asyncio.get_running_loop().call_soon(end, failure)
