"""OffsetCommit beyond what the golden rows ask: limits, shapes, records, events, sessions."""

from typing import Any

import pytest

from drumbeat.core.record_codec import decode, encode
from drumbeat.core.records import OffsetCommitRecord
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from drumbeat.protocol.errors import ErrorCode, ProtocolError
from drumbeat.protocol.schema import NULL_UUID
from support.coordinator import DEFAULT_TOPICS, START_MS, Call, Coordinator, Topics
from support.groups import TIMEOUT_MS, Clients

NONE, TOO_LARGE = ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE
UNKNOWN, UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
LOWEST, HIGHEST = 2, 10


def topic(name: str, *partitions: int, version: int = 9, **fields: Any) -> OffsetCommitRequestTopic:
    """Named as the version does it. A name that is no topic gives an id that is none."""
    rows = tuple(OffsetCommitRequestPartition(index, 42, **fields) for index in partitions)
    if version < HIGHEST:
        return OffsetCommitRequestTopic(name, partitions=rows)
    known = DEFAULT_TOPICS.topic_id(name)
    topic_id = name.encode().rjust(16, b"?") if known == NULL_UUID else known
    return OffsetCommitRequestTopic(topic_id=topic_id, partitions=rows)


def send(
    coordinator: Coordinator, *topics: OffsetCommitRequestTopic, version: int = 9, **fields: Any
) -> Call:
    request = OffsetCommitRequest(**{"group_id": "g", **fields, "topics": topics})
    return coordinator.send(request, version)


def errors(call: Call) -> list[tuple[str, int, int]]:
    """(topic, partition, error) in the order of the answer."""
    return [
        (topic.name or topic.topic_id.decode().strip("?\1"), row.partition_index, row.error_code)
        for topic in call.response.topics
        for row in topic.partitions
    ]


# What is asked, and the answer in its order: what does not exist first, by topic.
SHAPES = {
    "all there": ([("t1", 0, 1), ("t2", 2)], [("t1", 0, 0), ("t1", 1, 0), ("t2", 2, 0)]),
    "a partition too high": ([("t1", 4, 0)], [("t1", 4, UNKNOWN), ("t1", 0, NONE)]),
    "a negative partition": ([("t1", 0, -1)], [("t1", -1, UNKNOWN), ("t1", 0, NONE)]),
    "a topic with refusals comes first": (
        [("t1", 0), ("t2", 0, 9)],
        [("t2", 9, UNKNOWN), ("t2", 0, NONE), ("t1", 0, NONE)],
    ),
    "a topic twice": ([("t1", 0), ("t1", 1)], [("t1", 0, 0), ("t1", 1, 0)]),
    "a topic twice, once refused": (
        [("t1", 0), ("t1", 9)],
        [("t1", 9, UNKNOWN), ("t1", 0, NONE)],
    ),
    "nothing": ([], []),
    "a topic without partitions": ([("t1",)], []),
}


@pytest.mark.parametrize("version", [LOWEST, HIGHEST])
@pytest.mark.parametrize(("asked", "expected"), SHAPES.values(), ids=SHAPES)
def test_shapes(asked, expected, version):
    call = send(
        Coordinator(),
        *(topic(name, *partitions, version=version) for name, *partitions in asked),
        version=version,
    )
    assert errors(call) == expected


@pytest.mark.parametrize(("refused", "topics"), [([], 2), ([("t1", 9)], 1)])
def test_a_topic_named_twice_is_one_only_if_something_was_refused(refused, topics):
    asked = [("t1", 0), ("t1", 1), *refused]
    call = send(Coordinator(), *(topic(name, *partitions) for name, *partitions in asked))
    assert len(call.response.topics) == topics


@pytest.mark.parametrize(("version", "error"), [(LOWEST, UNKNOWN), (HIGHEST, UNKNOWN_ID)])
def test_a_topic_that_does_not_exist(version, error):
    coordinator = Coordinator()
    empty = send(coordinator, topic("nope", version=version), version=version)
    assert [len(answer.partitions) for answer in empty.response.topics] == [0]
    gone = topic("nope", 0, 1, version=version)
    assert errors(send(coordinator, gone, version=version)) == [
        ("nope", 0, error),
        ("nope", 1, error),
    ]
    assert coordinator.log == []
    both = send(coordinator, topic("t1", 0, version=version), gone, version=version)
    assert errors(both)[-1] == ("t1", 0, NONE)


@pytest.mark.parametrize(("version", "unknown"), [(LOWEST, UNKNOWN), (HIGHEST, UNKNOWN_ID)])
def test_a_refusal_by_the_group_is_on_every_partition_that_exists(version, unknown):
    """Kafka looks the others up before it asks the group, and keeps what it found."""
    asked = [topic("t1", 9, 0, version=version), topic("nope", 0, version=version)]
    call = send(Coordinator(), *asked, version=version, generation_id_or_member_epoch=1)
    error = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert errors(call) == [("t1", 9, UNKNOWN), ("t1", 0, error), ("nope", 0, unknown)]


def test_a_dead_group():
    coordinator = Coordinator()
    clients = Clients(coordinator)
    (member_id,) = clients.stable("a")
    coordinator.unload()
    assert clients.commit(1, member_id, 1) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert clients.commit() == ErrorCode.COORDINATOR_NOT_AVAILABLE


# -- records --------------------------------------------------------------------------------------

# version: leader epoch, expiry and topic id; one that names its expiry can say no more
T1_ID = DEFAULT_TOPICS.topic_id("t1")
RECORDS = {
    2: (-1, START_MS + 5_000, NULL_UUID),
    4: (-1, START_MS + 5_000, NULL_UUID),
    5: (-1, -1, T1_ID),
    6: (3, -1, T1_ID),
    9: (3, -1, T1_ID),
    10: (3, -1, T1_ID),
}


@pytest.mark.parametrize(("version", "said"), RECORDS.items())
def test_the_record_says_all_that_the_version_can(version, said):
    coordinator = Coordinator()
    asked = topic("t1", 2, version=version, committed_leader_epoch=3, committed_metadata="m")
    send(coordinator, asked, version=version, retention_time_ms=5_000)
    leader_epoch, expire_timestamp_ms, topic_id = said
    (stored,) = coordinator.batches[0]
    position = ("g", "t1", 2, 42, leader_epoch, "m", START_MS)
    assert stored == OffsetCommitRecord(*position, expire_timestamp_ms, topic_id)
    assert decode(*encode(stored)) == stored, "a replay would see another record"


def test_null_metadata_is_stored_as_nothing():
    coordinator = Coordinator()
    send(coordinator, topic("t1", 0, committed_metadata=None))
    assert coordinator.batches[0][0].metadata == ""


def test_one_batch_in_the_order_of_the_request():
    coordinator = Coordinator()
    send(coordinator, topic("t2", 1, 0), topic("t1", 3))
    (batch,) = coordinator.batches
    assert [(r.topic, r.partition) for r in batch] == [("t2", 1), ("t2", 0), ("t1", 3)]


def test_partitions_of_high_numbers_are_answered_as_those_of_low_ones():
    coordinator = Coordinator(topics=Topics({"t1": 10_000}))
    numbers = (0, 255, 256, 257, 9_999)
    assert errors(send(coordinator, topic("t1", *numbers))) == [("t1", n, NONE) for n in numbers]


# -- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [LOWEST, HIGHEST])
@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("x" * 10, NONE),
        ("x" * 11, TOO_LARGE),
        ("é" * 10, NONE),
        ("é" * 11, TOO_LARGE),
        ("😀" * 5, NONE),
        ("😀" * 6, TOO_LARGE),
    ],
)
def test_metadata_counts_in_utf_16_units(metadata, error, version):
    coordinator = Coordinator(offset_metadata_max_bytes=10)
    asked = topic("t1", 0, version=version, committed_metadata=metadata)
    assert errors(send(coordinator, asked, version=version)) == [("t1", 0, error)]


def test_kafka_16371_metadata_that_is_too_large_leaves_nothing_behind():
    """It costs its own partition, and a stable read does not wait for it."""
    coordinator = Coordinator(offset_metadata_max_bytes=10)
    large = OffsetCommitRequestPartition(0, 1, committed_metadata="x" * 11)
    rest = OffsetCommitRequestPartition(1, 1, committed_metadata="x")
    call = send(coordinator, OffsetCommitRequestTopic("t1", partitions=(large, rest)))
    assert errors(call) == [("t1", 0, TOO_LARGE), ("t1", 1, NONE)]
    fetch = OffsetFetchRequest("g", (OffsetFetchRequestTopic("t1", (0, 1)),), require_stable=True)
    (fetched,) = coordinator.send(fetch, 7).response.topics
    assert [(p.committed_offset, p.error_code) for p in fetched.partitions] == [(-1, 0), (1, 0)]


class TestBatchLimit:
    """A request whose records do not fit one batch is refused whole (row 1.3 of the reference)."""

    TOPICS = Topics({"t": 2_000})

    def commit(self, count: int, limit: int) -> tuple[Coordinator, set[int]]:
        coordinator = Coordinator(topics=self.TOPICS, offsets_batch_bytes_max=limit)
        call = send(coordinator, topic("t", *range(count)))
        return coordinator, {error for _, _, error in errors(call)}

    def test_at_the_limit_and_one_past_it(self):
        # 61 for the batch; a record takes 21, a key of 13 bytes and a value of 42
        record_bytes = 21 + len(["0001", "0001", "g", "0001", "t", "00000000"]) * 2 + 42
        limit = 61 + 100 * (21 + (2 + 2 + 1 + 2 + 1 + 4) + 42)
        assert record_bytes
        coordinator, codes = self.commit(100, limit)
        assert codes == {NONE}
        assert len(coordinator.log) == 100
        coordinator, codes = self.commit(100, limit - 1)
        assert codes == {ErrorCode.UNKNOWN_SERVER_ERROR}
        assert coordinator.state.groups == {}

    def test_large_requests_that_fit(self):
        coordinator, codes = self.commit(2_000, 1_048_588)
        assert codes == {NONE}
        assert len(coordinator.log) == 2_000

    def test_strings_that_no_record_can_hold_are_not_read(self):
        coordinator = Coordinator(offset_metadata_max_bytes=100_000)
        with pytest.raises(ProtocolError):
            send(coordinator, topic("t1", 0), group_id="x" * 40_000)
        with pytest.raises(ProtocolError):
            send(coordinator, topic("t1", 0, committed_metadata="x" * 40_000))

    def test_it_keeps_the_session_alive_all_the_same(self):
        coordinator = Coordinator(topics=Topics({"t1": 50}))
        clients = Clients(coordinator)
        (member_id,) = clients.stable("a")
        coordinator.config = Coordinator(offsets_batch_bytes_max=1_000).config
        coordinator.advance(TIMEOUT_MS - 1)
        member = {"member_id": member_id, "generation_id_or_member_epoch": 1}
        call = send(coordinator, topic("t1", *range(50)), **member)
        assert {e for *_, e in errors(call)} == {ErrorCode.UNKNOWN_SERVER_ERROR}
        coordinator.advance(TIMEOUT_MS - 1)
        assert clients.heartbeat(member_id, 1) == NONE


def test_groups_max():
    coordinator = Coordinator(groups_max=1)
    assert Clients(coordinator, "a").commit() == NONE
    assert Clients(coordinator, "b").commit() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert Clients(coordinator, "a").commit() == NONE


# -- sessions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation_id", "partition", "error", "is_alive"),
    [(1, 0, NONE, True), (2, 0, ErrorCode.ILLEGAL_GENERATION, False), (1, 99, UNKNOWN, False)],
    ids=["accepted", "refused", "partition unknown"],
)
def test_only_an_accepted_commit_keeps_a_session_alive(generation_id, partition, error, is_alive):
    coordinator = Coordinator()
    clients = Clients(coordinator)
    (member_id,) = clients.stable("a")
    coordinator.advance(TIMEOUT_MS - 1)
    member = {"member_id": member_id, "generation_id_or_member_epoch": generation_id}
    assert errors(send(coordinator, topic("t1", partition), **member))[0][2] == error
    coordinator.advance(TIMEOUT_MS - 1)
    assert (clients.heartbeat(member_id, 1) == NONE) == is_alive


# -- events ---------------------------------------------------------------------------------------


def test_a_reset_by_an_administrator_is_told():
    coordinator = Coordinator()
    clients = Clients(coordinator)
    (member_id,) = clients.stable("a")
    clients.commit(7, member_id, 1)
    clients.leave(member_id)
    before = len(coordinator.events)
    request = OffsetCommitRequest("g", topics=(topic("t1", 0, 1),))
    coordinator.send(request, 9, client_id="admin", client_host="/10.0.0.1")
    told = coordinator.events[before:]
    assert [event.type for event in told] == ["offsets_reset"] * 2
    assert told[0].fields == {
        "topic": "t1",
        "partition": 0,
        "committed_offset": 42,
        "previous_offset": 7,
        "client_id": "admin",
        "client_host": "/10.0.0.1",
    }
    assert told[1].fields["previous_offset"] is None


def test_commits_of_members_and_of_simple_consumers_are_not_worth_telling():
    coordinator = Coordinator()
    clients = Clients(coordinator)
    (member_id,) = clients.stable("a")
    before = len(coordinator.events)
    clients.commit(7, member_id, 1)
    Clients(coordinator, "simple").commit(1)
    Clients(coordinator, "simple").commit(2)
    assert coordinator.events[before:] == []


def test_a_fenced_committer_is_told_of():
    coordinator = Coordinator()
    clients = Clients(coordinator)
    clients.join("", group_instance_id="i")
    request = OffsetCommitRequest("g", 1, "old", "i", topics=(topic("t1", 0),))
    assert errors(coordinator.send(request, 9)) == [("t1", 0, ErrorCode.FENCED_INSTANCE_ID)]
    assert coordinator.events[-1].type == "member_fenced"
