"""An event loop on which time passes only when nothing is left to do, and a clock that reads it.

asyncio runs unchanged on it. Worker threads do not exist: what is handed to an executor runs on
the loop after a delay, so a whole history is one thread and, from one seed, always the same.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START_MS = 1_700_000_000_000


class Stalled(Exception):  # noqa: N818 - what was found
    """Somebody waits for something that will never happen."""


class _Selector(selectors.SelectSelector):
    """Waiting for input is how an event loop lets time pass; here it passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Stalled("no timer is set and nothing is ready")
        self.now_s += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`io_delay_s` says how long a job in an executor takes."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        self.io_delay_s: Callable[[], float] = lambda: 0.0

    def time(self) -> float:
        return self._virtual.now_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()

        def run() -> None:
            if future.cancelled():
                return
            try:
                result = func(*args)
            except Exception as problem:  # noqa: BLE001 - raised where the job is awaited
                future.set_exception(problem)
            else:
                future.set_result(result)

        self.call_later(self.io_delay_s(), run)
        return future


class VirtualClock:
    """A runtime.clock.Clock. The wall clock can be set; the steady one cannot."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.wall_offset_ms = 0

    def now_ms(self) -> int:
        return self.steady_ms() + self.wall_offset_ms

    def monotonic_ms(self) -> int:
        return round(self._loop.time() * 1000)

    def steady_ms(self) -> int:
        return START_MS + self.monotonic_ms()
