"""The producer's metrics, by the names they have in Kafka's producer-metrics group.

Pure. Rates, averages and maxima are over two windows of 30 seconds, as Kafka's defaults are.
"""

from __future__ import annotations

from typing import Final

from drumbeat.client.producer.batch import ProducerBatch
from drumbeat.client.sampled import Sampled

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

    def count(self, name: str, amount: int, now_ms: int) -> None:
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
        for name in _TOTALS:
            values[f"{name}-total"] = self._sampled[name].all_time
            values[f"{name}-rate"] = self._sampled[name].rate(now_ms)
        for name in _AVERAGES:
            values[f"{name}-avg"] = self._sampled[name].average(now_ms)
            if name in _WITH_MAXIMUM:
                values[f"{name}-max"] = self._sampled[name].maximum(now_ms)
        return values
