"""Where a partition ended, how old the first unconsumed record is, and what follows from both."""

import pytest

from drumbeat.pipeline.lag.measures import (
    Lag,
    Place,
    Trend,
    lag_of,
    lag_seconds,
    retention_pct,
    trend,
)
from drumbeat.pipeline.lag.watermarks import LSO, End, Sample, WatermarkSeries

MINUTE = 60_000


def series(*ends, every_ms=MINUTE, log_start=0):
    """Samples at 0, 1, 2, ... minutes."""
    return WatermarkSeries(
        Sample(at * every_ms, log_start, None, end) for at, end in enumerate(ends)
    )


@pytest.mark.parametrize(
    ("at_ms", "expected"),
    [
        (-5, End(100, 0, "held", None)),
        (0, End(100, 0, "sampled", 0)),
        (15_000, End(125, 0, "interpolated", 75)),
        (30_000, End(150, 0, "interpolated", 50)),
        (MINUTE, End(200, 0, "sampled", 0)),
        (90_000, End(200, 0, "interpolated", 0)),
        (3 * MINUTE, End(200, 0, "held", None)),
    ],
)
def test_end_at_a_time(at_ms, expected):
    assert series(100, 200, 200).at(at_ms) == expected


def test_end_is_unknown_without_samples():
    assert WatermarkSeries(()).at(0) is None
    assert WatermarkSeries(()).appended(5, 0) is None


def test_end_is_held_where_a_topic_was_created_anew():
    assert series(100, 200, 5, 10).at(90_000) == End(200, 0, "held", None)
    assert series(100, 200, 5, 10).at(150_000).offset in (7, 8)
    (before, after) = series(100, 200, 5, 10).restarts()[0]
    assert (before.high_watermark, after.high_watermark) == (200, 5)


def test_read_committed_readers_end_at_the_lso():
    samples = WatermarkSeries([Sample(0, 0, 90, 100), Sample(MINUTE, 0, None, 120)])
    assert samples.at(0, LSO).offset == 90
    assert samples.at(MINUTE, LSO).offset == 120


def test_poller_sees_what_was_sampled_by_then():
    samples = series(1, 2, 3, 4)
    assert samples.polled(2 * MINUTE, 2) == [2, 3]
    assert samples.polled(2 * MINUTE - 1, 10) == [1, 2]
    assert samples.polled(-1, 10) == []


@pytest.mark.parametrize(
    ("committed", "end", "expected"),
    [
        (80, End(100, 0, "sampled", 0), Lag(20, False, 0)),
        (100, End(100, 0, "sampled", 0), Lag(0, False, 0)),
        (40, End(100, 70, "sampled", 0), Lag(30, True, 0)),
        (107, End(100, 0, "interpolated", 3), Lag(0, False, 7)),
        (107, End(100, 0, "held", None), Lag(0, False, 7)),
        (80, End(100, 0, "held", None), Lag(20, False, None)),
        (5, End(100, 100, "sampled", 0), Lag(0, True, 0)),
    ],
)
def test_lag_in_records(committed, end, expected):
    assert lag_of(committed, end) == expected


@pytest.mark.parametrize(
    ("offset", "lag", "seconds", "method"),
    [
        (200, 0, 0.0, "zero"),
        (149, 51, 90.0, "interpolated"),  # its end, 150, was reached at 30 s
        (199, 1, 60.0, "interpolated"),
        (89, 110, 126.0, "extrapolated"),  # 10 records before the first sample, 100 a minute
        (-10_000, 300, 720.0, "extrapolated"),  # never more than 10 minutes before it
        (200, 5, None, "none"),
    ],
)
def test_lag_in_seconds(offset, lag, seconds, method):
    found = lag_seconds(series(100, 200), offset, lag, 2 * MINUTE)
    assert found.seconds == (None if seconds is None else pytest.approx(seconds))
    assert found.method == method


def test_timestamp_of_the_record_itself_is_best():
    samples = WatermarkSeries([Sample(0, 0, None, 100), Sample(MINUTE, 0, None, 150, 44_000)])
    assert lag_seconds(samples, 149, 1, 100_000) == (56.0, "record_timestamp")


def test_one_sample_cannot_tell_a_pace():
    assert lag_seconds(series(100), 50, 50, MINUTE) == (None, "none")


def test_samples_of_the_topic_before_say_nothing():
    """At 3 minutes the new topic is at 60; offset 150 was in the old one only."""
    assert lag_seconds(series(100, 200, 0, 60), 150, 10, 3 * MINUTE).method == "none"
    assert lag_seconds(series(100, 200, 0, 60), 29, 31, 3 * MINUTE).seconds == pytest.approx(30)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (None, Place(60_000, 5, 9, 4), Trend()),
        (
            Place(0, 0, 1_000, 1_000),
            Place(10_000, 500, 1_200, 700),
            Trend(50.0, 20.0, -30.0, 700 / 30),
        ),
        (Place(0, 0, 90, 90), Place(10_000, 40, 100, 60), Trend(4.0, 1.0, -3.0, None)),
        (Place(0, 0, 100, 100), Place(10_000, 0, 300, 300), Trend(0.0, 20.0, 20.0, None)),
        (Place(0, 0, 500, 500), Place(10_000, 5, 500, 495), Trend(0.5, 0.0, 0.0, None)),
        (Place(5, 0, 5, 5), Place(5, 1, 5, 4), Trend()),
    ],
)
def test_trend(before, now, expected):
    assert trend(before, now) == expected


@pytest.mark.parametrize(
    ("lag", "end", "expected"),
    [
        (25, End(200, 100, "sampled", 0), 25.0),
        (100, End(200, 100, "sampled", 0), 100.0),
        (0, End(100, 100, "sampled", 0), None),
    ],
)
def test_retention(lag, end, expected):
    assert retention_pct(Lag(lag, False, 0), end) == expected
