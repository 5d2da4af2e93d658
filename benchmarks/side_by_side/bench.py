"""What every measurement shares: how long to measure, where results go, and a quiet machine."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.side_by_side.generator import Job, run_job
from benchmarks.side_by_side.generator.window import Window
from benchmarks.side_by_side.processes import machine_busy_s
from benchmarks.side_by_side.results import Results

Result = TypeVar("Result")

# Both brokers and this process, all idle, stay below this share of a core.
QUIET_CORES = 0.25
WARM_GAIN = 1.05
QUIET_SAMPLE_S = 0.25


class Plan(NamedTuple):
    """How much is measured.

    A JVM is warm when two more `warm_up_s` of the very load that is measured next have made it
    less than `WARM_GAIN` faster, or after `warm_ups_max` of them.
    """

    cold_repetitions: int
    repetitions: int
    window_s: float
    cold_window_s: float
    warm_up_s: float
    warm_ups_max: int
    warm_rebalances: int
    connections: tuple[int, ...]
    members: tuple[int, ...]
    groups: tuple[int, ...]
    offsets: tuple[int, ...]
    restarts: int
    batch_bytes: tuple[int, ...]
    growth: bool  # whether the loads that only show growth are measured


QUICK = Plan(
    cold_repetitions=2,
    repetitions=3,
    window_s=1.0,
    cold_window_s=1.0,
    warm_up_s=2.5,
    warm_ups_max=6,
    warm_rebalances=4,
    connections=(100,),
    members=(1_000,),
    groups=(10_000,),
    offsets=(1_000_000,),
    restarts=2,
    batch_bytes=(100_000,),
    growth=False,
)
FULL = QUICK._replace(
    cold_repetitions=3,
    repetitions=5,
    window_s=1.5,
    warm_rebalances=10,
    connections=(1, 10, 100, 1_000),
    members=(10, 100, 1_000),
    groups=(1_000, 10_000, 100_000),
    offsets=(10_000, 100_000, 1_000_000),
    batch_bytes=(10_000, 100_000, 1_000_000),
    growth=True,
)


class Bench:
    def __init__(self, plan: Plan, folder: Path, patience_s: float) -> None:
        self.plan = plan
        self.folder = folder
        self.results = Results()
        self._patience_s = patience_s
        self._began_s = time.monotonic()

    def say(self, what: str) -> None:
        print(f"{time.monotonic() - self._began_s:6.0f} s  {what}", flush=True)

    def run(self, job: Job[Result]) -> Result:
        """Run a job, when the machine is quiet or patience has run out."""
        self.await_quiet()
        return run_job(job)

    def note(self, window: Window) -> None:
        """Remember how much of the machine others had while something was measured."""
        self.results.noise.append(window.other_cpu_s / window.wall_s)

    def await_quiet(self) -> None:
        # What others have left in the page cache would be written while somebody waits for a sync.
        os.sync()
        deadline = time.monotonic() + self._patience_s
        while time.monotonic() < deadline:
            busy, began = machine_busy_s(), time.monotonic()
            time.sleep(QUIET_SAMPLE_S)
            if (machine_busy_s() - busy) / (time.monotonic() - began) < QUIET_CORES:
                return
