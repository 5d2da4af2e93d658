"""Rebalances of consumer, share and streams groups, and who has what in them meanwhile."""

from __future__ import annotations

import pickle

import pytest

from drumbeat.core import modern_records as modern
from drumbeat.core.records import RecordType
from drumbeat.pipeline.tables.group_tables import GroupTables
from pipeline.golden_log import (
    EVENTS_ID,
    SOURCE,
    LogWriter,
    built,
    commit,
    current,
    epoch,
    member,
    modern_record,
    text_table,
)


def target(group_id: str, number: int):
    value = modern.TargetAssignmentMetadataValue(number)
    key = (group_id,)
    return modern_record(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, key, value)


def check(log: LogWriter, table: str, expected: str) -> None:
    rows = built(GroupTables(SOURCE), [log.rows()])[table]
    rows.sort(key=lambda row: (row["log_offset"], row.get("partition"), row.get("member_id")))
    assert text_table(rows, expected.partition("\n")[0].split()) == expected
    assert one_record_at_a_time(log)[table] == sorted(rows, key=repr)


def one_record_at_a_time(log: LogWriter):
    """As a stream does it, the builder pickled in between."""
    builder, records = GroupTables(SOURCE), log.rows()
    rows: dict[str, list[dict[str, object]]] = {}
    for n in range(len(records)):
        for name, batch in builder.feed(records.slice(n, 1)):
            rows.setdefault(name, []).extend(batch.to_pylist())
        builder = pickle.loads(pickle.dumps(builder))
    for name, batch in builder.finish():
        rows.setdefault(name, []).extend(batch.to_pylist())
    return {name: sorted(each, key=repr) for name, each in rows.items()}


def consumer_group() -> LogWriter:
    """A second member joins; a third does, and a fourth before all have got there; one leaves."""
    log = LogWriter()
    log.append(
        1_000, member("g", "a", "events"), epoch("g", 2), target("g", 2),
        current("g", "a", 2, owned=(0, 1, 2, 3)),
    )  # fmt: skip
    log.append(2_000, *(commit("g", "events", p, 10, 2_000) for p in range(4)))
    log.append(3_000, member("g", "b", "events"), epoch("g", 3), current("g", "b", 2))
    log.append(3_500, target("g", 3), current("g", "a", 2, owned=(0, 1), revoking=(2, 3)))
    log.append(4_000, current("g", "a", 3, owned=(0, 1)))
    log.append(4_200, commit("g", "events", 0, 13, 4_200))
    log.append(4_500, current("g", "b", 3, owned=(2, 3)))
    log.append(5_000, *(commit("g", "events", p, 10 + p, 5_000) for p in range(1, 4)))
    log.append(6_000, member("g", "c", "events"), epoch("g", 4), target("g", 4))
    log.append(6_100, current("g", "a", 4, owned=(0,)))
    log.append(6_200, member("g", "d", "events"), epoch("g", 5), target("g", 5))
    log.append(6_300, current("g", "a", 5, owned=(0,)), current("g", "b", 5, owned=(2,)))
    log.append(6_400, current("g", "c", 5, owned=(1,)), current("g", "d", 5, owned=(3,)))
    log.append(
        90_000, current("g", "b", None), member("g", "b"), epoch("g", 6), target("g", 6),
        current("g", "a", 6, owned=(0, 2)), current("g", "c", 6, owned=(1,)),
    )  # fmt: skip
    log.append(90_100, current("g", "d", 6, owned=(3,)))
    return log


# Partition 0 goes on all the time; 2 and 3 stand still from 2000 to 5000. The fourth epoch is
# overtaken when partition 1 is with nobody: the fifth has moved it. Member b was silent for long.
REBALANCES = """\
group_type  from_generation  to_generation  start_ts  end_ts  duration_method  sync_ms  joined  left  stayed  partitions_moved  min_moves  cause            commit_gap_ms  records_delayed  complete
consumer    -                2              1000      1000    reconciled       0        a       ()    0       0                 0          JOIN             -              -                True
consumer    2                3              3000      4500    reconciled       1000     b       ()    1       2                 2          JOIN             3000           5                True
consumer    3                4              6000      6200    superseded       -        c       ()    2       0                 0          JOIN             -              -                True
consumer    4                5              6200      6400    reconciled       200      d       ()    3       2                 2          JOIN             -              -                True
consumer    5                6              90000     90100   reconciled       100      ()      b     3       1                 1          SESSION_TIMEOUT  -              -                True
"""  # noqa: E501 - a table


def test_a_consumer_group():
    check(consumer_group(), "rebalances", REBALANCES)


# Member b was silent for 85 seconds when it went.
MEMBERS = """\
member_id  first_generation  last_generation  left_at  end_reason       assigned_max
a          2                 6                -        -                4
b          3                 5                90000    session_timeout  2
c          4                 6                -        -                1
d          5                 6                -        -                1
"""


def test_members_of_a_consumer_group():
    check(consumer_group(), "members", MEMBERS)


def test_an_epoch_that_nobody_has_reached_yet_is_no_row_yet():
    log = LogWriter()
    log.append(1_000, member("g", "a", "events"), epoch("g", 1))
    assert "rebalances" not in built(GroupTables(SOURCE), [log.rows()])


def test_a_group_whose_last_member_leaves():
    log = LogWriter()
    log.append(1_000, member("g", "a", "events"), epoch("g", 1), current("g", "a", 1, owned=(0,)))
    log.append(2_000, commit("g", "events", 0, 10, 2_000))
    log.append(3_000, current("g", "a", None), member("g", "a"), epoch("g", 2))
    log.append(4_000, epoch("g", 3))  # with nobody in it
    log.append(5_000, epoch("g", None))
    expected = """\
to_generation  end_ts  joined  left  stayed  cause
1              1000    a       ()    0       JOIN
2              3000    ()      a     0       LEAVE
"""
    check(log, "rebalances", expected)


# What changes with the second epoch -> its cause
CAUSES = {
    "other topics": (member("g", "a", "events", "orders"), 0, "SUBSCRIPTION 0.9"),
    "more partitions": (None, 7, "METADATA 0.95"),
    "nothing to see": (None, 0, "UNKNOWN 0.0"),
}


@pytest.mark.parametrize("case", CAUSES)
def test_causes(case):
    record, metadata_hash, expected = CAUSES[case]
    log = LogWriter()
    log.append(1_000, member("g", "a", "events"), epoch("g", 1), current("g", "a", 1, owned=(0,)))
    value = modern.ConsumerGroupMetadataValue(2, metadata_hash)
    second = modern_record(RecordType.CONSUMER_GROUP_METADATA, ("g",), value)
    log.append(2_000, *(() if record is None else (record,)), second)
    log.append(3_000, current("g", "a", 2, owned=(0, 1)))
    row = built(GroupTables(SOURCE), [log.rows()])["rebalances"][-1]
    assert f"{row['cause']} {row['cause_confidence']}" == expected


# -- groups whose members share partitions ---------------------------------------------------------


def share_record(kind: str, key: tuple[str, ...], value: object = None):
    return modern_record(RecordType[f"SHARE_GROUP_{kind}"], key, value)


def sharer(member_id: str):
    value = modern.ShareGroupMemberMetadataValue(
        client_id=f"client-{member_id}", client_host="/h", subscribed_topic_names=("events",)
    )
    return share_record("MEMBER_METADATA", ("s", member_id), value)


def sharing(member_id: str, member_epoch: int, *partitions: int):
    topics = (modern.TopicPartitions(EVENTS_ID, partitions),) if partitions else ()
    value = modern.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member_epoch, assigned_partitions=topics
    )
    return share_record("CURRENT_MEMBER_ASSIGNMENT", ("s", member_id), value)


def readable(*partitions: int):
    topic = modern.TopicPartitionsInfo(EVENTS_ID, "events", partitions)
    value = modern.ShareGroupStatePartitionMetadataValue(initialized_topics=(topic,))
    return share_record("STATE_PARTITION_METADATA", ("s",), value)


def share_epoch(number: int):
    return share_record("METADATA", ("s",), modern.GroupEpochAndHashValue(number, 5))


def share_group() -> LogWriter:
    """As Kafka does it: a partition is given to members when its state is there."""
    log = LogWriter()
    log.append(1_000, sharer("x"), share_epoch(1), sharing("x", 1))
    log.append(2_000, readable(0, 1), share_epoch(2), sharing("x", 2, 0, 1))
    log.append(3_000, sharer("y"), share_epoch(3), sharing("x", 3, 0, 1), sharing("y", 3, 1))
    log.append(
        4_000, share_record("CURRENT_MEMBER_ASSIGNMENT", ("s", "x")),
        share_record("MEMBER_METADATA", ("s", "x")), share_epoch(4), sharing("y", 4, 0, 1),
    )  # fmt: skip
    return log


SHARED_REBALANCES = """\
group_type  from_generation  to_generation  end_ts  joined  left  stayed  partitions_moved  cause
share       -                1              1000    x       ()    0       0                 JOIN
share       1                2              2000    ()      ()    1       0                 METADATA
share       2                3              3000    y       ()    1       0                 JOIN
share       3                4              4000    ()      x     1       0                 LEAVE
"""
SHARED_ASSIGNMENTS = """\
group_type  topic   partition  member_id  generation  state   valid_from  valid_to
share       events  0          x          2           shared  2000        4000
share       events  1          x          2           shared  2000        4000
share       events  1          y          3           shared  3000        -
share       events  0          y          4           shared  4000        -
"""
SHARED_GENERATIONS = """\
generation  n_members  topics  partitions  state_after
1           1          ()      0           Stable
2           1          events  2           Stable
3           2          events  2           Stable
4           1          events  2           Stable
"""


def test_a_share_group():
    check(share_group(), "rebalances", SHARED_REBALANCES)
    check(share_group(), "assignments", SHARED_ASSIGNMENTS)
    check(share_group(), "group_generations", SHARED_GENERATIONS)


# -- groups whose members run tasks ----------------------------------------------------------------


def streams_record(kind: str, key: tuple[str, ...], value: object = None):
    return modern_record(RecordType[f"STREAMS_GROUP_{kind}"], key, value)


def streams_group() -> LogWriter:
    repartition = modern.TopicInfo(name="by-key", partitions=2)
    topology = modern.StreamsGroupTopologyValue(
        1,
        (
            modern.Subtopology(subtopology_id="0", source_topics=("orders",)),
            modern.Subtopology(subtopology_id="1", repartition_source_topics=(repartition,)),
        ),
    )
    value = modern.StreamsGroupMemberMetadataValue(client_id="flow-1", client_host="/h")
    tasks = modern.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=1,
        active_tasks=(modern.TaskIdsWithEpochs("0", (0, 1)), modern.TaskIdsWithEpochs("1", (1,))),
        standby_tasks=(modern.TaskIdsWithEpochs("1", (0,)),),
    )
    fewer = tasks._replace(
        member_epoch=2,
        active_tasks=tasks.active_tasks[:1],
        active_tasks_pending_revocation=tasks.active_tasks[1:],
    )
    log = LogWriter()
    log.append(1_000, streams_record("TOPOLOGY", ("f",), topology))
    log.append(
        1_000, streams_record("MEMBER_METADATA", ("f", "t1"), value),
        streams_record("METADATA", ("f",), modern.StreamsGroupMetadataValue(1)),
        streams_record("CURRENT_MEMBER_ASSIGNMENT", ("f", "t1"), tasks),
    )  # fmt: skip
    log.append(
        2_000, streams_record("METADATA", ("f",), modern.StreamsGroupMetadataValue(2, 9)),
        streams_record("CURRENT_MEMBER_ASSIGNMENT", ("f", "t1"), fewer),
    )  # fmt: skip
    return log


STREAMS_ASSIGNMENTS = """\
group_type  topic   partition  member_id  client_id  state           valid_from  valid_to
streams     orders  0          t1         flow-1     owned           1000        -
streams     by-key  1          t1         flow-1     owned           1000        2000
streams     orders  1          t1         flow-1     owned           1000        -
streams     by-key  1          t1         flow-1     pending_revoke  2000        -
"""
STREAMS_REBALANCES = """\
group_type  from_generation  to_generation  end_ts  joined  cause
streams     -                1              1000    t1      JOIN
streams     1                2              2000    ()      METADATA
"""


def test_a_streams_group():
    check(streams_group(), "rebalances", STREAMS_REBALANCES)
    check(streams_group(), "assignments", STREAMS_ASSIGNMENTS)
