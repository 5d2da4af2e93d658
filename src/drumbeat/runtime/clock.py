"""The only reader of time. Everything else receives `now_ms` or a Clock."""

import time
from typing import Final, Protocol

# Every request asks, and in compiled code finding these would take longer than calling them.
_monotonic_ns: Final = time.monotonic_ns
_clock_ns: Final = time.clock_gettime_ns
_BOOTTIME: Final = time.CLOCK_BOOTTIME


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time: what goes into records of data topics."""

    def monotonic_ms(self) -> int:
        """Time that never goes back: for measuring how long something took."""

    def steady_ms(self) -> int:
        """Wall-clock time that nobody sets: what sessions and their deadlines are measured with.

        A clock that is set back or forth would otherwise expire every member of every group, or
        none. It counts while the machine sleeps.
        """


class SystemClock:
    def __init__(self) -> None:
        self._steady_from_ns = time.time_ns() - _clock_ns(_BOOTTIME)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return _monotonic_ns() // 1_000_000

    def steady_ms(self) -> int:
        return (self._steady_from_ns + _clock_ns(_BOOTTIME)) // 1_000_000
