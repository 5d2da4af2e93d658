"""What compaction may free, and what it must not lose."""

import pickle

import pytest

from drumbeat.pipeline.findings.compaction import TOMBSTONE_GRACE_MS, LastValues, report
from drumbeat.pipeline.schemas import COMPACTION_REPORT
from drumbeat.pipeline.tables.builder import LogPartition
from pipeline.findings.rows import batch


def commit(log_offset, partition, committed, **values):
    row = {"log_offset": log_offset, "append_ts": log_offset, "key_type": 1, "group_id": "g"}
    row |= {"topic": "t", "partition": partition, "committed_offset": committed}
    return row | {"key_bytes": 10, "value_bytes": 20, "producer_id": -1} | values


def tombstone(log_offset, partition, **values):
    # Its raw key is kept, unlike that of a plain commit: it is the same key all the same.
    gone = {"committed_offset": None, "is_tombstone": True, "value_bytes": -1, "key": b"raw"}
    return commit(log_offset, partition, None) | gone | values


def group(log_offset, value):
    row = {"log_offset": log_offset, "append_ts": log_offset, "key_type": 2, "group_id": "g"}
    return row | {"key": b"\0\2g", "value": value, "key_bytes": 3, "value_bytes": len(value)}


def marker(log_offset, producer_id, control_type):
    row = {"log_offset": log_offset, "append_ts": log_offset, "is_control": True, "is_txn": True}
    return row | {"producer_id": producer_id, "control_type": control_type}


def pending(log_offset, partition, committed, producer_id):
    return commit(log_offset, partition, committed, is_txn=True, producer_id=producer_id)


def last_values(rows, size=100):
    values = LastValues()
    for at in range(0, len(rows), size):
        values.feed(batch("log_records", *rows[at : at + size]))
        values = pickle.loads(pickle.dumps(values))
    return values


def row_of(full, compacted=None):
    ((name, found),) = report(LogPartition("c", 1), full, compacted)
    assert (name, found.schema) == ("compaction_report", COMPACTION_REPORT.arrow_schema)
    return found.to_pylist()[0]


LOG = [
    commit(0, 0, 5),
    commit(1, 0, 9),
    commit(2, 1, 7),
    group(3, b"one"),
    tombstone(4, 1),
    group(5, b"two"),
    commit(6, 2, 8),
]
COMPACTED = [LOG[1], LOG[4], LOG[5], LOG[6]]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_newest_record_of_each_key_stays(size):
    row = row_of(last_values(LOG, size))
    assert (row["records"], row["live_keys"], row["dead_records"]) == (7, 3, 3)
    assert (row["bytes"], row["dead_bytes"]) == (30 * 4 + 6 + 6 + 10, 30 + 30 + 6)
    assert row["dirty_ratio"] == pytest.approx(66 / 142)
    assert (row["actual_hash"], row["tombstones_due"]) == (None, 0)


def test_compacted_log_says_the_same():
    full = last_values(LOG)
    for kept in (COMPACTED, [row for row in COMPACTED if not row.get("is_tombstone")]):
        row = row_of(full, last_values(kept))
        assert row["actual_hash"] == row["expected_hash"]
        assert (row["lost_keys"], row["changed_keys"], row["returned_keys"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("kept", "lost", "changed", "returned"),
    [
        ([LOG[1], LOG[4], LOG[5]], 1, 0, 0),
        ([LOG[0], LOG[4], LOG[5], LOG[6]], 0, 1, 0),
        ([LOG[1], LOG[2], LOG[5], LOG[6]], 0, 0, 1),
        ([LOG[1], LOG[3], LOG[6]], 0, 1, 0),
    ],
)
def test_wrong_compaction_is_noticed(kept, lost, changed, returned):
    row = row_of(last_values(LOG), last_values(kept))
    assert (row["lost_keys"], row["changed_keys"], row["returned_keys"]) == (
        lost,
        changed,
        returned,
    )
    assert row["actual_hash"] != row["expected_hash"]


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("rows", "value", "dead"),
    [
        ([commit(0, 0, 5), pending(1, 0, 6, 9)], 5, 0),
        ([commit(0, 0, 5), pending(1, 0, 6, 9), marker(2, 9, "COMMIT")], 6, 1),
        ([commit(0, 0, 5), pending(1, 0, 6, 9), marker(2, 9, "ABORT")], 5, 1),
        ([pending(0, 0, 6, 9), commit(1, 0, 5), marker(2, 9, "COMMIT")], 5, 1),
        ([commit(0, 0, 5), pending(1, 0, 6, 9), marker(2, 8, "COMMIT")], 5, 0),
    ],
)
def test_transactions(rows, value, dead, size):
    values = last_values(rows, size)
    (live,) = values.live().values()
    assert live.value[1] == value
    assert row_of(values)["dead_records"] == dead


@pytest.mark.parametrize(("age_ms", "due"), [(TOMBSTONE_GRACE_MS, 0), (TOMBSTONE_GRACE_MS + 1, 1)])
def test_tombstones_past_their_grace(age_ms, due):
    rows = [tombstone(0, 1), commit(1, 0, 5, append_ts=age_ms)]
    assert row_of(last_values(rows))["tombstones_due"] == due


def test_empty_log():
    row = row_of(LastValues(), LastValues())
    assert (row["records"], row["dirty_ratio"], row["lost_keys"]) == (0, 0.0, 0)
