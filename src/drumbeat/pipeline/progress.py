"""How far a job is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import IO, Final, NamedTuple, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from drumbeat.client.clock import monotonic_ms

T = TypeVar("T")

POLL_SECONDS: Final = 0.25
LINE_EVERY_MS: Final = 5_000


class Counts(NamedTuple):
    rows: int = 0
    bytes: int = 0  # of the log, read so far


class Show(Protocol):
    def __call__(self, counts: Counts, total_bytes: int, elapsed_ms: int) -> None:
        """Called several times a second, and once at the end."""


def rate(rows: int, elapsed_ms: int) -> int:
    """Per second."""
    return rows * 1000 // max(elapsed_ms, 1)


def describe(counts: Counts, elapsed_ms: int) -> str:
    return f"{counts.rows:,} records, {rate(counts.rows, elapsed_ms):,} records/s"


@contextmanager
def reporter(out: IO[str], step: str) -> Iterator[Show]:
    """Shows on `out` what fits there, until the end of the context; `step` is what goes on."""
    console = Console(file=out)
    if not console.is_terminal:
        yield Lines(out, step)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(step, total=None)

        def show(counts: Counts, total_bytes: int, elapsed_ms: int) -> None:
            progress.update(
                task,
                completed=counts.bytes,
                total=total_bytes,
                description=f"{step}: {describe(counts, elapsed_ms)}",
            )

        yield show


class Lines:
    """At most one line in LINE_EVERY_MS, and none if there is no news."""

    def __init__(self, out: IO[str], step: str) -> None:
        self._out, self._step = out, step
        self._shown = Counts()
        self._next_ms = LINE_EVERY_MS

    def __call__(self, counts: Counts, total_bytes: int, elapsed_ms: int) -> None:
        if elapsed_ms < self._next_ms or counts == self._shown:
            return
        # Tasks that were tried again are counted again.
        percent = min(counts.bytes * 100 // max(total_bytes, 1), 100)
        line = f"{self._step}: {percent:3d} %  {describe(counts, elapsed_ms)}"
        print(line, file=self._out, flush=True)
        self._shown = counts
        self._next_ms = elapsed_ms + LINE_EVERY_MS


def show_nothing(counts: Counts, total_bytes: int, elapsed_ms: int) -> None:
    """For those who ask for no progress."""


def watched(work: Callable[[], T], count: Callable[[], Counts], total_bytes: int, show: Show) -> T:
    """What `work` returns or raises; its counts are shown while it goes on.

    It runs in a thread of its own: PySpark answers Ctrl-C in the main thread by cancelling the
    job, and cannot while that thread waits for the job itself.
    """
    started_ms = monotonic_ms()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="job") as pool:
        working = pool.submit(work)
        is_done = False
        while not is_done:
            is_done = bool(wait([working], POLL_SECONDS).done)
            show(count(), total_bytes, monotonic_ms() - started_ms)
        return working.result()
