"""Why a group rebalanced, by what changed or by what the cluster told; and what it moved."""

from __future__ import annotations

import pytest

from drumbeat.core.events import GroupEvent, GroupEventType, Reason, event_value
from drumbeat.pipeline.tables.causes import CAUSE_OF_REASON
from drumbeat.pipeline.tables.group_events import GroupEvents, read_group_events
from drumbeat.pipeline.tables.group_tables import GroupTables
from pipeline.golden_log import (
    SOURCE,
    A,
    B,
    C,
    Client,
    LogWriter,
    built,
    commit,
    generation,
)

S1, S2 = Client("s1", "app-s", (0, 1), "i-1"), Client("s2", "app-s", (0, 1), "i-1")
A_OF_2 = A._replace(partitions=(0, 1))
A_OF_EVENTS = A._replace(topic="events")
A_OF_5 = A._replace(partitions=(0, 1, 2, 3, 4))

# before, after, ms from the last commit to the new generation -> cause
CAUSES = {
    "first member": ((), (A,), 100, "JOIN 0.9"),
    "one more": ((A,), (A_OF_2, B), 100, "JOIN 0.9"),
    "one less, not committed for a session": ((A_OF_2, B), (A,), 10_000, "SESSION_TIMEOUT 0.7"),
    "one less, committed just before": ((A_OF_2, B), (A,), 9_999, "LEAVE 0.8"),
    "one less, never committed": ((A_OF_2, B), (A,), None, "LEAVE 0.5"),
    "back under a new id": ((A,), (A._replace(member_id="new"),), 100, "RESTART 0.8"),
    "static, back under a new id": ((S1,), (S2,), 100, "STATIC_REPLACEMENT 0.95"),
    "one for another": ((A_OF_2, B), (A_OF_2, C), 100, "MEMBERS_CHANGED 0.5"),
    "other topics": ((A,), (A_OF_EVENTS,), 100, "SUBSCRIPTION 0.9"),
    "more partitions": ((A,), (A_OF_5,), 100, "METADATA 0.8"),
    "too slow to rejoin": ((A,), (A,), 60_000, "POLL_INTERVAL 0.5"),
    "nothing to see": ((A,), (A,), 100, "LEADER_REJOIN 0.3"),
}


@pytest.mark.parametrize("case", CAUSES)
def test_cause_is_inferred_from_what_changed(case):
    before, after, silent_ms, expected = CAUSES[case]
    row = last_rebalance(story(before, after, silent_ms))
    assert f"{row['cause']} {row['cause_confidence']}" == expected
    assert row["cause_source"] == "inferred"


def test_failed_attempts_are_the_generations_between():
    row = last_rebalance(story((A,), (A,), 100, to_generation=5))
    assert (row["cause"], row["failed_attempts"]) == ("FAILED", 3)


def story(before, after, silent_ms, to_generation=2) -> LogWriter:
    log, end_ms = LogWriter(), 200_000
    log.append(1_000, generation("g", 1, 900, *before))
    if silent_ms is not None:
        at_ms = end_ms - silent_ms
        log.append(at_ms, *(commit("g", "orders", p, 5, at_ms) for p in range(4)))
    log.append(end_ms, generation("g", to_generation, end_ms - 50, *after))
    return log


def last_rebalance(log: LogWriter, events: GroupEvents | None = None):
    return built(GroupTables(SOURCE, events=events), [log.rows()])["rebalances"][-1]


# -- told by events -------------------------------------------------------------------------------


def begun(at_ms: int, reason: str, group_id: str = "g", generation_id: int | None = 1) -> bytes:
    fields = {"reason": reason, "client_reason": "rolling", "generation_id": generation_id}
    return event_value(GroupEvent(GroupEventType.REBALANCE_BEGUN, group_id, at_ms, fields))


@pytest.mark.parametrize("reason", Reason)
def test_an_event_is_believed(reason):
    events = GroupEvents([read_group_events([begun(150_000, reason)])])
    row = last_rebalance(story((A,), (A_OF_2, B), 100), events)
    told = (row["cause"], row["cause_confidence"], row["cause_source"], row["client_reason"])
    assert told == (CAUSE_OF_REASON[reason], 1.0, "event", "rolling")
    assert (row["start_ts"], row["duration_ms"], row["duration_method"]) == (
        150_000,
        50_000,
        "event",
    )


# events -> cause source and start
EVENTS = {
    "of another group": ([begun(150_000, "member_left", "other")], "inferred JOIN 199900"),
    "before the generation before": ([begun(999, "member_left")], "inferred JOIN 199900"),
    "after the new generation": ([begun(200_001, "member_left")], "inferred JOIN 199900"),
    "the first of several": (
        [begun(180_000, "session_timeout"), begun(170_000, "member_left")],
        "event LEAVE 170000",
    ),
    "of a newer version": ([begun(150_000, "moon_phase")], "event UNKNOWN 150000"),
    "of another generation": (
        [begun(150_000, "member_left", generation_id=0), begun(150_000, "member_left", "g", 2)],
        "inferred JOIN 199900",
    ),
    "of no generation": (
        [begun(150_000, "member_left", generation_id=None)],
        "event LEAVE 150000",
    ),
}


@pytest.mark.parametrize("case", EVENTS)
def test_which_event_counts(case):
    values, expected = EVENTS[case]
    row = last_rebalance(story((A,), (A_OF_2, B), 100), GroupEvents([read_group_events(values)]))
    assert f"{row['cause_source']} {row['cause']} {row['start_ts']}" == expected


def test_a_join_right_after_the_last_member_has_left():
    log = LogWriter()
    log.append(1_000, generation("g", 1, 900, A))
    log.append(5_000, generation("g", 2, 5_000))
    log.append(6_000, generation("g", 3, 5_990, B))
    values = [
        begun(5_000, "member_left", generation_id=1),
        begun(5_000, "member_joined", generation_id=2),
    ]
    events = GroupEvents([read_group_events(values)])
    rows = built(GroupTables(SOURCE, events=events), [log.rows()])["rebalances"]
    assert [row["cause"] for row in rows] == ["JOIN", "LEAVE", "JOIN"]
    assert [row["cause_source"] for row in rows] == ["inferred", "event", "event"]


# -- what it moved --------------------------------------------------------------------------------


def members(text: str) -> tuple[Client, ...]:
    """Such as "a:01 b:23": members and the partitions of each."""
    return tuple(
        Client(name, f"app-{name}", tuple(map(int, owned)))
        for name, _, owned in (word.partition(":") for word in text.split())
    )


# before, after -> moved, min_moves, stickiness
MOVES = {
    "nothing moves": ("a:01 b:23", "a:01 b:23", (0, 0, 1.0)),
    "all swap for nothing": ("a:01 b:23", "a:23 b:01", (4, 0, 0.0)),
    "a third member, sticky": ("a:012 b:345", "a:01 b:34 c:25", (2, 2, 1.0)),
    "a third member, by range": ("a:012 b:345", "a:01 b:23 c:45", (3, 2, 0.75)),
    "a member goes": ("a:01 b:23", "a:0123", (2, 2, 1.0)),
    "the first members": ("", "a:01", (0, 0, None)),
    "the last members go": ("a:01", "", (0, 0, None)),
    "new partitions are not moved": ("a:0", "a:01", (0, 0, 1.0)),
    "everybody is new": ("a:01", "b:01", (2, 2, 1.0)),
}


@pytest.mark.parametrize("case", MOVES)
def test_moves(case):
    before, after, expected = MOVES[case]
    row = last_rebalance(story(members(before), members(after), 100))
    assert (row["partitions_moved"], row["min_moves"], row["stickiness"]) == expected


# ms from the last commit -> how the start is known, and the duration
DURATIONS = {
    "committed on the way": (2_000, ("last_commit", 2_000)),
    "no longer than the timeout": (190_000, ("rebalance_timeout", 60_050)),
    "never committed": (None, ("sync_phase", 50)),
}


@pytest.mark.parametrize("case", DURATIONS)
def test_durations(case):
    silent_ms, expected = DURATIONS[case]
    row = last_rebalance(story((A,), (A_OF_2, B), silent_ms))
    assert (row["duration_method"], row["duration_ms"]) == expected
    assert row["sync_ms"] == 50


def test_the_two_rounds_of_a_cooperative_rebalance():
    """Whoever has too much gives it up in the first; others get it in the second."""
    log = LogWriter()
    for number, owned in enumerate(("a:0123", "a:01 b:", "a:01 b:23", "a:01 b:234"), 1):
        log.append(number * 1_000, generation("g", number, number * 1_000 - 10, *members(owned)))
    rows = built(GroupTables(SOURCE), [log.rows()])["rebalances"]
    assert [row["cause"] for row in rows] == ["JOIN", "JOIN", "HANDOVER", "METADATA"]
    assert [row["partitions_moved"] for row in rows] == [0, 0, 2, 0]


@pytest.mark.parametrize("reason", [Reason.LEADER_REJOINED, Reason.MEMBER_CHANGED])
def test_an_event_tells_who_came_back_and_the_generations_what_for(reason):
    log = LogWriter()
    for number, owned in enumerate(("a:0123", "a:01 b:", "a:01 b:23", "a:01 b:23"), 1):
        log.append(number * 1_000, generation("g", number, number * 1_000 - 10, *members(owned)))
    values = [begun(number * 1_000, reason, generation_id=number) for number in (2, 3)]
    events = GroupEvents([read_group_events(values)])
    rows = built(GroupTables(SOURCE, events=events), [log.rows()])["rebalances"][2:]
    assert [row["cause"] for row in rows] == ["HANDOVER", CAUSE_OF_REASON[reason]]
    assert {row["cause_source"] for row in rows} == {"event"}


# -- what it cost ---------------------------------------------------------------------------------


def offsets(at_ms: int, **by_partition: int):
    """Such as p0=5."""
    return [
        commit("g", "orders", int(partition[1:]), offset, at_ms)
        for partition, offset in by_partition.items()
    ]


# commits before the second generation, after it -> commit_gap_ms, records_delayed
COSTS = {
    "all go on at once": ({"p0": 5, "p1": 6}, [(205_000, {"p0": 9, "p1": 6})], (15_000, 4)),
    "one after the other": (
        {"p0": 5, "p1": 6},
        [(203_000, {"p1": 9}), (204_000, {"p1": 99}), (205_000, {"p0": 8})],
        (13_000, 6),
    ),
    "one goes back": ({"p0": 5, "p1": 6}, [(205_000, {"p0": 9, "p1": 0})], (15_000, 4)),
    "one is new": ({"p0": 5}, [(205_000, {"p0": 9, "p1": 700})], (15_000, 4)),
    "nobody goes on": ({"p0": 5}, [], (None, None)),
    "nobody had begun": ({}, [(205_000, {"p0": 9})], (None, None)),
}


@pytest.mark.parametrize("case", COSTS)
def test_costs(case):
    before, after, expected = COSTS[case]
    log = LogWriter()
    log.append(1_000, generation("g", 1, 900, A))
    if before:
        log.append(190_000, *offsets(190_000, **before))
    log.append(200_000, generation("g", 2, 199_950, A_OF_2, B))
    for at_ms, committed in after:
        log.append(at_ms, *offsets(at_ms, **committed))
    for end in (len(log.rows()), 4):  # in one batch, or in two
        parts = [log.rows().slice(0, end), log.rows().slice(end)]
        row = built(GroupTables(SOURCE), parts)["rebalances"][-1]
        assert (row["commit_gap_ms"], row["records_delayed"]) == expected


def test_what_happens_later_is_the_cost_of_the_next_rebalance():
    log = LogWriter()
    log.append(1_000, generation("g", 1, 900, A))
    log.append(2_000, *offsets(2_000, p0=5))
    log.append(3_000, generation("g", 2, 2_900, A))
    log.append(4_000, generation("g", 3, 3_900, A))
    log.append(5_000, *offsets(5_000, p0=7))
    log.append(6_000, generation("g", 4, 6_000))
    log.append(9_000, *offsets(9_000, p0=0))  # by an administrator
    rows = built(GroupTables(SOURCE), [log.rows()])["rebalances"]
    assert [row["commit_gap_ms"] for row in rows] == [None, None, 3_000, None]
    assert [row["records_delayed"] for row in rows] == [None, None, 2, None]
