"""Who moved or removed an offset, and what a transaction's commit replaces."""

from __future__ import annotations

import pytest

from drumbeat.core.records import OffsetCommitRecord, OffsetCommitTombstone
from drumbeat.pipeline.tables.group_tables import GroupTables, LogFacts
from drumbeat.protocol.records import ControlRecordType
from drumbeat.protocol.schema import NULL_UUID
from pipeline.golden_log import (
    DAY_MS,
    SOURCE,
    A,
    LogWriter,
    built,
    commit,
    generation,
    text_table,
)

TOMBSTONE = OffsetCommitTombstone("g", "orders", 0)
WEEK_MS = 7 * DAY_MS


def expiring(at_ms: int, expire_ms: int) -> OffsetCommitRecord:
    """As version 1 has it, which knows no topic ids."""
    return commit("g", "orders", 0, 1, at_ms)._replace(
        expire_timestamp_ms=expire_ms, leader_epoch=-1, topic_id=NULL_UUID
    )


# records with their times -> who wrote the last one
ACTORS = {
    "a commit without members": ([(0, commit("g", "orders", 0, 1, 0))], "admin_or_simple"),
    "a commit with members": (
        [(0, generation("g", 1, 0, A)), (1, commit("g", "orders", 0, 1, 1))],
        "member",
    ),
    "a commit when all have gone": (
        [
            (0, generation("g", 1, 0, A)),
            (1, generation("g", 2, 1)),
            (2, commit("g", "orders", 0, 1, 2)),
        ],
        "admin_or_simple",
    ),
    "removed in time": (
        [(0, commit("g", "orders", 0, 1, 0)), (WEEK_MS - 1, TOMBSTONE)],
        "admin_or_simple",
    ),
    "removed when old": (
        [(0, commit("g", "orders", 0, 1, 0)), (WEEK_MS, TOMBSTONE)],
        "coordinator_expiry",
    ),
    "old, but the group not Empty for long": (
        [
            (0, commit("g", "orders", 0, 1, 0)),
            (1, generation("g", 1, 0, A)),
            (2, generation("g", 2, 2)),
            (WEEK_MS + 1, TOMBSTONE),
        ],
        "admin_or_simple",
    ),
    "removed at the time it named": (
        [(0, expiring(0, 500)), (500, TOMBSTONE)],
        "coordinator_expiry",
    ),
    "removed before that": ([(0, expiring(0, 500)), (499, TOMBSTONE)], "admin_or_simple"),
    "removed twice": (
        [(0, commit("g", "orders", 0, 1, 0)), (1, TOMBSTONE), (WEEK_MS, TOMBSTONE)],
        "admin_or_simple",
    ),
}


@pytest.mark.parametrize("case", ACTORS)
def test_actor(case):
    records, expected = ACTORS[case]
    log = LogWriter()
    for at_ms, record in records:
        log.append(at_ms, record)
    assert commits_of(log)[-1]["actor"] == expected


def test_the_retention_is_the_clusters():
    log = LogWriter()
    log.append(0, commit("g", "orders", 0, 1, 0))
    log.append(1_000, TOMBSTONE)
    facts = LogFacts(offsets_retention_ms=1_000)
    rows = built(GroupTables(SOURCE, facts), [log.rows()])["offset_commits"]
    assert rows[-1]["actor"] == "coordinator_expiry"


def commits_of(log: LogWriter):
    rows = built(GroupTables(SOURCE), [log.rows()])["offset_commits"]
    return sorted(rows, key=lambda row: row["log_offset"])


# Two transactions at once; a tombstone removes what the first has not committed yet.
INTERLEAVED = """\
log_offset  committed_offset  kind        visible_at  prev_offset  delta  interval_ms  direction
0           5                 commit      0           -            -      -            -
1           10                txn_commit  -           -            -      -            -
2           -                 tombstone   2           5            -      2            -
3           20                txn_commit  -           -            -      -            -
4           30                txn_commit  6           -            -      -            -
5           25                txn_commit  7           30           -5     1            rewind
"""


def test_transactions_take_effect_where_they_end():
    log = LogWriter()
    log.append(0, commit("g", "orders", 0, 5, 0))
    log.append(1, commit("g", "orders", 0, 10, 1), producer_id=7)
    log.append(2, TOMBSTONE)
    log.append(3, commit("g", "orders", 0, 20, 3), producer_id=7)
    log.append(4, commit("g", "orders", 0, 30, 4), producer_id=8)
    log.append(5, commit("g", "orders", 0, 25, 5), producer_id=7)
    log.end_transaction(6, 8, ControlRecordType.COMMIT)
    log.end_transaction(7, 7, ControlRecordType.COMMIT)
    assert text_table(commits_of(log), INTERLEAVED.partition("\n")[0].split()) == INTERLEAVED
