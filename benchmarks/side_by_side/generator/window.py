"""A stretch of time, and the CPU that the server and everybody else took in it."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from benchmarks.side_by_side.processes import cpu_s, machine_busy_s


class Window(NamedTuple):
    wall_s: float
    server_cpu_s: float
    other_cpu_s: float  # neither the server's nor the generator's: how noisy the machine was


class OpenWindow:
    def __init__(self, server_pid: int) -> None:
        self._server_pid = server_pid
        self._before = self._read()

    def close(self) -> Window:
        wall, server, own, machine = (
            after - before for before, after in zip(self._before, self._read(), strict=True)
        )
        return Window(wall, server, max(machine - server - own, 0.0))

    def _read(self) -> tuple[float, float, float, float]:
        return (
            time.perf_counter(),
            cpu_s(self._server_pid),
            cpu_s(os.getpid()),
            machine_busy_s(),
        )
