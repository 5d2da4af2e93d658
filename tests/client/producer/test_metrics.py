"""Averages, maxima and rates over the last two windows; totals for ever."""

import math

from drumbeat.client.producer.batch import ProducerBatch
from drumbeat.client.producer.metrics import ProducerMetrics
from drumbeat.client.sampled import WINDOW_MS, Sampled
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.compression import Codec


def test_samples_are_forgotten_after_two_windows():
    sampled = Sampled(now_ms=0)
    sampled.record(10, 0)
    sampled.record(30, WINDOW_MS)
    assert (sampled.average(WINDOW_MS), sampled.maximum(WINDOW_MS)) == (20, 30)
    sampled.record(2, 2 * WINDOW_MS)
    assert (sampled.average(2 * WINDOW_MS), sampled.maximum(2 * WINDOW_MS)) == (16, 30)
    assert sampled.all_time == 42
    assert sampled.rate(9 * WINDOW_MS) == 0
    assert math.isnan(sampled.average(9 * WINDOW_MS))
    assert math.isnan(sampled.maximum(9 * WINDOW_MS))


def test_a_rate_is_per_second_over_at_least_a_window():
    sampled = Sampled(now_ms=0)
    sampled.record(60, 1000)
    assert sampled.rate(1000) == 60 / (WINDOW_MS / 1000)
    sampled.record(60, WINDOW_MS)
    assert sampled.rate(2 * WINDOW_MS - 1) == 120 / ((2 * WINDOW_MS - 1) / 1000)


def test_what_a_request_counts_for():
    metrics = ProducerMetrics(now_ms=0)
    batch = ProducerBatch(TopicPartition("t", 0), created_ms=0)
    for _ in range(4):
        batch.append(0, None, bytes(100), (), 111)
    batch.encode(Codec.GZIP, None)
    metrics.sent([batch], now_ms=7)
    metrics.answered(latency_ms=3, throttle_time_ms=0, now_ms=10)
    metrics.count("record-retry", 4, now_ms=10)
    values = metrics.snapshot(now_ms=10)
    assert (values["record-send-total"], values["record-retry-total"]) == (4, 4)
    assert values["records-per-request-avg"] == 4
    assert values["record-queue-time-max"] == 7
    assert values["request-latency-avg"] == 3
    assert values["batch-size-max"] == values["outgoing-byte-total"] == len(batch.encoded)
    assert values["compression-rate-avg"] < 0.5
