"""Which offsets were read, why others were not, and which rows suffer from it."""

from __future__ import annotations

import pytest

from drumbeat.pipeline.tables.coverage import Coverage, ReadRange
from drumbeat.pipeline.tables.group_tables import GroupTables
from pipeline.golden_log import (
    HALF_A,
    SOURCE,
    A,
    B,
    LogWriter,
    built,
    commit,
    generation,
    text_table,
)

# what was read (first-last), the log's start, offsets of the records -> stretches
CASES = {
    "all of it": ((), None, (0, 1, 2), "0-2 read 3"),
    "nothing is known about the beginning": ((), None, (2, 3), "0-1 never_read 0; 2-3 read 2"),
    "below the start of the log": ((), 2, (2, 3), "0-1 truncated 0; 2-3 read 2"),
    "start of the log, then cleaned": (
        (),
        1,
        (3,),
        "0-0 truncated 0; 1-2 compacted 0; 3-3 read 1",
    ),
    "a hole": ((), None, (0, 3), "0-0 read 1; 1-2 compacted 0; 3-3 read 1"),
    "a hole between files": (
        ((0, 2), (5, 9)),
        None,
        (0, 1, 7),
        "0-1 read 2; 2-2 compacted 0; 3-4 never_read 0; 5-6 compacted 0; 7-7 read 1",
    ),
    "files that start late": (
        ((4, 9),),
        2,
        (4,),
        "0-1 truncated 0; 2-3 never_read 0; 4-4 read 1",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("batch_records", [1, 9])
def test_stretches(case, batch_records):
    ranges, log_start_offset, offsets, expected = CASES[case]
    coverage = Coverage(SOURCE, [ReadRange(*r) for r in ranges], log_start_offset)
    log = log_with(offsets)
    batches = [log.slice(n, batch_records) for n in range(0, len(log), batch_records)]
    rows = built(coverage, batches)["log_coverage"]
    told = [
        f"{row['first_offset']}-{row['last_offset']} {row['kind']} {row['records']}" for row in rows
    ]
    assert "; ".join(told) == expected
    assert all(row["evidence"] for row in rows)


def log_with(offsets):
    log, expected = LogWriter(), 0
    for offset in offsets:
        log.skip(offset - expected)
        log.append(offset * 1_000, commit("g", "orders", 0, offset, offset * 1_000))
        expected = offset + 1
    return log.rows()


def test_a_single_offset_behind_a_transaction_was_its_marker():
    log = LogWriter()
    log.append(0, commit("g", "orders", 0, 1, 0), producer_id=7)
    log.skip(1)
    log.append(2_000, commit("g", "orders", 1, 1, 2_000))
    rows = built(Coverage(SOURCE), [log.rows()])["log_coverage"]
    assert [row["kind"] for row in rows] == ["read", "control", "read"]


def test_records_must_come_in_order():
    log = log_with((0, 1))
    coverage = Coverage(SOURCE)
    list(coverage.feed(log.slice(1, 1)))
    with pytest.raises(AssertionError, match="log offset 0 comes after 1"):
        list(coverage.feed(log.slice(0, 1)))


COMMITS = """\
log_offset  partition  prev_offset  complete
1           0          -            True
4           0          10           False
5           1          -            False
6           0          15           True
"""
GENERATIONS = """\
log_offset  generation  skipped  complete
0           1           -        True
7           3           -        False
8           5           1        True
"""


def test_rows_across_a_gap_are_not_complete():
    log = LogWriter()
    log.append(1_000, generation("g", 1, 900, A), commit("g", "orders", 0, 10, 1_000))
    log.skip(2)
    log.append(
        2_000,
        *(commit("g", "orders", p, offset, 2_000) for p, offset in ((0, 15), (1, 1), (0, 16))),
    )
    log.append(3_000, generation("g", 3, 2_900, HALF_A, B))
    log.append(4_000, generation("g", 5, 3_900, A))
    tables = built(GroupTables(SOURCE), [log.rows()])
    columns = COMMITS.partition("\n")[0].split()
    assert text_table(tables["offset_commits"], columns) == COMMITS
    columns = GENERATIONS.partition("\n")[0].split()
    assert text_table(tables["group_generations"], columns) == GENERATIONS
    rebalances = [(row["failed_attempts"], row["complete"]) for row in tables["rebalances"]]
    assert rebalances == [(None, True), (None, False), (1, True)]
    sessions = {row["member_id"]: row["complete"] for row in tables["members"]}
    assert sessions == {"a": False, "b": False}
