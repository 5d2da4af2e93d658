"""The pipeline on the log of a live Apache Kafka: its tables say what Kafka's own tools say."""

import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from drumbeat.pipeline.history.questions import FINDINGS_OF_GROUPS, GROUPS, LAG, Scope, answer
from drumbeat.pipeline.history.replay import replay_of_group
from drumbeat.pipeline.history.states import group_state
from drumbeat.pipeline.history.store import open_history
from drumbeat.pipeline.history.times import END_OF_TIME_MS
from interop.java_programs import Tools
from interop.kafka_jars import start_kafka
from interop.kafka_life import LOG_PARTITIONS, SETTINGS, Life
from interop.kafka_told import Member, Standing, Told, ask

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PIPELINE_TIMEOUT_S = 200
SOURCES = ("folder", "brokers")
GONE = {"deleted", "expired"}
# A matter of time: how many members joined at once, and when the ends of topics were asked for.
MAY_BE_FOUND = {
    ("COMMIT_AHEAD_OF_LEO", "payments"),
    ("FAILED_REBALANCES", "churned"),
    ("REBALANCE_STORM", "churned"),
}


class Cluster(NamedTuple):
    life: Life
    data: Path
    sources: dict[str, str]
    told: Told


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Alive until the last test is done, with a copy of its data directory."""
    folder = tmp_path_factory.mktemp("kafka")
    members = tmp_path_factory.mktemp("members")
    with start_kafka(folder, SETTINGS) as servers, Life(servers, members) as life:
        life.go_on()
        told = ask(Tools(servers))
        copy = copied(folder / "logs", folder / "copy")
        yield Cluster(life, folder / "logs", {"folder": copy, "brokers": servers}, told)


def copied(data, folder):
    """While the broker is at work: without what its cleaner has in hand."""
    in_hand = shutil.ignore_patterns("*.cleaned", "*.deleted", "*.swap", "*index")
    return str(shutil.copytree(data, folder, ignore=in_hand))


@pytest.fixture(scope="module")
def told(cluster):
    return cluster.told


@pytest.fixture(scope="module", params=SOURCES)
def history(request, cluster, tmp_path_factory):
    warehouse = str(tmp_path_factory.mktemp("warehouse") / request.param)
    run_pipeline(cluster.sources[request.param], warehouse)
    with open_history(warehouse) as opened:
        yield opened


def run_pipeline(source, warehouse):
    command = [sys.executable, "-m", "drumbeat.cli.main", "pipeline", "run", "--master", "local[2]"]
    done = subprocess.run(
        [*command, "--source", source, "--warehouse", warehouse],
        capture_output=True,
        text=True,
        check=False,
        timeout=PIPELINE_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_groups_their_types_and_states(history, told):
    rows = answer(history, GROUPS, Scope()).documents()
    alive = {row["group_id"]: row for row in rows if row["state"] != "Dead"}
    assert {row["group_id"] for row in rows} - alive.keys() == GONE
    types = {name: _type(row) for name, row in alive.items()}
    assert types == told.groups
    for name, state in told.states.items():
        assert alive[name]["state"] == state["STATE"], name
        assert str(alive[name]["members"]) == state["#MEMBERS"], name
        if types[name] == "consumer":
            assert str(alive[name]["generation"]) == state["GROUP-EPOCH"]


def _type(row):
    return "classic" if row["type"] == "simple" else row["type"]


def test_committed_offsets_and_lag(history, told):
    rows = answer(history, LAG, Scope()).documents()
    found = {
        (row["group_id"], row["topic"], row["partition"]): Standing(
            row["committed"], row["log_end"], row["lag"]
        )
        for row in rows
        if row["committed"] is not None
    }
    expected = {
        place: standing._replace(lag=max(0, standing.lag))
        for place, standing in told.standings.items()
    }
    assert found == expected


def test_members_and_what_they_have(history, told):
    rows = history.query(
        """
SELECT m.group_id, m.member_id, any_value(m.client_id), any_value(m.client_host),
    any_value(group_instance_id), list((topic, partition)) FILTER (partition IS NOT NULL)
FROM members m LEFT JOIN assignments a
    ON a.group_id = m.group_id AND a.member_id = m.member_id AND valid_to IS NULL
WHERE left_at IS NULL GROUP BY ALL
"""
    ).rows
    found = {
        (group_id, member_id): Member(*about, frozenset(map(tuple, partitions or ())))
        for group_id, member_id, *about, partitions in rows
    }
    assert found == told.members


def test_protocols_of_classic_groups(history, told):
    rows = history.query(
        "SELECT group_id, protocol FROM group_generations"
        " WHERE ended_ts IS NULL AND group_type = 'classic' AND n_members > 0"
    ).rows
    named = {name: told.states[name]["ASSIGNMENT-STRATEGY"] for name, _ in rows}
    assert dict(rows) == named
    assert set(named.values()) == {"range", "cooperative-sticky"}


def test_ends_of_topics(history, told):
    rows = history.query(
        "SELECT topic, partition, high_watermark FROM watermarks WHERE source <> 'time_index'"
    ).rows
    found = {(topic, partition): end for topic, partition, end in rows}
    assert found == {place: told.ends[place] for place in found}
    assert found.keys() >= {place[1:] for place in told.standings}
    assert not any(topic.startswith("__") for topic, _ in found)


def test_replay_gives_the_state_that_the_coordinator_has(history, told):
    """Group by group: state, members, owners and offsets, from the log alone."""
    for name in told.states:
        state = group_state(history, replay_of_group(history, name), END_OF_TIME_MS)
        assert (state.state, state.is_complete) == (told.states[name]["STATE"], True), name
        assert {member.member_id for member in state.members} == {
            member_id for group_id, member_id in told.members if group_id == name
        }
        offsets = {
            (name, place.topic, place.partition): place.committed_offset
            for place in state.partitions
            if place.committed_offset is not None
        }
        assert offsets == {
            place: standing.committed
            for place, standing in told.standings.items()
            if place[0] == name
        }


# How each group came to be what it is; the same cause several times in a row is told once.
CAUSES = {
    "churned": ["JOIN", "LEAVE", "SESSION_TIMEOUT", "JOIN"],
    "cooperative": ["JOIN", "HANDOVER"],
    "emptied": ["JOIN", "LEAVE"],
    "modern": ["JOIN", "LEAVE"],
    "shared": ["JOIN", "METADATA"],
    "static": ["JOIN"],
}
# kafka-python joins before it knows the topic's partitions, and loses answers: its member joins
# again when it has learned of them, and when it is reminded (`support/kafka_python_joins.py`).
JOINED_AGAIN = {"emptied": {"METADATA", "LEADER_REJOIN"}}


def test_why_groups_rebalanced(history):
    rows = history.query(
        "SELECT group_id, cause FROM rebalances ORDER BY group_id, to_generation"
    ).rows
    causes = {
        group_id: [
            cause
            for cause, _ in groupby(cause for _, cause in each)
            if cause not in JOINED_AGAIN.get(group_id, ())
        ]
        for group_id, each in groupby(rows, lambda row: row[0])
    }
    assert causes == CAUSES


def test_what_members_had_to_wait_for(history):
    """A member was killed: what it had stood still for a session; epochs have ends."""
    ((gap_ms, delayed),) = history.query(
        "SELECT commit_gap_ms, records_delayed FROM rebalances WHERE cause = 'SESSION_TIMEOUT'"
    ).rows
    assert gap_ms >= 2_000
    assert delayed > 0
    durations = history.query(
        "SELECT duration_method, duration_ms, sync_ms FROM rebalances WHERE group_id = 'modern'"
    ).rows
    assert {method for method, _, _ in durations} == {"reconciled"}
    assert all(0 <= sync_ms <= duration_ms for _, duration_ms, sync_ms in durations)


def test_a_static_member_that_came_back(history):
    rows = history.query(
        "SELECT group_instance_id, end_reason FROM members WHERE group_id = 'static'"
    ).rows
    assert sorted(rows, key=str) == [
        ("dies", "static_replacement"),
        ("dies", None),
        ("stays", None),
    ]


def test_transactions(history):
    rows = history.query(
        "SELECT groups[1], outcome, partitions FROM txn_offset_commits ORDER BY log_partition,"
        " first_offset"
    ).rows
    assert sorted(rows) == [
        ("hanging", "open", 2),
        ("payments", "abort", 2),
        ("payments", "commit", 2),
    ]
    kinds = history.query(
        "SELECT DISTINCT group_id, kind FROM offset_commits WHERE kind LIKE 'txn%'"
    )
    assert sorted(kinds.rows) == [
        ("hanging", "txn_pending"),
        ("payments", "txn_aborted"),
        ("payments", "txn_commit"),
    ]


def test_who_moved_offsets(history):
    rows = history.query(
        "SELECT DISTINCT group_id, kind, actor FROM offset_commits"
        " WHERE actor <> 'member' AND kind NOT LIKE 'txn%'"
    ).rows
    assert sorted(rows) == [
        ("deleted", "commit", "admin_or_simple"),
        ("deleted", "tombstone", "admin_or_simple"),
        ("emptied", "commit", "admin_or_simple"),
        ("expired", "commit", "admin_or_simple"),
        ("expired", "tombstone", "coordinator_expiry"),
    ]


def test_findings(history):
    rows = answer(history, FINDINGS_OF_GROUPS, Scope()).documents()
    found = {(row["kind"], row["group_id"]) for row in rows}
    assert found - MAY_BE_FOUND == {("RESET", "emptied")}


def test_everything_was_read_and_nothing_is_broken(history, told):
    assert history.query("SELECT * FROM log_records WHERE decode_error IS NOT NULL").rows == []
    assert history.query("SELECT * FROM verification").rows == []
    read = history.query("SELECT log_partition, first_offset, last_offset, kind FROM log_coverage")
    assert sorted(read.rows) == [
        (partition, 0, end - 1, "read")
        for (topic, partition), end in sorted(told.ends.items())
        if topic == "__consumer_offsets" and end
    ]


def test_what_kafkas_cleaner_leaves_says_the_same(cluster, tmp_path):
    """The log is read before and after it; what it still has is compared with what there was."""
    warehouse = str(tmp_path / "warehouse")
    run_pipeline(cluster.sources["folder"], warehouse)
    cluster.life.have_log_compacted(cluster.data / "cleaner-offset-checkpoint")
    run_pipeline(copied(cluster.data, tmp_path / "compacted"), warehouse)
    with open_history(warehouse) as history:
        reports = history.query("SELECT * FROM compaction_report").documents()
    compared = [row for row in reports if row["actual_hash"] is not None]
    assert len(compared) >= LOG_PARTITIONS - 1
    for row in compared:
        assert row["actual_hash"] == row["expected_hash"]
        assert (row["lost_keys"], row["changed_keys"], row["returned_keys"]) == (0, 0, 0)
    assert any(row["dead_records"] > 0 for row in compared)
