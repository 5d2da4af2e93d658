"""`lag_points` and `lag_status` from commits and samples with known answers."""

import json
import pickle

import pyarrow as pa
import pytest

from drumbeat.pipeline.lag.builder import LagTables
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.schemas import LAG_POINTS, LAG_STATUS, OFFSET_COMMITS, WATERMARKS
from drumbeat.pipeline.tables.builder import LogPartition

MINUTE = 60_000
SOURCE = LogPartition("c", 7)


def commit(at_s, offset, *, partition=0, kind="commit", owner="m1", group="g"):
    row = dict.fromkeys(OFFSET_COMMITS.arrow_schema.names)
    return row | {
        "cluster_id": "c",
        "log_partition": 7,
        "log_offset": 0,
        "append_ts": at_s * 1_000,
        "group_id": group,
        "topic": "t",
        "partition": partition,
        "committed_offset": offset,
        "commit_ts": at_s * 1_000,
        "kind": kind,
        "producer_id": -1,
        "visible_at": None if kind in ("txn_pending", "txn_aborted") else at_s * 1_000,
        "owner_member_id": owner,
        "complete": True,
    }


def batch(rows):
    return pa.RecordBatch.from_pylist(rows, schema=OFFSET_COMMITS.arrow_schema)


def samples(*ends, partition=0, log_start=0, lso=None):
    """One a minute, from 0 on."""
    rows = [
        {
            "cluster_id": "c",
            "topic": "t",
            "partition": partition,
            "sampled_at": at * MINUTE,
            "log_start": log_start,
            "lso": lso,
            "high_watermark": end,
            "max_ts": None,
            "source": "test",
        }
        for at, end in enumerate(ends)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=WATERMARKS.arrow_schema)


def tables(rows, *marks, splits=1):
    """Both tables; rows are fed in `splits` batches, and the state is pickled between them."""
    builder = LagTables(SOURCE, Watermarks(marks))
    size = -(-len(rows) // splits)
    out = []
    for at in range(0, len(rows), size):
        out += builder.feed(batch(rows[at : at + size]))
        builder = pickle.loads(pickle.dumps(builder))
    out += builder.finish()
    for name, found in out:
        assert found.schema == {t.name: t for t in (LAG_POINTS, LAG_STATUS)}[name].arrow_schema
    return tuple(
        [row for name, found in out if name == wanted for row in found.to_pylist()]
        for wanted in ("lag_points", "lag_status")
    )


def brief(points, *columns):
    return [tuple(point[column] for column in ("bucket_ts", *columns)) for point in points]


def test_points_of_commits_and_of_samples():
    """Commits in the first two minutes only; the samples go on, and so do the points."""
    rows = [commit(10, 100), commit(50, 400), commit(70, 900)]
    points, _ = tables(rows, samples(0, 600, 1_200, 1_800))
    assert brief(points, "committed", "hw", "lag", "lag_method", "error_bound") == [
        (MINUTE, 400, 600, 200, "sampled", 0),
        (2 * MINUTE, 900, 1_200, 300, "sampled", 0),
        (3 * MINUTE, 900, 1_800, 900, "sampled", 0),
        (4 * MINUTE, 900, 1_800, 900, "held", None),
    ]
    assert brief(points, "consume_rate", "produce_rate", "velocity", "eta_s")[1:3] == [
        (2 * MINUTE, pytest.approx(500 / 60), 10.0, pytest.approx(100 / 60), None),
        (3 * MINUTE, 0.0, 10.0, 10.0, None),
    ]
    seconds = [point["lag_seconds"] for point in points]
    assert seconds == pytest.approx([19.9, 29.9, 89.9, 149.9], abs=0.01)
    assert [point["retention_pct"] for point in points][:2] == pytest.approx([33.33, 25], abs=0.01)


def test_points_without_samples_have_no_lag():
    points, statuses = tables([commit(10, 100)])
    assert brief(points, "committed", "hw", "lag", "lag_method", "lag_seconds") == [
        (MINUTE, 100, None, None, "none", None)
    ]
    assert [row["status"] for row in statuses] == ["UNKNOWN"]


def test_deleted_offset_has_no_lag_and_no_more_points():
    rows = [commit(10, 100), commit(70, None, kind="tombstone")]
    points, statuses = tables(rows, samples(0, 600, 1_200, 1_800, 2_400))
    assert brief(points, "committed", "lag") == [(MINUTE, 100, 500), (2 * MINUTE, None, None)]
    assert [row["status"] for row in statuses][-1] == "NOTFOUND"


def test_aborted_and_pending_commits_do_not_count():
    rows = [commit(10, 100), commit(20, 500, kind="txn_aborted"), commit(30, 9, kind="txn_pending")]
    points, _ = tables(rows, samples(0, 600))
    assert brief(points[:1], "committed") == [(MINUTE, 100)]


def test_transactional_groups_end_at_the_lso():
    points, _ = tables([commit(10, 100, kind="txn_commit")], samples(0, 600, lso=450))
    assert brief(points[:1], "hw", "end_kind", "lag") == [(MINUTE, 450, "lso", 350)]


def test_deleted_records_are_no_lag():
    points, _ = tables([commit(10, 100)], samples(1_000, 1_000, log_start=900))
    assert brief(points[:1], "lag", "lag_clamped", "retention_pct") == [(MINUTE, 100, True, 100.0)]


def run_of(statuses, partition=0):
    rows = [row for row in statuses if row["partition"] == partition]
    names = ("burrow_status", "raw_status", "status")
    return [(*(row[name] for name in names), row["from_ts"], row["to_ts"]) for row in rows]


def test_stopped_consumer():
    """Commits every 10 s for 5 minutes and is at the end; then silence while records come."""
    rows = [commit(10 * at, 100 * at) for at in range(1, 31)]
    ends = [600 * at for at in range(6)] + [3_000 + 600 * at for at in range(1, 4)]
    _, statuses = tables(rows, samples(*ends))
    runs = run_of(statuses)
    # Burrow excuses it for as long as one of its ten polls saw the consumer at the end.
    assert runs[-1] == ("OK", "STOP", "STOP", 7 * MINUTE, 9 * MINUTE)
    assert statuses[-1]["is_open"]
    assert json.loads(statuses[-1]["evidence"])["lag"] == 1_800
    assert runs[-2][1:] == ("STOP", "OK", 6 * MINUTE, 6 * MINUTE)


def test_poison_pill_is_told_apart_from_a_slow_group():
    """Partition 0 stands since minute 1, partition 1 of the same member goes on; 2 has another."""
    rows = []
    for at in range(1, 61):
        rows.append(commit(10 * at, min(100 * at, 600), partition=0))
        rows.append(commit(10 * at, 100 * at, partition=1))
        rows.append(commit(10 * at, 600, partition=2, owner="m2"))
    ends = [600 * at + 50 for at in range(11)]
    marks = [samples(*ends, partition=partition) for partition in range(3)]
    _, statuses = tables(rows, *marks)
    assert run_of(statuses, 0)[-1][2] == "STUCK_PARTITION"
    assert run_of(statuses, 2)[-1][2] == "STALL"
    assert "STUCK_PARTITION" not in {run[1] for run in run_of(statuses, 1)}


@pytest.mark.parametrize("splits", [2, 7, 60])
def test_batches_and_pickling_change_nothing(splits):
    rows = [
        commit(30 * at, 100 * at - (800 if at == 40 else 0), partition=at % 3, owner=f"m{at % 2}")
        for at in range(1, 121)
    ]
    marks = [samples(*(210 * at for at in range(65)), partition=p) for p in range(3)]

    def ordered(found):
        return [sorted(map(repr, rows)) for rows in found]

    assert ordered(tables(rows, *marks, splits=splits)) == ordered(tables(rows, *marks))
