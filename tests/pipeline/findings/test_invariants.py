"""Broken promises are found, kept ones are not accused."""

import pytest

from drumbeat.core.modern_records import (
    LAYOUTS,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMetadataValue,
)
from drumbeat.core.record_codec import encode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    RecordType,
)
from drumbeat.pipeline.findings.invariants import Verification, compare_offsets
from drumbeat.pipeline.schemas import VERIFICATION
from drumbeat.pipeline.tables.builder import LogPartition
from drumbeat.protocol.compiler import encoder
from drumbeat.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
)
from pipeline.findings.rows import batch

GROUP, EPOCH, CURRENT = (
    RecordType.GROUP_METADATA,
    RecordType.CONSUMER_GROUP_METADATA,
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
)


def member(member_id, *partitions, topics=("t",), given="t"):
    assigned = (TopicPartitions(given, partitions),) if partitions else ()
    return MemberMetadata(
        member_id=member_id,
        group_instance_id=None,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=1,
        session_timeout_ms=1,
        subscription=encode_subscription(Subscription(topics=topics)),
        assignment=encode_assignment(Assignment(assigned_partitions=assigned)),
    )


def generation(number, *members, leader="m1"):
    record = GroupMetadataRecord("g", "consumer", number, "range", leader, 5, members)
    return GROUP, *encode(record)


def modern(kind, value, *names):
    key = encoder(LAYOUTS[kind].key, 0, False)(LAYOUTS[kind].key(*names))
    body = encoder(type(value), 0, True)(value)
    return kind, kind.to_bytes(2, "big") + key, b"\0\0" + body


def epoch(number):
    return modern(EPOCH, ConsumerGroupMetadataValue(number), "g")


def current(member_epoch):
    return modern(CURRENT, ConsumerGroupCurrentMemberAssignmentValue(member_epoch), "g", "m1")


COMMIT = {"key_type": 1, "group_id": "g", "topic": "t", "partition": 0, "committed_offset": 1}
GONE = COMMIT | {"committed_offset": None, "is_tombstone": True, "key": b"raw"}
DELETED = (GROUP, *encode(GroupMetadataTombstone("g")))


def row_of(record):
    if isinstance(record, dict):
        return record
    kind, key, value = record
    row = {"key_type": int(kind), "group_id": "g", "key": key, "value": value}
    return row | {"is_tombstone": value is None}


def violations(record_batches, rows_per_feed=100):
    """What is found in a log of these record batches; each is a list of records."""
    rows = []
    for records in record_batches:
        base = len(rows)
        for record in records:
            place = {"log_offset": len(rows), "append_ts": len(rows), "batch_base_offset": base}
            rows.append(row_of(record) | place)
    builder = Verification(LogPartition("c", 1))
    out = []
    for at in range(0, len(rows), rows_per_feed):
        out += builder.feed("log_records", batch("log_records", *rows[at : at + rows_per_feed]))
    out += builder.finish()
    assert all(found.schema == VERIFICATION.arrow_schema for _, found in out)
    found = [row for _, each in out for row in each.to_pylist()]
    return [(row["invariant"], row["log_offset"]) for row in found]


CASES = {
    "all is well": ([[generation(1, member("m1", 0), member("m2", 1))]], []),
    "same generation again": ([[generation(3, member("m1"))], [generation(3, member("m1"))]], []),
    "generation goes back": (
        [[generation(3, member("m1"))], [generation(2, member("m1"))]],
        [("generation_grows", 1)],
    ),
    "a deleted group begins anew": (
        [[generation(3, member("m1"))], [DELETED], [generation(1, member("m1"))]],
        [],
    ),
    "leader is a stranger": (
        [[generation(1, member("m1"), leader="m9")]],
        [("leader_is_member", 0)],
    ),
    "an empty group has no leader": ([[generation(1, leader=None)]], []),
    "two owners": (
        [[generation(1, member("m1", 0, 1), member("m2", 1))]],
        [("one_owner", 0)],
    ),
    "not subscribed": (
        [[generation(1, member("m1", 0, topics=("other",)))]],
        [("assigned_is_subscribed", 0)],
    ),
    "opaque blobs": (
        [[generation(1, member("m1")._replace(subscription=b"\0", assignment=b"?"))]],
        [],
    ),
    "member epochs": ([[epoch(4)], [current(4)], [epoch(5)], [current(4)]], []),
    "member is ahead": ([[epoch(4)], [current(5)]], [("member_epoch_within_group", 1)]),
    "epoch goes back": ([[epoch(4)], [epoch(3)]], [("generation_grows", 1)]),
    "deleted with its offsets": ([[COMMIT], [GONE, DELETED]], []),
    "deleted before its offsets, in one batch": ([[COMMIT], [DELETED, GONE]], []),
    "deleted, offsets left": ([[COMMIT], [DELETED]], [("deleted_leaves_no_offsets", 1)]),
    "deleted, offsets gone too late": (
        [[COMMIT], [DELETED], [GONE]],
        [("deleted_leaves_no_offsets", 1)],
    ),
    "became a consumer group": ([[COMMIT], [DELETED, epoch(1)], [COMMIT]], []),
    "commits again later": ([[COMMIT], [GONE, DELETED], [COMMIT]], []),
}


@pytest.mark.parametrize("rows_per_feed", [1, 2, 100])
@pytest.mark.parametrize("name", CASES)
def test_invariants(name, rows_per_feed):
    record_batches, expected = CASES[name]
    assert violations(record_batches, rows_per_feed) == expected


def test_commits_that_nobody_owns_are_suspect_once():
    builder = Verification(LogPartition("c", 1))
    kind, key, value = generation(1, member("m1", 0))
    group = {"key_type": int(kind), "group_id": "g", "key": key, "value": value}
    assert list(builder.feed("log_records", batch("log_records", group))) == []
    commit = {"group_id": "g", "topic": "t", "partition": 7, "actor": "member", "log_offset": 4}
    rows = [
        commit,
        commit,
        commit | {"owner_member_id": "m1"},
        commit | {"partition": 8, "actor": "admin_or_simple"},
        commit | {"group_id": "unknown"},
    ]
    ((_, found),) = builder.feed("offset_commits", batch("offset_commits", *rows))
    assert [(row["certainty"], row["detail"]) for row in found.to_pylist()] == [
        ("suspect", "nobody owned t-7")
    ]


def test_replay_is_compared_with_the_coordinators_answer():
    rows = compare_offsets(
        {("t", 0): 5, ("t", 1): 6, ("t", 2): 7},
        {("t", 0): 5, ("t", 1): 9, ("u", 0): 1},
        group_id="g",
        log_offset=3,
        at_ms=4,
    )
    assert [row["detail"] for row in rows] == [
        "t-1: replay has 6, the coordinator 9",
        "t-2: replay has 7, the coordinator None",
        "u-0: replay has None, the coordinator 1",
    ]
