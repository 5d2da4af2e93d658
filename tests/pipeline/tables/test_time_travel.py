"""The state at any moment, with and without snapshots; what changed between two; the way back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from drumbeat.core.state import CommittedOffset, Group, State
from drumbeat.pipeline.tables.replay import Replay
from drumbeat.pipeline.tables.snapshots import Snapshots
from drumbeat.pipeline.tables.time_travel import (
    Changed,
    Difference,
    differences,
    state_at,
    usable_snapshot,
)
from drumbeat.pipeline.tables.undo import Reset, reset_csv, undo_plan
from pipeline.golden_log import DAY_MS, SOURCE, golden_log

MOMENTS = (0, 1_000, 2_500, 29_999, 30_000, 59_999, 64_000, 71_000, 73_500, 90_000, 9 * DAY_MS)


@pytest.fixture(scope="module")
def log():
    return golden_log()


@pytest.fixture(scope="module")
def snapshots(log):
    builder = Snapshots(SOURCE, interval_ms=30_000)
    return [batch for _, batch in [*builder.feed(log), *builder.finish()]]


def up_to(log: pa.RecordBatch, at_ms: int) -> State:
    replay = Replay()
    replay.feed(log.filter(pa.compute.less_equal(log.column("append_ts"), at_ms)))
    return replay.state


@pytest.mark.parametrize("at_ms", MOMENTS)
@pytest.mark.parametrize("batch_records", [7, 100])
def test_state_at_is_the_state_of_a_prefix(log, at_ms, batch_records):
    batches = [log.slice(n, batch_records) for n in range(0, len(log), batch_records)]
    assert state_at(batches, at_ms) == up_to(log, at_ms)


@pytest.mark.parametrize("at_ms", MOMENTS)
def test_snapshots_give_the_same_state_from_fewer_records(log, snapshots, at_ms):
    replayed = usable_snapshot(snapshots, at_ms)
    rest = log.slice(replayed + 1)
    assert state_at([rest], at_ms, snapshots) == up_to(log, at_ms)
    assert state_at([log], at_ms, snapshots) == up_to(log, at_ms)


def test_snapshots_are_used(snapshots):
    assert [usable_snapshot(snapshots, at) for at in (0, 29_998, 29_999, 9 * DAY_MS)] == [
        -1,
        -1,
        15,
        57,
    ]


def test_differences_of_a_group(log):
    before, after = state_at([log], 7_500), state_at([log], 50_000)
    assert list(differences(before, after)) == [
        Changed("orders", Difference.GENERATION, before=3, after=10),
        Changed("orders", Difference.MEMBER_LEFT, member_id="a"),
        Changed("orders", Difference.OFFSET_MOVED, "orders", 0, before=30, after=0),
        Changed("orders", Difference.OFFSET_MOVED, "orders", 1, before=20, after=25),
        Changed("orders", Difference.OFFSET_MOVED, "orders", 2, before=5, after=9),
    ]


def test_differences_when_groups_come_and_go(log):
    before, after = state_at([log], 61_500), state_at([log], 72_000)
    assert list(differences(before, after)) == [
        Changed("payments", Difference.GROUP_ADDED, after=0),
        Changed("payments", Difference.OFFSET_ADDED, "orders", 0, after=100),
        Changed("payments", Difference.OFFSET_ADDED, "orders", 1, after=250),
        Changed("static", Difference.GROUP_REMOVED, before=1),
        Changed("static", Difference.MEMBER_LEFT, member_id="s1"),
        Changed("static", Difference.OFFSET_REMOVED, "events", 0, before=3),
    ]
    assert list(differences(after, after)) == []


def test_undo_of_a_reset(log):
    then, now = state_at([log], 41_000), state_at([log], 60_000)
    plan = undo_plan(then, now, ["orders"])
    assert plan.resets == (Reset("orders", "orders", 0, 30, 0),)
    assert plan.deletes == ()
    assert plan.active_groups == ()
    assert reset_csv(plan.resets) == "orders,0,30\n"


def test_undo_does_not_go_below_the_start_of_the_log(log):
    then, now = state_at([log], 41_000), state_at([log], 60_000)
    plan = undo_plan(then, now, ["orders"], log_starts={("orders", 0): 33, ("orders", 1): 2})
    assert plan.resets == (Reset("orders", "orders", 0, 33, 0, is_raised=True),)


def test_undo_tells_what_a_reset_cannot_do(log):
    then, now = state_at([log], 1_000), state_at([log], 4_000)
    plan = undo_plan(then, now)
    assert plan.resets == ()
    assert plan.deletes == tuple(("orders", "orders", partition) for partition in range(4))
    assert plan.active_groups == ("orders",)


def offsets(**partitions: int) -> dict[tuple[str, int], CommittedOffset]:
    return {(topic, 0): CommittedOffset(offset) for topic, offset in partitions.items()}


CSV = {
    "one group": (("g",), "t,0,5\n"),
    "several groups": (("g", "h"), "g,t,0,5\nh,t,0,5\n"),
    "a name that needs quotes": (("g", 'a,"b"'), '"a,""b""",t,0,5\ng,t,0,5\n'),
    "nothing to do": ((), ""),
}


@pytest.mark.parametrize("case", CSV)
def test_csv_is_what_the_reset_tool_reads(case):
    group_ids, expected = CSV[case]
    groups = dict.fromkeys(group_ids, Group())
    then = State(groups, {group_id: offsets(t=5) for group_id in group_ids})
    now = State(groups, {group_id: offsets(t=9) for group_id in group_ids})
    assert reset_csv(undo_plan(then, now).resets) == expected
