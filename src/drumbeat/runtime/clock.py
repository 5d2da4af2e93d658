"""The only reader of time. Everything else receives `now_ms` or a Clock."""

import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time: what goes into records."""

    def monotonic_ms(self) -> int:
        """Time that never goes back: what deadlines are measured with."""


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
