"""Each kind of finding: rows that give it, and rows that just do not."""

import json
import pickle

import pytest

from drumbeat.pipeline.findings.builder import Findings
from drumbeat.pipeline.findings.kinds import ADVICE, Kind
from drumbeat.pipeline.findings.rule import DAY_MS, Limits
from drumbeat.pipeline.findings.rules_groups import crowded
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.schemas import FINDINGS
from drumbeat.pipeline.tables.builder import LogPartition
from pipeline.findings.rows import batch

MINUTE = 60_000
PLACE = {"group_id": "g", "topic": "t", "partition": 3}


def findings(*batches, samples=(), limits=None):
    """Findings about these (table, rows...), as (kind, subject, from, to, evidence)."""
    marks = [batch("watermarks", *samples)] if samples else []
    builder = Findings(LogPartition("c", 1), Watermarks(marks), limits or Limits())
    for table, *rows in batches:
        builder.feed(table, batch(table, *rows))
        builder = pickle.loads(pickle.dumps(builder))
    out = list(builder.finish())
    assert list(builder.finish()) == out, "asking changes nothing"
    found = [row for name, each in out if name == "findings" for row in each.to_pylist()]
    assert all(each.schema == FINDINGS.arrow_schema for _, each in out)
    return [
        (
            row["kind"],
            row["subject"],
            row["from_ts"],
            row["to_ts"],
            json.loads(row["evidence"]),
        )
        for row in found
    ]


def status(name, from_ts, to_ts):
    return PLACE | {"status": name, "from_ts": from_ts, "to_ts": to_ts, "evidence": '{"lag":5}'}


def test_every_kind_has_advice():
    assert ADVICE.keys() == set(Kind)


@pytest.mark.parametrize(
    ("name", "kind"), [("STOP", "STOPPED"), ("STUCK_PARTITION", "STUCK_PARTITION")]
)
def test_standing_still(name, kind):
    """Neighbouring stretches of one status are one finding; an end and a new begin are two."""
    rows = [status("OK", 1, 2), status(name, 3, 4), status(name, 5, 6), status("OK", 7, 8)]
    rows.append(status(name, 9, 10))
    assert findings(("lag_status", *rows)) == [
        (kind, "g: t-3", 3, 6, {"lag": 5}),
        (kind, "g: t-3", 9, 10, {"lag": 5, "is_open": True}),
    ]


def test_slow_is_no_finding():
    assert findings(("lag_status", status("WARN", 1, 2), status("STALL", 3, 4))) == []


def point(at_ms, **values):
    return PLACE | {"bucket_ts": at_ms, "committed": 5, "hw": 9, "lag_method": "sampled"} | values


@pytest.mark.parametrize(
    ("rows", "span"),
    [
        ([point(1, retention_pct=79.9)], None),
        ([point(1, retention_pct=80.0), point(2, retention_pct=95.0)], (1, 2)),
        ([point(1, lag_clamped=True, retention_pct=1.0), point(2, retention_pct=1.0)], (1, 1)),
        ([point(1)], None),
    ],
)
def test_data_loss_risk(rows, span):
    found = findings(("lag_points", *rows))
    expected = [] if span is None else [("DATA_LOSS_RISK", "g: t-3", *span)]
    assert [each[:4] for each in found] == expected


@pytest.mark.parametrize(("log_start", "is_found"), [(0, False), (1, True)])
def test_no_data_is_at_risk_where_none_was_ever_deleted(log_start, is_found):
    sample = {"topic": "t", "partition": 3, "sampled_at": 9, "high_watermark": 9}
    samples = [sample | {"log_start": log_start}]
    found = findings(("lag_points", point(1, retention_pct=100.0)), samples=samples)
    assert [each[0] for each in found] == ["DATA_LOSS_RISK"] * is_found


@pytest.mark.parametrize(
    ("values", "is_found"),
    [
        ({"committed": 10}, True),
        ({"committed": 9}, False),
        ({"committed": 10, "lag_method": "interpolated"}, False),
        ({"committed": None}, False),
    ],
)
def test_commit_ahead_of_the_end(values, is_found):
    found = findings(("lag_points", point(1, **values)))
    assert [each[0] for each in found] == ["COMMIT_AHEAD_OF_LEO"] * is_found


def sample(at_ms, end, log_start=0):
    marks = {"sampled_at": at_ms, "high_watermark": end, "log_start": log_start}
    return {"topic": "t", "partition": 3} | marks


# when the end was sampled, and where it was -> whether the commit of 9 by 100 is ahead of it
SAMPLES = {
    "later": (sample(101, 8), True),
    "later, and just enough": (sample(101, 9), False),
    "before": (sample(99, 8), False),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_commit_ahead_of_an_end_that_was_sampled_later(case):
    newest, is_found = SAMPLES[case]
    rows = [point(at_ms, committed=9, hw=8, lag_method="held") for at_ms in (100, 200)]
    evidence = {"committed": 9, "end": 8}
    found = ("COMMIT_AHEAD_OF_LEO", "g: t-3", 100, 101, evidence)
    assert findings(("lag_points", *rows), samples=[newest]) == [found] * is_found


def test_topic_created_anew():
    samples = [sample(0, 100), sample(10, 200), sample(20, 5)]
    assert findings(("lag_points", point(1, committed=5)), samples=samples) == [
        ("TOPIC_RECREATED", "g: t-3", 10, 20, {"end_before": 200, "end_after": 5})
    ]


def rewind(at_ms, before, committed, **values):
    row = {"visible_at": at_ms, "append_ts": at_ms, "prev_offset": before, "direction": "rewind"}
    rest = {"committed_offset": committed, "interval_ms": 10, "actor": "member", "kind": "commit"}
    return PLACE | row | rest | values


@pytest.mark.parametrize(
    ("samples", "generations", "expected"),
    [
        ([], [], "UNEXPLAINED"),
        ([], [995], "REBALANCE_REPLAY"),
        ([], [980, 1_001], "UNEXPLAINED"),
        ([sample(900, 500, 40), sample(1_100, 500, 40)], [995], "AUTO_OFFSET_RESET"),
        ([sample(900, 60), sample(1_100, 60)], [], "TOPIC_RECREATED"),
    ],
)
def test_rewinds_are_told_apart(samples, generations, expected):
    rows = [{"group_id": "g", "append_ts": at_ms} for at_ms in generations]
    tables = [("group_generations", *rows)] if rows else []
    found = findings(*tables, ("offset_commits", rewind(1_000, 100, 40)), samples=samples)
    evidence = {"class": expected, "from_offset": 100, "to_offset": 40, "records": 60}
    assert ("REWIND", "g: t-3", 1_000, 1_000, evidence) in found


def test_resets_of_one_moment_are_one_finding():
    rows = [
        rewind(at_ms, 100, 0, partition=partition, actor="admin_or_simple")
        for partition, at_ms in enumerate((1_000, 1_500, 30_000))
    ]
    assert findings(("offset_commits", *rows)) == [
        ("RESET", "g", 1_000, 1_500, {"partitions": 2, "records": 200, "examples": ["t-0", "t-1"]}),
        ("RESET", "g", 30_000, 30_000, {"partitions": 1, "records": 100, "examples": ["t-2"]}),
    ]


def commit(group_id="g", at_ms=1, **values):
    rest = {"append_ts": at_ms, "committed_offset": 1, "kind": "commit", "direction": "advance"}
    return PLACE | {"group_id": group_id} | rest | values


def test_commit_hog():
    rows = [commit("hog", direction="noop")] * 6 + [commit("hog")] * 2 + [commit("other")] * 8
    limits = Limits(hog_commits=8, hog_share=0.5)
    found = findings(("offset_commits", *rows), limits=limits)
    evidence = {"commits": 8, "share_of_partition": 0.5, "noop_share": 0.75}
    assert ("COMMIT_HOG", "hog", 1, 1, evidence) in found
    assert findings(("offset_commits", *rows), limits=Limits(hog_commits=9)) == []
    stricter = Limits(hog_commits=8, hog_share=0.51)
    assert findings(("offset_commits", *rows), limits=stricter) == []


@pytest.mark.parametrize(
    ("metadata", "is_found"),
    [("", 0), ("ok\n", 0), (None, 0), ("x" * 4_096, 0), ("x" * 4_097, 1), ("a\x00b", 1)],
)
def test_bad_metadata(metadata, is_found):
    found = findings(("offset_commits", commit(metadata=metadata)))
    assert [each[0] for each in found] == ["BAD_METADATA"] * is_found


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], []),
        ([1, 2], []),
        ([1, 5, 11], [(1, 11, 3)]),
        ([1, 5, 12], []),
        ([1, 5, 11, 15, 40, 100, 101, 102], [(1, 15, 4), (100, 102, 3)]),
    ],
)
def test_crowded(times, expected):
    assert list(crowded(times, 3, 10)) == expected


def rebalances(*times, **values):
    return ("rebalances", *({"group_id": "g", "end_ts": at} | values for at in times))


def test_storm_is_more_than_five_rebalances_in_ten_minutes():
    calm = [at * 2 * MINUTE for at in range(5)]
    assert findings(rebalances(*calm)) == []
    assert findings(rebalances(*calm, 10 * MINUTE)) == [
        ("REBALANCE_STORM", "g", 0, 10 * MINUTE, {"rebalances": 6, "seconds": 600.0})
    ]


def test_failed_rebalances():
    rows = rebalances(5, failed_attempts=2)[1:] + rebalances(9, failed_attempts=0)[1:]
    rows += rebalances(10, failed_attempts=1)[1:]
    assert findings(("rebalances", *rows)) == [("FAILED_REBALANCES", "g", 5, 10, {"failed": 3})]


def member(member_id, joined_at, **values):
    row = {"group_id": "g", "client_id": "app", "client_host": "/h", "member_id": member_id}
    return row | {"joined_at": joined_at} | values


def test_flapping_member():
    over = [member("m1", 0, left_at=1), member("m2", 5 * MINUTE, left_at=6 * MINUTE)]
    evidence = {"sessions": 3, "client_id": "app", "client_host": "/h", "group_instance_id": None}
    assert findings(("members", *over, member("m3", 10 * MINUTE))) == [
        ("FLAPPING_MEMBER", "g: app at /h", 0, 10 * MINUTE, evidence)
    ]
    assert findings(("members", *over, member("m3", 10 * MINUTE + 1))) == []
    assert findings(("members", *(member(f"m{at}", 7, left_at=8) for at in range(5)))) == []


def test_members_of_one_client_that_stay_do_not_flap():
    assert findings(("members", *(member(f"m{at}", at) for at in range(5)))) == []
    static = (member(f"m{at}", at, left_at=99, group_instance_id=f"i{at}") for at in range(5))
    assert findings(("members", *static)) == []


def life(state, at_ms, members=1, partitions=1):
    counts = {"n_members": members, "partitions": partitions}
    return {"group_id": "g", "state_after": state, "append_ts": at_ms} | counts


def test_idle_members():
    assert findings(("group_generations", life("Stable", 1, 3, 2)))[0][0] == "IDLE_MEMBERS"
    assert findings(("group_generations", life("Stable", 1, 2, 2))) == []
    assert findings(("group_generations", life("Stable", 1, 3, 2), life("Stable", 2, 2, 2))) == []
    late = (life("Stable", 2, 2, 2) | {"log_offset": 2}, life("Stable", 1, 3, 2))
    assert findings(("group_generations", *late)) == [], "the newest generation counts"


def test_abandoned_topic():
    live = ("group_generations", life("Stable", 1))
    reader = ("members", member("m1", 1, subscription=["other"]))
    commits = ("offset_commits", commit(at_ms=5), commit(at_ms=6, topic="other"))
    evidence = {"last_commit": 5, "subscribed": ["other"]}
    assert findings(live, reader, commits) == [("ABANDONED_TOPIC", "g: t", 5, 6, evidence)]
    gone = commit(at_ms=7, committed_offset=None, kind="tombstone")
    assert findings(live, reader, commits, ("offset_commits", gone)) == []
    assert findings(live, commits) == [], "nothing is known of the members"


@pytest.mark.parametrize(
    ("newest_ms", "kinds"),
    [
        (DAY_MS, []),
        (DAY_MS + 100, ["GHOST_GROUP"]),
        (6 * DAY_MS + 9, ["GHOST_GROUP"]),
        (6 * DAY_MS + 10, ["GHOST_GROUP", "EXPIRY_SOON"]),
    ],
)
def test_ghosts_and_expiry(newest_ms, kinds):
    tables = [
        ("group_generations", life("Stable", 1), life("Empty", 10, 0, 0)),
        ("offset_commits", commit(at_ms=5)),
        ("log_records", {"append_ts": newest_ms}),
    ]
    assert [each[0] for each in findings(*tables)] == kinds


def test_group_without_members_that_nobody_uses():
    tables = [("offset_commits", commit(at_ms=5)), ("log_records", {"append_ts": DAY_MS + 6})]
    assert [each[0] for each in findings(*tables)] == ["GHOST_GROUP"]


@pytest.mark.parametrize(("open_ms", "is_found"), [(900_000, 0), (900_001, 1)])
def test_hanging_transaction(open_ms, is_found):
    row = {"producer_id": 7, "outcome": "open", "first_ts": 100, "open_ms": open_ms}
    row |= {"groups": ["g"], "partitions": 2, "first_offset": 3}
    found = findings(("txn_offset_commits", row))
    assert [each[:4] for each in found] == [
        ("HANGING_TXN", "producer 7", 100, 100 + open_ms)
    ] * is_found
    ended = row | {"outcome": "commit"}
    assert findings(("txn_offset_commits", row), ("txn_offset_commits", ended)) == []


def test_decode_errors_are_counted_by_type_and_problem():
    rows = [
        {"key_type": 99, "decode_error": "unknown", "log_offset": at, "append_ts": 10 * at}
        for at in (1, 2, 5)
    ]
    ((kind, subject, from_ts, to_ts, evidence),) = findings(
        ("log_records", *rows, {"log_offset": 6, "append_ts": 60})
    )
    assert (kind, subject, from_ts, to_ts) == ("DECODE_ERROR", "records of type 99", 10, 50)
    assert (evidence["records"], evidence["first_offset"], evidence["last_offset"]) == (3, 1, 5)
