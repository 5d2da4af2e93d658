"""Statistics over two windows of 30 seconds, Kafka's defaults for metrics. Pure."""

from __future__ import annotations

from typing import Final

WINDOW_MS: Final = 30_000  # metrics.sample.window.ms; metrics.num.samples is 2


class _Window:
    __slots__ = ("highest", "lowest", "times", "total")

    def __init__(self) -> None:
        self.times = 0
        self.total = 0.0
        self.highest = float("-inf")
        self.lowest = float("inf")

    def add(self, other: _Window) -> None:
        self.times += other.times
        self.total += other.total
        self.highest = max(self.highest, other.highest)
        self.lowest = min(self.lowest, other.lowest)


class Sampled:
    """What was recorded in this window and in the one before; and the total of all times."""

    __slots__ = ("_began_ms", "_current", "_previous", "all_time", "count")

    def __init__(self, now_ms: int) -> None:
        self._began_ms = now_ms
        self._current, self._previous = _Window(), _Window()
        self.all_time = 0.0
        self.count = 0

    def record(self, value: float, now_ms: int) -> None:
        if now_ms - self._began_ms >= WINDOW_MS:
            self._roll(now_ms)
        window = self._current
        window.times += 1
        window.total += value
        window.highest = max(window.highest, value)
        window.lowest = min(window.lowest, value)
        self.all_time += value
        self.count += 1

    def rate(self, now_ms: int) -> float:
        """What was recorded, per second."""
        return self._per_second(self._of(now_ms).total, now_ms)

    def frequency(self, now_ms: int) -> float:
        """How often something was recorded, per second."""
        return self._per_second(self._of(now_ms).times, now_ms)

    def average(self, now_ms: int) -> float:
        window = self._of(now_ms)
        return window.total / window.times if window.times else float("nan")

    def maximum(self, now_ms: int) -> float:
        window = self._of(now_ms)
        return window.highest if window.times else float("nan")

    def minimum(self, now_ms: int) -> float:
        window = self._of(now_ms)
        return window.lowest if window.times else float("nan")

    def _of(self, now_ms: int) -> _Window:
        self._roll(now_ms)
        both = _Window()
        both.add(self._current)
        both.add(self._previous)
        return both

    def _per_second(self, amount: float, now_ms: int) -> float:
        elapsed_ms = now_ms - self._began_ms + (WINDOW_MS if self._previous.times else 0)
        return 1000 * amount / max(elapsed_ms, WINDOW_MS)

    def _roll(self, now_ms: int) -> None:
        windows = (now_ms - self._began_ms) // WINDOW_MS
        if windows > 0:
            self._previous = self._current if windows == 1 else _Window()
            self._current = _Window()
            self._began_ms += windows * WINDOW_MS
