"""Laws over random logs: batch boundaries do not matter, and the tables agree with the reducer."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drumbeat.core.records import GroupMetadataTombstone, OffsetCommitTombstone, Record
from drumbeat.pipeline.tables.classic_groups import generation_of
from drumbeat.pipeline.tables.partition_tables import PartitionTables
from drumbeat.pipeline.tables.replay import Replay
from drumbeat.protocol.records import ControlRecordType
from pipeline.golden_log import (
    SOURCE,
    Client,
    LogWriter,
    built,
    commit,
    current,
    epoch,
    generation,
    member,
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

steps = st.one_of(
    st.tuples(st.just("commit"), groups, topics, partitions, offsets),
    st.tuples(st.just("txn_commit"), groups, topics, partitions, offsets, producers),
    st.tuples(st.just("end"), producers, st.sampled_from(ControlRecordType)),
    st.tuples(st.just("tombstone"), groups, topics, partitions),
    st.tuples(st.just("generation"), groups, st.integers(1, 9), clients),
    st.tuples(st.just("delete"), groups),
    st.tuples(st.just("epoch"), epochs),
    st.tuples(st.just("member"), st.sampled_from("mn"), st.booleans()),
    st.tuples(st.just("current"), st.sampled_from("mn"), st.none() | epochs, owned),
    st.tuples(st.just("skip"), st.integers(1, 2)),
)


def write(log: LogWriter, at_ms: int, step: tuple) -> None:
    match step:
        case "commit", *place:
            log.append(at_ms, commit(*place, at_ms))
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
cuts = st.lists(st.integers(0, 100), max_size=5)


@settings(max_examples=80, deadline=None)
@given(stories, cuts)
def test_tables_do_not_depend_on_batch_boundaries(story, places):
    _, rows = written(story)
    whole = built(PartitionTables(SOURCE, snapshot_interval_ms=7_000), [rows])
    parts = built(PartitionTables(SOURCE, snapshot_interval_ms=7_000), split(rows, places))
    assert sorted_rows(parts) == sorted_rows(whole)


@settings(max_examples=80, deadline=None)
@given(stories, cuts)
def test_replay_is_what_the_reducer_does_record_by_record(story, places):
    log, rows = written(story)
    replay = Replay()
    for batch in split(rows, places):
        replay.feed(batch)
    assert replay.state == log.state


@settings(max_examples=80, deadline=None)
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


@settings(max_examples=80, deadline=None)
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
