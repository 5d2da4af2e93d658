"""OffsetDelete beyond what the golden rows ask: records, events, limits."""

import pytest

from drumbeat.core.records import OffsetCommitRecord, OffsetCommitTombstone
from drumbeat.core.reducer import apply
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.protocol.errors import ErrorCode
from support.coordinator import START_MS, Call, Coordinator, Topics
from support.groups import Clients, list_groups

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def delete(coordinator: Coordinator, *topics: tuple, group_id: str = "g") -> Call:
    request = OffsetDeleteRequest(
        group_id,
        tuple(
            OffsetDeleteRequestTopic(name, tuple(map(OffsetDeleteRequestPartition, partitions)))
            for name, *partitions in topics
        ),
    )
    return coordinator.send(request)


def errors(call: Call) -> list[tuple[str, int, int]]:
    return [(t.name, p.partition_index, p.error_code) for t in call.response.topics for p in t[1]]


def test_only_what_is_stored_gets_a_tombstone():
    coordinator = Coordinator()
    Clients(coordinator).commit(5)
    call = delete(coordinator, ("t1", 1, 0, 9), ("t2", 0), ("nope", 0))
    assert errors(call) == [
        ("t1", 9, UNKNOWN),
        ("t1", 1, NONE),
        ("t1", 0, NONE),
        ("nope", 0, UNKNOWN),
        ("t2", 0, NONE),
    ]
    assert coordinator.batches[-1] == (OffsetCommitTombstone("g", "t1", 0),)


def test_a_simple_group_without_offsets_is_still_listed():
    """As by Apache Kafka 4.3.1, also after a restart, as long as the log is not compacted."""
    coordinator = Coordinator()
    Clients(coordinator).commit(5)
    delete(coordinator, ("t1", 0))
    listed = [(group.group_id, group.group_state) for group in list_groups(coordinator)]
    assert listed == [("g", "Empty")]
    coordinator.restart()
    assert list_groups(coordinator)


def test_a_topic_that_does_not_exist_is_named_even_without_partitions():
    coordinator = Coordinator()
    Clients(coordinator).commit(5)
    topics = delete(coordinator, ("nope",), ("t1",)).response.topics
    assert [(topic.name, topic.partitions) for topic in topics] == [("nope", ())]


def test_a_partition_named_twice_is_answered_twice_and_buried_once():
    coordinator = Coordinator()
    Clients(coordinator).commit(5)
    assert errors(delete(coordinator, ("t1", 0, 0))) == [("t1", 0, NONE)] * 2
    assert coordinator.batches[-1] == (OffsetCommitTombstone("g", "t1", 0),)


def test_a_pending_offset_gets_a_tombstone_too():
    coordinator = Coordinator(checks=False)
    pending = OffsetCommitRecord("g", "t1", 2, 5, -1, "", START_MS)
    apply(coordinator.state, pending, 0, producer_id=7)
    delete(coordinator, ("t1", 2))
    assert coordinator.batches == [(OffsetCommitTombstone("g", "t1", 2),)]
    assert coordinator.state.pending_offsets == {}


@pytest.mark.parametrize(
    ("group_id", "error"),
    [("", ErrorCode.INVALID_GROUP_ID), ("other", ErrorCode.GROUP_ID_NOT_FOUND)],
)
@pytest.mark.parametrize("topics", [(), (("t1", 0),), (("nope", 0),)])
def test_groups_that_are_none(group_id, error, topics):
    call = delete(Coordinator(), *topics, group_id=group_id)
    assert (call.error_code, call.response.topics) == (error, ())


def test_a_dead_group_is_none():
    coordinator = Coordinator()
    Clients(coordinator).stable("a")
    coordinator.unload()
    assert delete(coordinator, ("t1", 0)).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_it_is_told():
    coordinator = Coordinator()
    Clients(coordinator).commit(5)
    delete(coordinator, ("t1", 0, 1))
    (event,) = coordinator.events
    assert event.type == "offsets_deleted"
    assert event.fields == {
        "topic": "t1",
        "partition": 0,
        "committed_offset": None,
        "previous_offset": 5,
        "client_id": "cl",
        "client_host": "/127.0.0.1",
    }


def test_tombstones_that_do_not_fit_one_batch():
    coordinator = Coordinator(topics=Topics({"t1": 100}), checks=False)
    for partition in range(100):
        record = OffsetCommitRecord("g", "t1", partition, 5, -1, "", START_MS)
        apply(coordinator.state, record, partition)
    coordinator.config = Coordinator(offsets_batch_bytes_max=1_000).config
    call = delete(coordinator, ("t1", *range(100)))
    assert (call.error_code, call.response.topics) == (ErrorCode.UNKNOWN_SERVER_ERROR, ())
    assert len(coordinator.state.offsets["g"]) == 100
