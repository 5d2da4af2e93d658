"""Keeping background work small: pauses that hold it to a share of a core and a rate of bytes.

Python threads take turns, so a worker that computes slows the event loop down. It therefore works
in slices of a few milliseconds and sleeps in between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from drumbeat.log.port import CompactionBudget

# How much is read or written before the clocks are looked at: at a hundred bytes a batch this is
# one or two milliseconds of work.
SLICE_BYTES: Final = 16 << 10


class Stopped(Exception):  # noqa: N818 - what happened
    """Somebody does not want this work to go on."""


class Throttle:
    """Belongs to the thread that works. `stop` is set by others, and ends a pause at once."""

    def __init__(
        self,
        budget: CompactionBudget,
        stop: threading.Event,
        *,
        wall_s: Callable[[], float] = time.perf_counter,
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._budget = budget
        self._stop = stop
        self._wall_s = wall_s
        self._cpu_s = cpu_s
        self._bytes = 0
        self._wall_mark = wall_s()
        self._cpu_mark = cpu_s()

    def spend(self, size: int) -> None:
        """So many bytes were read or written. Pauses if that was too fast; raises Stopped."""
        self._bytes += size
        if self._bytes >= SLICE_BYTES:
            self._end_slice()

    def _end_slice(self) -> None:
        worked_s = self._cpu_s() - self._cpu_mark
        due_s = max(worked_s / self._budget.cpu_share, self._bytes / self._budget.bytes_per_second)
        pause_s = due_s - (self._wall_s() - self._wall_mark)
        if pause_s > 0:
            self._stop.wait(pause_s)
        if self._stop.is_set():
            raise Stopped
        self._bytes = 0
        self._wall_mark = self._wall_s()
        self._cpu_mark = self._cpu_s()
