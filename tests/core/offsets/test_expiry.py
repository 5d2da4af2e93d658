"""Which offsets and groups the retention job removes, and when: kafka-coordinator 3.4."""

from typing import Any

import pytest

from drumbeat.core.offsets.expiry import LOOKS_MAX, TOMBSTONES_MAX, on_topics_deleted, sweep
from drumbeat.core.outcome import Outcome
from drumbeat.core.record_codec import decode, encode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
)
from drumbeat.core.reducer import apply, end_transaction
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest
from drumbeat.protocol.schema import NULL_UUID
from support.coordinator import START_MS, Coordinator
from support.groups import Clients, protocols

MINUTE_MS = 60_000
NEVER = None
LONG_SESSION = {"session_timeout_ms": 1_000_000, "rebalance_timeout_ms": 1_000_000}


class Job:
    """A coordinator with a retention of one minute; the job runs when told."""

    def __init__(self, **settings: Any) -> None:
        self.coordinator = Coordinator(offsets_retention_minutes=1, **settings)
        self.clients = Clients(self.coordinator)

    def commit(
        self,
        *topics: str,
        member_id: str = "",
        generation_id: int = -1,
        version: int = 9,
        retention_time_ms: int = -1,
    ) -> None:
        partition = OffsetCommitRequestPartition(0, 42)
        request = OffsetCommitRequest(
            self.clients.group_id,
            generation_id,
            member_id,
            retention_time_ms=retention_time_ms,
            topics=tuple(OffsetCommitRequestTopic(t, partitions=(partition,)) for t in topics),
        )
        for topic in self.coordinator.send(request, version).response.topics:
            assert topic.partitions[0].error_code == 0

    def apply(self, record: Record, producer_id: int = -1) -> None:
        """A record that was in the log before."""
        log = self.coordinator.log
        key, value = encode(record)
        apply(self.coordinator.state, decode(key, value), len(log), producer_id)
        log.append((key, value))

    def sweep(self) -> list[Record]:
        context = self.coordinator.context()
        records: list[Record] = []
        for outcome in sweep(self.coordinator.view, context):
            self.coordinator.carry_out(outcome)
            records += outcome.records
        return records

    @property
    def topics(self) -> set[str]:
        """Topics that the group still has an offset in."""
        stored = self.coordinator.state.offsets.get(self.clients.group_id, {})
        return {topic for topic, _ in stored}

    @property
    def exists(self) -> bool:
        return self.clients.group_id in self.coordinator.state.groups


# -- the table: who is in which state, and when its offsets go ------------------------------------


def simple(job: Job) -> None:
    job.commit("t1", "t2")


def simple_with_own_expiry(job: Job) -> None:
    job.commit("t1", "t2", version=2, retention_time_ms=5_000)


def simple_for_ever(job: Job) -> None:
    job.commit("t1", "t2", version=4, retention_time_ms=2**63 - 1)


def stable_member(job: Job, protocol_type: str, subscription: bytes | None = None) -> None:
    join = {"protocol_type": protocol_type, **LONG_SESSION}
    if subscription is not None:
        join["protocols"] = protocols("range", metadata=subscription)
    member_id = job.clients.enter("a", **join).response.member_id
    job.clients.sync(member_id, 1, protocol_type=protocol_type)
    job.commit("t1", "t2", member_id=member_id, generation_id=1)


def stable(job: Job) -> None:
    stable_member(job, "consumer")


def stable_with_own_expiry(job: Job) -> None:
    member_id = job.clients.enter("a", **LONG_SESSION).response.member_id
    job.clients.sync(member_id, 1)
    own = {"version": 2, "retention_time_ms": 5_000}
    job.commit("t1", "t2", member_id=member_id, generation_id=1, **own)


def stable_connect(job: Job) -> None:
    stable_member(job, "connect", b"x")


def stable_unreadable(job: Job) -> None:
    stable_member(job, "consumer", b"junk")


def preparing(job: Job) -> None:
    leader, follower = job.clients.stable("a", "b", **LONG_SESSION)
    job.commit("t1", "t2", member_id=leader, generation_id=2)
    job.clients.join(follower, protocols=protocols("range", "roundrobin"), **LONG_SESSION)
    assert job.clients.state == "PreparingRebalance"


def completing(job: Job) -> None:
    job.commit("t1", "t2")
    job.clients.completing("a", "b", **LONG_SESSION)
    assert job.clients.state == "CompletingRebalance"


def first_generation(job: Job) -> None:
    """Members joined a simple group; the log still says that it never had any."""
    job.coordinator.config = Coordinator(group_initial_rebalance_delay_ms=900_000).config
    job.coordinator.restart(offsets_retention_minutes=1)
    job.commit("t1", "t2")
    job.clients.enter("a", **LONG_SESSION)
    assert job.clients.state == "PreparingRebalance"


def empty(job: Job) -> None:
    """Committed first, then 10 s of life, then Empty."""
    stable(job)
    job.coordinator.advance(10_000)
    job.clients.leave(job.clients.member_id_of("a"))


def empty_then_reset(job: Job) -> None:
    empty(job)
    job.coordinator.advance(20_000)
    job.commit("t1", "t2")


def empty_with_own_expiry(job: Job) -> None:
    empty(job)
    job.commit("t1", "t2", version=2, retention_time_ms=5_000)


def empty_since_unknown(job: Job) -> None:
    """Group metadata of versions 0 and 1 do not say when the group became Empty."""
    job.apply(GroupMetadataRecord("g", "consumer", 3, None, None, -1, ()))
    job.commit("t1", "t2")


def pending_transaction(job: Job) -> None:
    job.commit("t1", "t2")
    job.coordinator.checks = False
    job.apply(OffsetCommitRecord("g", "t1", 0, 50, -1, "", START_MS), producer_id=7)


# set-up: topics left just before and at which moment, what goes then, whether the group goes too
CASES = {
    "simple": (simple, MINUTE_MS, {"t1", "t2"}, True),
    "simple, explicit expiry": (simple_with_own_expiry, 5_000, {"t1", "t2"}, True),
    "simple, explicit expiry in 292 million years": (simple_for_ever, NEVER, set(), False),
    "Stable: only what nobody subscribes to": (stable, MINUTE_MS, {"t2"}, False),
    "Stable, explicit expiry: likewise": (stable_with_own_expiry, 5_000, {"t2"}, False),
    "Stable, other protocol type": (stable_connect, NEVER, set(), False),
    "Stable, unreadable subscription": (stable_unreadable, NEVER, set(), False),
    "PreparingRebalance": (preparing, NEVER, set(), False),
    "CompletingRebalance": (completing, NEVER, set(), False),
    "first members of a simple group": (first_generation, NEVER, set(), False),
    "Empty: by when it became so": (empty, 10_000 + MINUTE_MS, {"t1", "t2"}, True),
    "Empty, reset later: all the same": (empty_then_reset, 10_000 + MINUTE_MS, {"t1", "t2"}, True),
    "Empty, explicit expiry": (empty_with_own_expiry, 15_000, {"t1", "t2"}, True),
    "Empty since unknown: by commit": (empty_since_unknown, MINUTE_MS, {"t1", "t2"}, True),
    "open transaction on t1": (pending_transaction, MINUTE_MS, {"t2"}, False),
}


@pytest.mark.parametrize(("set_up", "after_ms", "gone", "is_removed"), CASES.values(), ids=CASES)
def test_expiry(set_up, after_ms, gone, is_removed):
    job = Job()
    set_up(job)
    elapsed_ms = job.coordinator.now_ms - START_MS
    last_ms = (4 * MINUTE_MS if after_ms is NEVER else after_ms) - 1 - elapsed_ms
    job.coordinator.advance(last_ms)
    assert job.sweep() == []
    assert job.topics == {"t1", "t2"}
    job.coordinator.advance(1)
    tombstones = job.sweep()
    assert job.topics == {"t1", "t2"} - gone
    assert job.exists != is_removed
    expected: list[Record] = [OffsetCommitTombstone("g", topic, 0) for topic in sorted(gone)]
    assert tombstones == expected + [GroupMetadataTombstone("g")] * is_removed


@pytest.mark.parametrize("set_up", [simple, stable, empty], ids=lambda set_up: set_up.__name__)
def test_a_restart_expires_nothing(set_up):
    job = Job()
    set_up(job)
    job.coordinator.restart()
    job.coordinator.advance(40_000)
    assert job.sweep() == []
    assert job.topics == {"t1", "t2"}


class TestGroupsWithoutOffsets:
    def test_an_empty_group_goes_at_the_next_pass(self):
        job = Job()
        member_id = job.clients.enter("a").response.member_id
        job.clients.leave(member_id)
        assert job.sweep() == [GroupMetadataTombstone("g")]
        assert not job.exists

    def test_so_does_one_that_has_only_handed_out_ids(self):
        """And the id is worth nothing then (row 1293)."""
        job = Job()
        pending = job.clients.join("").response.member_id
        assert job.sweep() == [GroupMetadataTombstone("g")]
        assert job.clients.join(pending).error_code == 25
        assert not job.coordinator.session.deadlines

    def test_one_with_members_stays(self):
        job = Job()
        job.clients.stable("a")
        assert job.sweep() == []

    def test_one_with_an_open_transaction_stays(self):
        job = Job(checks=False)
        job.apply(OffsetCommitRecord("g", "t1", 0, 5, -1, "", START_MS), producer_id=7)
        assert job.sweep() == []
        end_transaction(job.coordinator.state, 7, is_committed=False)
        assert job.sweep() == [GroupMetadataTombstone("g")]

    def test_its_removal_is_told(self):
        job = Job()
        job.commit("t1")
        job.coordinator.advance(MINUTE_MS)
        job.sweep()
        event = job.coordinator.events[-1]
        assert (event.type, event.group_id) == ("group_deleted", "g")
        assert event.fields == {"offsets": 1, "client_id": None, "client_host": None}


# -- the walk -------------------------------------------------------------------------------------


def fill(job: Job, groups: int, partitions: int) -> None:
    for group in range(groups):
        for partition in range(partitions):
            record = OffsetCommitRecord(f"g{group:05}", "t", partition, 1, -1, "", START_MS)
            job.apply(record)


def steps(job: Job) -> list[Outcome]:
    outcomes = []
    for outcome in sweep(job.coordinator.view, job.coordinator.context()):
        job.coordinator.carry_out(outcome)
        outcomes.append(outcome)
    return outcomes


@pytest.mark.parametrize(
    ("groups", "partitions"),
    [
        (1, TOMBSTONES_MAX - 1),
        (1, TOMBSTONES_MAX),
        (1, 3 * TOMBSTONES_MAX + 7),
        (700, 3),
        (2_500, 1),
    ],
)
def test_every_step_is_small_and_together_they_are_complete(groups, partitions):
    job = Job(checks=False)
    fill(job, groups, partitions)
    job.coordinator.advance(MINUTE_MS)
    outcomes = steps(job)
    assert all(len(outcome.records) <= TOMBSTONES_MAX + 1 for outcome in outcomes)
    assert sum(len(outcome.records) for outcome in outcomes) == groups * (partitions + 1)
    assert job.coordinator.state.groups == {}
    assert job.coordinator.state.offsets == {}


def test_a_walk_over_many_groups_pauses_though_it_finds_nothing():
    job = Job(checks=False)
    fill(job, LOOKS_MAX // 2 + 1, 1)
    outcomes = steps(job)
    assert [outcome.records for outcome in outcomes] == [()]


def test_what_happens_between_two_steps_is_seen():
    """A commit is not buried and a deletion not repeated because the walk saw the state before."""
    job = Job(checks=False)
    fill(job, 2, TOMBSTONES_MAX + 1)
    job.coordinator.advance(MINUTE_MS)
    walk = sweep(job.coordinator.view, job.coordinator.context())
    job.coordinator.carry_out(next(walk))
    fresh = OffsetCommitRecord("g00000", "t", TOMBSTONES_MAX, 2, -1, "", job.coordinator.now_ms)
    job.apply(fresh)
    Clients(job.coordinator, "g00001").delete()
    assert [outcome.records for outcome in walk] == []
    assert list(job.coordinator.state.offsets) == ["g00000"]
    assert list(job.coordinator.state.offsets["g00000"]) == [("t", TOMBSTONES_MAX)]


# -- deleted topics -------------------------------------------------------------------------------

DELETED_ID, OTHER_ID = b"\x01" * 16, b"\x02" * 16


@pytest.mark.parametrize(
    ("topic", "topic_id", "is_removed"),
    [
        ("gone", DELETED_ID, True),
        ("gone", NULL_UUID, True),
        ("gone", OTHER_ID, False),
        ("other", DELETED_ID, False),
        ("other", NULL_UUID, False),
    ],
)
@pytest.mark.parametrize("producer_id", [-1, 7], ids=["committed", "pending"])
def test_offsets_of_a_deleted_topic(topic, topic_id, is_removed, producer_id):
    job = Job(checks=False)
    for group_id in ("a", "b"):
        record = OffsetCommitRecord(group_id, topic, 3, 1, -1, "", START_MS, topic_id=topic_id)
        job.apply(record, producer_id)
    deleted = {"gone": DELETED_ID}
    walk = on_topics_deleted(job.coordinator.view, job.coordinator.context(), deleted)
    records = [record for outcome in walk for record in outcome.records]
    expected = [OffsetCommitTombstone(group_id, topic, 3) for group_id in ("a", "b")]
    assert records == (expected if is_removed else [])


def test_an_offset_both_committed_and_pending_is_buried_once():
    job = Job(checks=False)
    for producer_id in (-1, 7, 8):
        job.apply(OffsetCommitRecord("g", "gone", 0, 1, -1, "", START_MS), producer_id)
    walk = on_topics_deleted(job.coordinator.view, job.coordinator.context(), {"gone": OTHER_ID})
    for outcome in walk:
        job.coordinator.carry_out(outcome)
    assert job.coordinator.batches == [(OffsetCommitTombstone("g", "gone", 0),)]
    assert job.coordinator.state.offsets == job.coordinator.state.pending_offsets == {}
    assert job.exists  # until the next pass of the retention job


# -- bugs that others had -------------------------------------------------------------------------


def test_kafka_13636_nothing_expires_during_a_long_rebalance():
    """While a group rebalances nobody knows what it will subscribe to."""
    job = Job()
    leader, follower = job.clients.stable("a", "b", **LONG_SESSION)
    job.commit("t1", "t2", member_id=leader, generation_id=2)
    job.clients.join(follower, protocols=protocols("range", "roundrobin"), **LONG_SESSION)
    job.coordinator.advance(5 * MINUTE_MS)
    assert job.clients.state == "PreparingRebalance"
    assert job.sweep() == []
    job.clients.join(leader, **LONG_SESSION)
    assert job.clients.state == "CompletingRebalance"
    assert job.sweep() == []
    assert job.topics == {"t1", "t2"}


@pytest.mark.parametrize("version", range(2, 10))
def test_kafka_8069_no_explicit_expiry_is_not_the_year_1969(version):
    """expireTimestamp -1, loaded as a time, made all offsets expire minutes after a failover."""
    job = Job()
    job.commit("t1", version=version)
    job.coordinator.restart()
    job.coordinator.advance(MINUTE_MS - 1)
    assert job.sweep() == []
    job.coordinator.advance(1)
    assert job.sweep() == [OffsetCommitTombstone("g", "t1", 0), GroupMetadataTombstone("g")]


def test_redpanda_core_16998_an_offset_staged_by_an_open_transaction_outlives_the_sweep():
    """A tombstone for the old offset would bury the staged one too, once it is replayed."""
    job = Job(checks=False)
    job.commit("t1")
    staged = OffsetCommitRecord("g", "t1", 0, 99, -1, "", START_MS)
    job.apply(staged, producer_id=7)
    job.coordinator.advance(2 * MINUTE_MS)
    assert job.sweep() == []
    end_transaction(job.coordinator.state, 7, is_committed=True)
    assert job.coordinator.state.offsets["g"]["t1", 0].committed_offset == 99


def test_bufstream_no_offset_is_ever_invented():
    """-1 says that there is none; 0 only if somebody committed 0."""
    job = Job()
    fetch = OffsetFetchRequest("g", None)
    assert job.coordinator.send(fetch, 7).response.topics == ()
    job.commit("t1")
    for _ in range(3):
        job.coordinator.restart()
        (topic,) = job.coordinator.send(fetch, 7).response.topics
        assert [p.committed_offset for p in topic.partitions] == [42]
    job.coordinator.advance(MINUTE_MS)
    job.sweep()
    job.coordinator.restart()
    assert job.coordinator.send(fetch, 7).response.topics == ()
