"""Where a partition ended, how old the first unconsumed record is, and what follows from both."""

import numpy as np
import pytest

from drumbeat.pipeline.lag.measures import (
    Lags,
    Places,
    lag_seconds,
    lags_of,
    retention_pcts,
    trends,
)
from drumbeat.pipeline.lag.samples import Ends, Method, SampleColumns, Samples
from drumbeat.pipeline.lag.watermarks import LSO, End, WatermarkSeries

MINUTE = 60_000
UNKNOWN = -1


def samples_of(*rows, are_told=0):
    """Of one partition; rows of time, log start, lso, high watermark, maximal timestamp."""
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    told = np.full(len(rows), are_told)
    return Samples(np.zeros(len(rows), np.int64), SampleColumns(*columns, told), 1)


def samples(*ends, every_ms=MINUTE, log_start=0):
    """At 0, 1, 2, ... minutes."""
    return samples_of(
        *((at * every_ms, log_start, end, end, UNKNOWN) for at, end in enumerate(ends))
    )


def series(*ends):
    return WatermarkSeries(samples(*ends), 0)


def columns_of(*values):
    return tuple(np.array([value]) for value in values)


def ends_of(end):
    bound = UNKNOWN if end.error_bound is None else end.error_bound
    return Ends(*columns_of(end.offset, end.log_start, Method[end.method.upper()], bound))


def seconds_of(given, offset, lag, at_ms):
    """Seconds, or None, and how that is known."""
    found = lag_seconds(given, *columns_of(0, offset, lag, at_ms))
    [seconds], [method] = found
    return None if np.isnan(seconds) else seconds, Method(method).label


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


def test_what_records_tell_is_no_evidence():
    told = samples_of((0, 0, 100, 100, 0), (MINUTE, 0, 200, 200, MINUTE), are_told=1)
    assert WatermarkSeries(told, 0).at(MINUTE) == End(200, 0, "interpolated", 0)


def test_end_is_unknown_without_samples():
    assert series().at(0) is None
    assert WatermarkSeries(samples(5), 1).at(0) is None
    assert seconds_of(samples(), 5, 1, 0) == (None, "none")


def test_end_is_held_where_a_topic_was_created_anew():
    assert series(100, 200, 5, 10).at(90_000) == End(200, 0, "held", None)
    assert series(100, 200, 5, 10).at(150_000).offset in (7, 8)
    (before, after) = series(100, 200, 5, 10).restarts()[0]
    assert (before.high_watermark, after.high_watermark) == (200, 5)


def test_read_committed_readers_end_at_the_lso():
    given = samples_of((0, 0, 90, 100, UNKNOWN), (MINUTE, 0, 120, 120, UNKNOWN))
    assert WatermarkSeries(given, 0).at(0, LSO).offset == 90
    assert WatermarkSeries(given, 0).at(MINUTE, LSO).offset == 120


def test_of_two_samples_at_one_time_the_later_counts():
    given = samples_of(
        *((at, 0, end, end, UNKNOWN) for at, end in ((0, 1), (5, 2), (5, 3), (9, 4)))
    )
    assert WatermarkSeries(given, 0).at(5) == End(3, 0, "sampled", 0)


def test_partitions_do_not_mix():
    """Samples of three partitions, in any order, and one that has none."""
    rows = [(1, 0, 7, 7, UNKNOWN, 0), (0, 0, 100, 100, UNKNOWN, 0), (1, 0, 200, 200, UNKNOWN, 0)]
    given = Samples(np.array([2, 0, 0]), SampleColumns(*np.array(rows).T), 3)
    found = given.ends(np.array([0, 1, 2, 3]), np.full(4, 5), np.zeros(4, np.bool_))
    assert found.offsets[found.are_known].tolist() == [200, 7]
    assert found.are_known.tolist() == [True, False, True, False]


def test_poller_sees_what_was_sampled_by_then():
    times = np.array([2 * MINUTE, 2 * MINUTE - 1, -1])
    assert samples(1, 2, 3, 4).seen_by(np.zeros(3, np.int64), times).tolist() == [3, 2, 0]


@pytest.mark.parametrize(
    ("committed", "end", "expected"),
    [
        (80, End(100, 0, "sampled", 0), (20, False, 0)),
        (100, End(100, 0, "sampled", 0), (0, False, 0)),
        (40, End(100, 70, "sampled", 0), (30, True, 0)),
        (107, End(100, 0, "interpolated", 3), (0, False, 7)),
        (107, End(100, 0, "held", None), (0, False, 7)),
        (80, End(100, 0, "held", None), (20, False, UNKNOWN)),
        (5, End(100, 100, "sampled", 0), (0, True, 0)),
    ],
)
def test_lag_in_records(committed, end, expected):
    found = lags_of(np.array([committed]), ends_of(end))
    assert tuple(column[0] for column in found) == expected


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
    found = seconds_of(samples(100, 200), offset, lag, 2 * MINUTE)
    assert found == (None if seconds is None else pytest.approx(seconds), method)


def test_timestamp_of_the_record_itself_is_best():
    given = samples_of((0, 0, 100, 100, UNKNOWN), (MINUTE, 0, 150, 150, 44_000))
    assert seconds_of(given, 149, 1, 100_000) == (56.0, "record_timestamp")


def test_one_sample_cannot_tell_a_pace():
    assert seconds_of(samples(100), 50, 50, MINUTE) == (None, "none")


def test_samples_of_the_topic_before_say_nothing():
    """At 3 minutes the new topic is at 60; offset 150 was in the old one only."""
    given = samples(100, 200, 0, 60)
    assert seconds_of(given, 150, 10, 3 * MINUTE) == (None, "none")
    assert seconds_of(given, 29, 31, 3 * MINUTE)[0] == pytest.approx(30)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ((UNKNOWN, 0, 0, 0), (60_000, 5, 9, 4), (None,) * 4),
        (
            (0, 0, 1_000, 1_000),
            (10_000, 500, 1_200, 700),
            (50.0, 20.0, -30.0, 700 / 30),
        ),
        ((0, 0, 90, 90), (10_000, 40, 100, 60), (4.0, 1.0, -3.0, None)),
        ((0, 0, 100, 100), (10_000, 0, 300, 300), (0.0, 20.0, 20.0, None)),
        ((0, 0, 500, 500), (10_000, 5, 500, 495), (0.5, 0.0, 0.0, None)),
        ((5, 0, 5, 5), (5, 1, 5, 4), (None,) * 4),
    ],
)
def test_trend(before, now, expected):
    found = trends(*(Places(*columns_of(*place)) for place in (before, now)))
    assert [None if np.isnan(each[0]) else each[0] for each in found] == list(expected)


@pytest.mark.parametrize(
    ("lag", "end", "expected"),
    [
        (25, End(200, 100, "sampled", 0), 25.0),
        (100, End(200, 100, "sampled", 0), 100.0),
        (0, End(100, 100, "sampled", 0), None),
    ],
)
def test_retention(lag, end, expected):
    [found] = retention_pcts(Lags(*columns_of(lag, False, 0)), ends_of(end))
    assert (None if np.isnan(found) else found) == expected
