"""What groups cost, by day, with known sums."""

import pickle

import numpy as np
import pytest

from drumbeat.pipeline.findings.activity import GroupActivity, Histogram, bins_of
from drumbeat.pipeline.findings.rule import DAY_MS
from drumbeat.pipeline.schemas import GROUP_ACTIVITY_DAILY
from drumbeat.pipeline.tables.builder import LogPartition
from pipeline.findings.rows import batch


def activity(*batches, log_partition=1):
    builder = GroupActivity(LogPartition("c", log_partition))
    for table, *rows in batches:
        builder.feed(table, batch(table, *rows))
        builder = pickle.loads(pickle.dumps(builder))
    ((name, found),) = builder.finish()
    assert (name, found.schema) == ("group_activity_daily", GROUP_ACTIVITY_DAILY.arrow_schema)
    return found


def record(group_id, at_ms, size, **values):
    return {"group_id": group_id, "append_ts": at_ms, "key_bytes": size, "value_bytes": -1} | values


def test_sums_by_group_and_day():
    records = [
        record("g", 1, 10, committed_offset=4, value_bytes=20),
        record("g", 2, 10, is_tombstone=True),
        record("g", DAY_MS, 10, committed_offset=5, value_bytes=50),
        record("h", 3, 60, value_bytes=0),
        record(None, 4, 500, is_control=True),
    ]
    commits = [
        {"group_id": "g", "append_ts": at_ms, "committed_offset": offset} | rest
        for at_ms, offset, rest in (
            (1, 7, {"direction": "noop", "interval_ms": 50}),
            (2, 8, {"direction": "advance", "interval_ms": 10}),
            (3, 9, {}),
            (4, None, {"interval_ms": 3_000}),  # a tombstone
        )
    ]
    rebalances = [
        {"group_id": "h", "end_ts": 9, "duration_ms": 30},
        {"group_id": "h", "end_ts": 10, "duration_ms": None},
    ]
    rows = activity(
        ("log_records", *records), ("offset_commits", *commits), ("rebalances", *rebalances)
    ).to_pylist()
    columns = GROUP_ACTIVITY_DAILY.arrow_schema.names[2:]
    assert sorted(tuple(row[name] for name in columns) for row in rows) == [
        ("g", "1970-01-01", 1, 1, 1, 40, 0.4, 0, 0, 10, 50),
        ("g", "1970-01-02", 1, 0, 0, 60, 1.0, 0, 0, None, None),
        ("h", "1970-01-01", 0, 0, 0, 60, 0.6, 2, 30, None, None),
    ]


def histogram_of(values):
    histogram = Histogram()
    for number in bins_of(values).tolist():
        histogram.add(number, 1)
    return histogram


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 50, None),
        ([5], 50, 5),
        (range(1, 61), 50, 30),
        (range(1, 61), 95, 57),
        ([0, 0, 1], 50, 0),
    ],
)
def test_small_durations_are_exact(values, percent, expected):
    histogram = histogram_of(np.array(list(values), np.int64))
    assert histogram.percentile(percent) == expected


@pytest.mark.parametrize("percent", [50, 95, 99])
def test_large_durations_are_within_two_percent(percent):
    values = np.arange(64, 400_000, 37)
    histogram = histogram_of(values)
    exact = np.percentile(values, percent, method="inverted_cdf")
    assert histogram.percentile(percent) == pytest.approx(exact, rel=0.02)
