"""States from the warehouse are those of the whole log, replayed in process."""

import pyarrow as pa
import pytest

from drumbeat.core.state import State
from drumbeat.pipeline.history.changes import changes, way_back
from drumbeat.pipeline.history.errors import HistoryError, UnknownGroup
from drumbeat.pipeline.history.replay import GroupReplay, replay_of_group
from drumbeat.pipeline.history.states import all_states, group_state
from drumbeat.pipeline.history.store import open_history
from drumbeat.pipeline.history.times import END_OF_TIME_MS
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.tables.time_travel import state_at
from drumbeat.pipeline.tables.undo import reset_csv
from drumbeat.protocol.java_hash import partition_for
from pipeline.golden_log import DAY_MS, SOURCE, LogWriter, commit, golden_log
from pipeline.history.warehouses import write_warehouse

GROUPS = ("orders", "static", "payments", "modern")


def of_group(state, group_id):
    """What a state says about one group."""
    pending = {
        producer: by_group[group_id]
        for producer, by_group in state.pending_offsets.items()
        if group_id in by_group
    }
    return state.groups.get(group_id), state.offsets.get(group_id, {}), pending


def moments(log):
    times = sorted(set(log.column("append_ts").to_pylist()))
    return [times[0] - 1, *times, END_OF_TIME_MS]


def check_all_moments(path, log, groups):
    with open_history(str(path)) as history:
        for group_id in groups:
            replay = replay_of_group(history, group_id)
            for at_ms in moments(log):
                expected = of_group(state_at([log], at_ms), group_id)
                assert of_group(replay.state_at(at_ms), group_id) == expected, (group_id, at_ms)


def test_a_group_is_as_it_was_at_every_moment(golden, staged):
    """From snapshots, and from the staged log alone."""
    check_all_moments(golden, golden_log(), GROUPS)
    check_all_moments(staged, golden_log(), GROUPS)


def test_a_moment_ends_at_the_first_later_record_of_any_group(tmp_path):
    log = LogWriter()
    for at_ms, offset in ((1_000, 1), (50_000, 2), (40_000, 3), (70_000, 4)):
        log.append(at_ms, commit("late", "orders", 0, offset, at_ms))
        log.append(at_ms - 500, commit("other", "orders", 0, offset, at_ms))
    write_warehouse(tmp_path / "w", {tuple(SOURCE): [log.rows()]})
    check_all_moments(tmp_path / "w", log.rows(), ("late", "other"))


def test_all_groups_at_once(history):
    for at_ms in (9_500, 62_500, END_OF_TIME_MS):
        expected = state_at([golden_log()], at_ms)
        assert GroupReplay(history, LogPartition(*SOURCE)).state_at(at_ms) == expected
        assert [row[1] for row in all_states(history, at_ms).rows] == sorted(expected.groups)


def test_state_of_a_classic_group(history):
    found = group_state(history, replay_of_group(history, "orders"), 9_500)
    assert (found.group_type, found.state, found.generation) == ("classic", "Stable", 4)
    assert (found.protocol, found.leader, found.is_complete) == ("range", "a", True)
    assert [(p.partition, p.committed_offset, p.client_id) for p in found.partitions] == [
        (0, 30, "app-a"),
        (1, 20, "app-a"),
        (2, 9, "app-c"),
        (3, 7, "app-c"),
    ]
    assert [member.member_id for member in found.members] == ["a", "c"]


@pytest.mark.parametrize(
    ("at_ms", "generation", "members", "owners"),
    [
        (81_500, 1, ["m1"], {0: "m1", 1: "m1"}),
        (86_500, 2, ["m1", "m2"], {0: "m1", 1: "m2"}),
        (END_OF_TIME_MS, 3, ["m1"], {0: "m1", 1: None}),
    ],
)
def test_members_of_newer_types_come_from_the_tables(history, at_ms, generation, members, owners):
    found = group_state(history, replay_of_group(history, "modern"), at_ms)
    assert (found.group_type, found.generation) == ("consumer", generation)
    assert [member.member_id for member in found.members] == members
    assert {p.partition: p.member_id for p in found.partitions} == owners


@pytest.mark.parametrize("at_ms", [500, 9 * DAY_MS])
def test_a_group_that_is_not_there_is_dead(history, at_ms):
    found = group_state(history, replay_of_group(history, "orders"), at_ms)
    assert (found.group_type, found.state, found.members, found.partitions) == (
        None,
        "Dead",
        (),
        (),
    )


def test_a_log_with_gaps_says_so(tmp_path):
    log = LogWriter()
    log.append(1_000, commit("g", "orders", 0, 1, 1_000))
    log.skip(5)
    log.append(2_000, commit("g", "orders", 0, 2, 2_000))
    write_warehouse(tmp_path / "w", {tuple(SOURCE): [log.rows()]})
    with open_history(str(tmp_path / "w")) as history:
        replay = replay_of_group(history, "g")
        assert [replay.is_complete_at(at) for at in (999, 1_500, 2_500)] == [
            True,
            False,  # nobody knows when the missing ones were written
            False,
        ]


def test_what_changed(history):
    rows = changes(history, (9_500, 45_000), "orders", None).rows
    assert [(row.difference, row.partition, row.before, row.after) for row in rows] == [
        ("generation", None, 4, 10),
        ("member_left", None, None, None),
        ("member_left", None, None, None),
        ("offset_moved", 1, 20, 25),
    ]
    everything = changes(history, (9_500, 45_000), None, None).rows
    assert everything == rows
    assert changes(history, (9_500, 9_500), None, None).rows == []


def test_the_way_back(history):
    """Not below the first record that is still there."""
    plan = way_back(history, replay_of_group(history, "orders"), 3_500)
    assert reset_csv(plan.resets) == "orders,0,12\norders,1,20\n"
    plan = way_back(history, replay_of_group(history, "orders"), 5_000)
    assert reset_csv(plan.resets) == "orders,0,15\norders,1,20\norders,2,5\norders,3,7\n"
    early = way_back(history, replay_of_group(history, "modern"), 80_500)
    assert early.deletes == (("modern", "events", 1),)


def commits_of(group_id, at_ms=1_000):
    log = LogWriter()
    log.append(at_ms, commit(group_id, "orders", 0, 1, at_ms))
    return log.rows()


def in_partition(rows, cluster_id, log_partition):
    for name, value in (("cluster_id", cluster_id), ("log_partition", log_partition)):
        at = rows.schema.get_field_index(name)
        column = pa.array([value] * len(rows), rows.schema.field(at).type)
        rows = rows.set_column(at, rows.schema.field(at), column)
    return rows


def test_a_group_is_found_where_its_name_leads_and_elsewhere(tmp_path):
    home, elsewhere = partition_for("g", 50), partition_for("g", 50) + 1
    for cluster, partition, group in (
        ("one", home, "g"),
        ("one", elsewhere, "h"),
        ("two", elsewhere, "g"),
    ):
        rows = in_partition(commits_of(group), cluster, partition)
        logs = {(cluster, partition): [rows]}
        write_warehouse(tmp_path / "w", logs, is_derived=False, run_id=f"{cluster}-{group}")
    with open_history(str(tmp_path / "w")) as history:
        assert replay_of_group(history, "g", "one").source == ("one", home)
        assert replay_of_group(history, "g", "two").source == ("two", elsewhere)
        assert replay_of_group(history, "h").source == ("one", elsewhere)
        with pytest.raises(HistoryError, match="choose one with --cluster: one, two"):
            replay_of_group(history, "g")
        with pytest.raises(UnknownGroup, match="see history groups"):
            replay_of_group(history, "unheard-of")
        with pytest.raises(HistoryError, match="no cluster 'three'"):
            replay_of_group(history, "g", "three")
        assert replay_of_group(history, "h").state_at(0) == State()
