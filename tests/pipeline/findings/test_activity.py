"""What groups cost, by day, with known sums."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from drumbeat.pipeline.findings.activity import GroupActivity, Histogram, with_share_of_topic
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
        {"group_id": "g", "append_ts": 1, "direction": "noop", "interval_ms": 50},
        {"group_id": "g", "append_ts": 2, "direction": "advance", "interval_ms": 10},
        {"group_id": "g", "append_ts": 3, "direction": None, "interval_ms": None},
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


def test_share_is_of_all_log_partitions():
    one = activity(("log_records", record("g", 1, 25)), log_partition=1)
    two = activity(("log_records", record("h", 1, 75)), log_partition=2)
    both = with_share_of_topic(pa.Table.from_batches([one, two]))
    assert both["share_of_topic"].to_pylist() == [0.25, 0.75]


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
    histogram = Histogram()
    histogram.add(np.array(list(values), np.float64))
    assert histogram.percentile(percent) == expected


@pytest.mark.parametrize("percent", [50, 95, 99])
def test_large_durations_are_within_two_percent(percent):
    values = np.arange(64, 400_000, 37)
    histogram = Histogram()
    for part in np.array_split(values, 7):
        histogram.add(part)
    exact = np.percentile(values, percent, method="inverted_cdf")
    assert histogram.percentile(percent) == pytest.approx(exact, rel=0.02)
