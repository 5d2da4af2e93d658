"""What coordinators answer is compared with replay, as far as both stand still."""

import pytest

from drumbeat.client.values import TopicPartition
from drumbeat.core.records import OffsetCommitTombstone
from drumbeat.pipeline.history.live_check import check_answers, live_differences
from drumbeat.pipeline.history.store import open_history
from drumbeat.pipeline.promises import broken_promises
from drumbeat.pipeline.sources.live_answers import GroupAnswer, LiveAnswers
from drumbeat.pipeline.warehouse import Warehouse
from drumbeat.protocol.java_hash import partition_for
from drumbeat.protocol.records import ControlRecordType
from pipeline.golden_log import SOURCE, Client, LogWriter, commit, generation
from pipeline.history.warehouses import write_warehouse

PARTITIONS = 4
END = 8  # of the log when the coordinators were asked
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def names_in(log_partition):
    """Groups that live there."""
    return [
        name
        for name in (f"group-{number}" for number in range(100))
        if partition_for(name, PARTITIONS) == log_partition
    ]


GROUP, BUSY, DELETED, NEW, *_ = names_in(SOURCE.partition)
A = Client("a", "app-a", (0, 1))
OFFSETS = {P0: 10, P1: 20}


def log():
    """Offsets 0 to 7 before the question; 8 to 13 after it."""
    writer = LogWriter()
    writer.append(1_000, generation(GROUP, 1, 900, A), generation(BUSY, 1, 900, A))
    for group_id in (GROUP, BUSY):
        places = (commit(group_id, "orders", p.partition, n, 2_000) for p, n in OFFSETS.items())
        writer.append(2_000, *places)
    writer.append(3_000, commit(DELETED, "orders", 0, 5, 3_000))
    writer.append(4_000, commit(BUSY, "orders", 1, 30, 4_000), producer_id=7)
    writer.append(5_000, commit(BUSY, "orders", 0, 11, 5_000), generation(BUSY, 2, 4_900))
    writer.end_transaction(6_000, 7, ControlRecordType.COMMIT)
    writer.append(7_000, OffsetCommitTombstone(DELETED, "orders", 0))
    writer.append(8_000, commit(NEW, "orders", 0, 1, 8_000))
    return writer.rows()


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "warehouse"
    write_warehouse(path, {tuple(SOURCE): [log()]})
    return path


SAME = GroupAnswer(OFFSETS, frozenset({"a"}))
GONE = GroupAnswer({P0: 5}, frozenset())
AGREED = {GROUP: SAME, BUSY: SAME, DELETED: GONE}


def answers(end=END, **groups):
    told = {**AGREED, **{name.replace("_", "-"): answer for name, answer in groups.items()}}
    known = {name: answer for name, answer in told.items() if answer is not None}
    return LiveAnswers(9_000, {**dict.fromkeys(range(PARTITIONS), 0), SOURCE.partition: end}, known)


def of(group_id):
    return group_id.replace("-", "_")


# What is answered otherwise than it stands in the log -> what is found
CASES = {
    "nothing": ({}, []),
    "all of the later changes": (
        {
            of(BUSY): GroupAnswer({P0: 11, P1: 30}, frozenset()),
            of(DELETED): None,
            of(NEW): GroupAnswer({P0: 1}, frozenset()),
        },
        [],
    ),
    "an offset": (
        {of(GROUP): SAME._replace(offsets={P0: 10, P1: 21})},
        ["orders-1: replay has 20, the coordinator 21"],
    ),
    "an offset is missing": (
        {of(GROUP): SAME._replace(offsets={P0: 10})},
        ["orders-1: replay has 20, the coordinator None"],
    ),
    "a group is missing": (
        {of(GROUP): None},
        [
            "orders-0: replay has 10, the coordinator None",
            "orders-1: replay has 20, the coordinator None",
        ],
    ),
    "a member": (
        {of(GROUP): SAME._replace(members=frozenset({"b"}))},
        ["members only in replay: ['a'], only at the coordinator: ['b']"],
    ),
    "members that are changing": ({of(GROUP): SAME._replace(members=None)}, []),
    "more than was read": ({"end": 99, of(GROUP): None}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_differences(warehouse, case):
    told, expected = CASES[case]
    with open_history(str(warehouse)) as history:
        rows = list(live_differences(history, SOURCE.cluster_id, answers(**told)))
    assert [row["detail"] for row in rows] == expected
    for row in rows:
        assert (row["group_id"], row["log_partition"]) == (GROUP, SOURCE.partition)
        assert (row["log_offset"], row["violated_at"]) == (END - 1, 9_000)
        assert (row["invariant"], row["certainty"]) == ("state_equals_answer", "violation")


def test_rows_are_those_of_the_newest_answers(tmp_path):
    path = str(tmp_path / "warehouse")
    write_warehouse(path, {tuple(SOURCE): [log()]})
    counts = []
    for told in ({of(GROUP): None}, {of(GROUP): None}, {}, {}):
        with Warehouse(path).writer("run") as writer:
            check_answers(writer, SOURCE.cluster_id, answers(**told))
        broken = broken_promises(Warehouse(path), SOURCE.cluster_id)
        counts.append(sum(each.times for each in broken if each.is_violation))
    assert counts == [2, 2, 0, 0]


def test_an_empty_warehouse_is_left_alone(tmp_path):
    with Warehouse(str(tmp_path / "warehouse")).writer("run") as writer:
        assert check_answers(writer, SOURCE.cluster_id, answers()) == writer.manifest
