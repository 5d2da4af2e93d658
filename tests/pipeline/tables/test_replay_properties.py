"""Laws over random logs: batch boundaries do not matter, and the tables agree with the reducer."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drumbeat.core.modern_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitionsWithEpochs,
)
from drumbeat.core.records import (
    GroupMetadataTombstone,
    OffsetCommitTombstone,
    Record,
    RecordType,
)
from drumbeat.pipeline.tables.classic_groups import generation_of
from drumbeat.pipeline.tables.partition_tables import PartitionTables
from drumbeat.pipeline.tables.replay import Replay
from drumbeat.protocol.records import ControlRecordType
from drumbeat.protocol.schema import NULL_UUID
from pipeline.golden_log import (
    EVENTS_ID,
    ORDERS_ID,
    SOURCE,
    Client,
    LogWriter,
    built,
    commit,
    current,
    epoch,
    generation,
    member,
    modern_record,
    naming,
)

GROUPS, TOPICS, PARTITIONS, PRODUCERS = ("g", "h"), ("orders", "events"), (0, 1), (7, 8)
groups, topics = st.sampled_from(GROUPS), st.sampled_from(TOPICS)
partitions, producers = st.sampled_from(PARTITIONS), st.sampled_from(PRODUCERS)
offsets = st.integers(0, 9)
epochs = st.integers(1, 4)
clients = st.lists(
    st.builds(
        Client,
        member_id=st.sampled_from("abc"),
        client_id=st.sampled_from(("x", "y")),
        partitions=st.lists(partitions, unique=True).map(tuple),
        instance_id=st.sampled_from((None, None, "i")),
        topic=topics,
    ),
    max_size=3,
    unique_by=lambda client: client.member_id,
)
owned = st.lists(partitions, unique=True).map(tuple)
modern = (
    st.tuples(st.just("epoch"), epochs),
    st.tuples(st.just("member"), st.sampled_from("mn"), st.booleans()),
    st.tuples(st.just("current"), st.sampled_from("mn"), st.none() | epochs, owned),
)
steps = st.one_of(
    st.tuples(st.just("commit"), groups, topics, partitions, offsets),
    st.tuples(st.just("txn_commit"), groups, topics, partitions, offsets, producers),
    st.tuples(st.just("end"), producers, st.sampled_from(ControlRecordType)),
    st.tuples(st.just("tombstone"), groups, topics, partitions),
    st.tuples(st.just("generation"), groups, st.integers(1, 9), clients),
    st.tuples(st.just("delete"), groups),
    *modern,
    st.tuples(st.just("skip"), st.integers(1, 2)),
)


def write(log: LogWriter, at_ms: int, step: tuple) -> None:
    match step:
        case "commit", *place:
            log.append(at_ms, commit(*place, at_ms))
        case "old_commit", *place:  # of a version whose commits name no topic ids
            log.append(at_ms, commit(*place, at_ms)._replace(topic_id=NULL_UUID))
        case "txn_commit", *place, producer_id:
            log.append(at_ms, commit(*place, at_ms), producer_id=producer_id)
        case "end", producer_id, marker:
            log.end_transaction(at_ms, producer_id, marker)
        case "tombstone", *place:
            log.append(at_ms, OffsetCommitTombstone(*place))
        case "generation", group_id, generation_id, members:
            log.append(at_ms, generation(group_id, generation_id, at_ms - 1, *members))
        case "delete", group_id:
            log.append(at_ms, GroupMetadataTombstone(group_id))
        case "skip", count:
            log.skip(count)
        case _:
            log.append(at_ms, modern_record_of(step))


def modern_record_of(step: tuple) -> Record:
    match step:
        case "epoch", number:
            return epoch("modern", number)
        case "member", member_id, is_there:
            return member("modern", member_id, *(["events"] if is_there else []))
        case "current", member_id, number, partitions_owned:
            return current("modern", member_id, number, partitions_owned)
        case "name", topic:
            return naming("modern", topic)
        case _:
            raise AssertionError(step)


def written(story: list[tuple]) -> tuple[LogWriter, pa.RecordBatch]:
    log = LogWriter()
    log.append(0, commit("first", "orders", 0, 0, 0))
    for n, step in enumerate(story, 1):
        write(log, 1_000 * n, step)
    return log, log.rows()


def split(rows: pa.RecordBatch, cuts: list[int]) -> list[pa.RecordBatch]:
    bounds = sorted([0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)])  # some are empty
    return [rows.slice(start, end - start) for start, end in pairwise(bounds)]


def sorted_rows(tables):
    return {name: sorted(rows, key=repr) for name, rows in tables.items()}


# Few places, so that commits meet.
place = st.tuples(st.just("g"), st.just("orders"), partitions)
commits = st.one_of(
    st.builds(lambda where, offset: ("commit", *where, offset), place, offsets),
    st.builds(lambda *words: ("txn_commit", *words[0], *words[1:]), place, offsets, producers),
    st.tuples(st.just("end"), producers, st.sampled_from(ControlRecordType)),
    st.builds(lambda where: ("tombstone", *where), place),
)
stories = st.one_of(st.lists(steps, max_size=30), st.lists(commits, min_size=4, max_size=15))
# A group that has its topics by id, which only some records give a name.
nameless = st.one_of(
    *modern,
    st.tuples(st.just("commit"), st.just("modern"), topics, partitions, offsets),
    st.tuples(st.just("old_commit"), st.just("modern"), topics, partitions, offsets),
    st.tuples(st.just("txn_commit"), st.just("modern"), topics, partitions, offsets, producers),
    st.tuples(st.just("end"), producers, st.sampled_from(ControlRecordType)),
    st.tuples(st.just("name"), topics),
)
cuts = st.lists(st.integers(0, 100), max_size=5)


@settings(max_examples=80)
@given(stories | st.lists(nameless, max_size=20), cuts)
@example(  # The name of a topic shows only after the epoch in which it was assigned.
    [
        ("delete", "g"),
        ("commit", "g", "orders", 0, 0),
        ("epoch", 1),
        ("commit", "g", "orders", 0, 0),
        ("commit", "g", "orders", 0, 0),
        ("commit", "g", "orders", 0, 0),
        ("current", "m", 1, (0,)),
        ("end", 7, ControlRecordType.ABORT),
        ("commit", "g", "orders", 0, 0),
        ("epoch", 2),
        ("commit", "g", "events", 0, 0),
    ],
    [11],
)
@example(  # A group's own record names a topic that is already assigned.
    [("epoch", 1), ("current", "m", 1, (0,)), ("name", "events"),
     ("commit", "modern", "events", 0, 5)],
    [4],
)  # fmt: skip
def test_tables_do_not_depend_on_batch_boundaries(story, places):
    _, rows = written(story)
    whole = built(PartitionTables(SOURCE, snapshot_interval_ms=7_000), [rows])
    parts = built(PartitionTables(SOURCE, snapshot_interval_ms=7_000), split(rows, places))
    assert sorted_rows(parts) == sorted_rows(whole)


@pytest.mark.parametrize("cut", range(13))
def test_a_commit_before_its_topic_has_a_name_is_no_rebalances_cost(cut):
    log = LogWriter()
    log.append(0, commit("modern", "orders", 0, 1, 0))
    log.append(1_000, member("modern", "m", "events"), epoch("modern", 1), both("m", 1))
    log.append(2_000, commit("modern", "orders", 0, 2, 2_000))
    log.append(3_000, member("modern", "n", "events"), epoch("modern", 2))
    log.append(4_000, current("modern", "m", 2), both("n", 2))
    log.append(6_000, commit("modern", "events", 0, 5, 6_000)._replace(topic_id=NULL_UUID))
    log.append(7_000, commit("modern", "orders", 0, 5, 7_000))
    log.append(8_000, commit("g", "events", 0, 5, 8_000))
    tables = built(PartitionTables(SOURCE), split(log.rows(), [cut]))
    assert [row["commit_gap_ms"] for row in tables["rebalances"]] == [None, 5_000]


def both(member_id: str, member_epoch: int) -> Record:
    """The first partition of each topic."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member_epoch,
        assigned_partitions=tuple(
            TopicPartitionsWithEpochs(topic_id, (0,)) for topic_id in (ORDERS_ID, EVENTS_ID)
        ),
    )
    record_type = RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT
    return modern_record(record_type, ("modern", member_id), value)


@settings(max_examples=80)
@given(stories, cuts)
def test_replay_is_what_the_reducer_does_record_by_record(story, places):
    log, rows = written(story)
    replay = Replay()
    for batch in split(rows, places):
        replay.feed(batch)
    assert replay.state == log.state


@settings(max_examples=80)
@given(stories)
def test_what_the_tables_end_with_is_the_reducers_state(story):
    log, rows = written(story)
    tables = built(PartitionTables(SOURCE), [rows])
    assert last_offsets(tables["offset_commits"]) == {
        (group_id, *place): offset.committed_offset
        for group_id, offsets_of in log.state.offsets.items()
        for place, offset in offsets_of.items()
    }
    assert pending_offsets(tables["offset_commits"]) >= {
        (producer_id, group_id, *place, offset.committed_offset)
        for producer_id, by_group in log.state.pending_offsets.items()
        for group_id, offsets_of in by_group.items()
        for place, offset in offsets_of.items()
    }
    assert open_sessions(tables.get("members", [])) == {
        (group_id, member_id)
        for group_id, group in log.state.groups.items()
        for member_id in group.members
    }
    assert current_generations(tables.get("group_generations", [])) == {
        group_id: group.generation_id
        for group_id, group in log.state.groups.items()
        if group.protocol_type
    }


@settings(max_examples=80)
@given(stories)
@example(
    [
        ("txn_commit", "g", "orders", 0, 1, 7),
        ("txn_commit", "g", "orders", 0, 2, 7),
        ("end", 7, ControlRecordType.COMMIT),
    ]
)
def test_each_commit_knows_what_it_replaced_and_whose_partition_it_was(story):
    _, rows = written(story)
    commits = built(PartitionTables(SOURCE), [rows])["offset_commits"]
    told = {
        row["log_offset"]: (row["prev_offset"], row["owner_member_id"])
        for row in commits
        if row["visible_at"] is not None and row["group_id"] != "modern"
    }
    assert told == replaced(rows)


def replaced(rows):
    """By log offset of each commit that was ever visible: the offset before, and the owner."""
    replay, found = Replay(), {}
    for n, row in enumerate(rows.to_pylist()):
        before = committed(replay.state)
        replay.feed(rows.slice(n, 1))
        after = committed(replay.state)
        changed = [place for place in after if after[place] != before.get(place)]
        if row["is_tombstone"] and row["topic"] is not None:
            changed.append((row["group_id"], row["topic"], row["partition"]))
        for place in changed:
            log_offset = after[place].log_offset if place in after else row["log_offset"]
            known = before.get(place)
            offset = None if known is None else known.committed_offset
            found[log_offset] = (offset, owner(replay.state, place))
    return found


def committed(state):
    return {
        (group_id, *place): offset
        for group_id, offsets_of in state.offsets.items()
        for place, offset in offsets_of.items()
    }


def owner(state, place):
    group_id, *topic_partition = place
    group = state.groups.get(group_id)
    owners = {} if group is None else generation_of(group).owners
    known = owners.get(tuple(topic_partition))
    return None if known is None else known.member_id


def last_offsets(commits):
    visible = [row for row in commits if row["visible_at"] is not None]
    last = {}
    for row in sorted(visible, key=lambda row: (row["visible_at"], row["log_offset"])):
        last[row["group_id"], row["topic"], row["partition"]] = row["committed_offset"]
    return {place: offset for place, offset in last.items() if offset is not None}


def pending_offsets(commits):
    names = ("producer_id", "group_id", "topic", "partition", "committed_offset")
    return {tuple(row[name] for name in names) for row in commits if row["kind"] == "txn_pending"}


def open_sessions(members):
    return {
        (row["group_id"], row["member_id"])
        for row in members
        if row["left_at"] is None and row["group_type"] == "classic"
    }


def current_generations(generations):
    return {
        row["group_id"]: row["generation"]
        for row in generations
        if row["ended_ts"] is None and row["group_type"] == "classic"
    }
