"""The producer's metrics, by the names they have in Kafka's producer-metrics group.

Pure. Rates, averages and maxima are over two windows of 30 seconds, as Kafka's defaults are.
"""

from __future__ import annotations

from typing import Final

from drumbeat.client.producer.batch import ProducerBatch

WINDOW_MS: Final = 30_000  # metrics.sample.window.ms; metrics.num.samples is 2


class Sampled:
    """Count, sum and maximum of what was recorded in this window and in the one before."""

    __slots__ = ("_began_ms", "_current", "_previous")

    def __init__(self, now_ms: int) -> None:
        self._began_ms = now_ms
        self._current = (0, 0.0, 0.0)
        self._previous = (0, 0.0, 0.0)

    def record(self, value: float, now_ms: int) -> None:
        self._roll(now_ms)
        count, total, highest = self._current
        self._current = (count + 1, total + value, max(highest, value))

    def rate(self, now_ms: int) -> float:
        """Per second."""
        self._roll(now_ms)
        elapsed_ms = now_ms - self._began_ms + (WINDOW_MS if self._previous[0] else 0)
        return 1000 * self.total / max(elapsed_ms, WINDOW_MS)

    @property
    def total(self) -> float:
        return self._current[1] + self._previous[1]

    @property
    def average(self) -> float:
        count = self._current[0] + self._previous[0]
        return self.total / count if count else float("nan")

    @property
    def maximum(self) -> float:
        count = self._current[0] + self._previous[0]
        return max(self._current[2], self._previous[2]) if count else float("nan")

    def _roll(self, now_ms: int) -> None:
        elapsed_windows = (now_ms - self._began_ms) // WINDOW_MS
        if elapsed_windows <= 0:
            return
        self._previous = self._current if elapsed_windows == 1 else (0, 0.0, 0.0)
        self._current = (0, 0.0, 0.0)
        self._began_ms += elapsed_windows * WINDOW_MS


_TOTALS: Final = ("record-send", "record-retry", "record-error", "batch-split", "outgoing-byte")
_AVERAGES: Final = (
    "batch-size",
    "records-per-request",
    "record-size",
    "record-queue-time",
    "request-latency",
    "compression-rate",
    "produce-throttle-time",
)
_WITH_MAXIMUM: Final = frozenset(
    {"batch-size", "record-queue-time", "request-latency", "produce-throttle-time"}
)


class ProducerMetrics:
    def __init__(self, now_ms: int) -> None:
        self._sampled = {name: Sampled(now_ms) for name in (*_TOTALS, *_AVERAGES)}
        self._totals = dict.fromkeys(_TOTALS, 0)

    def count(self, name: str, amount: int, now_ms: int) -> None:
        self._totals[name] += amount
        self._sampled[name].record(amount, now_ms)

    def sent(self, batches: list[ProducerBatch], now_ms: int) -> None:
        """A request with these encoded batches goes out."""
        record = {name: self._sampled[name].record for name in _AVERAGES}
        records = 0
        for batch in batches:
            encoded_bytes = len(batch.encoded or b"")
            records += len(batch.rows)
            record["batch-size"](encoded_bytes, now_ms)
            record["record-size"](batch.size / len(batch.rows), now_ms)
            record["record-queue-time"](now_ms - batch.created_ms, now_ms)
            record["compression-rate"](encoded_bytes / batch.size, now_ms)
        record["records-per-request"](records, now_ms)
        self.count("outgoing-byte", sum(len(b.encoded or b"") for b in batches), now_ms)
        self.count("record-send", records, now_ms)

    def answered(self, latency_ms: int, throttle_time_ms: int, now_ms: int) -> None:
        self._sampled["request-latency"].record(latency_ms, now_ms)
        self._sampled["produce-throttle-time"].record(throttle_time_ms, now_ms)

    def snapshot(self, now_ms: int) -> dict[str, float]:
        values: dict[str, float] = {}
        for name, total in self._totals.items():
            values[f"{name}-total"] = total
            values[f"{name}-rate"] = self._sampled[name].rate(now_ms)
        for name in _AVERAGES:
            values[f"{name}-avg"] = self._sampled[name].average
            if name in _WITH_MAXIMUM:
                values[f"{name}-max"] = self._sampled[name].maximum
        return values
