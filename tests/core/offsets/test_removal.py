"""What is buried with a group."""

from drumbeat.core.deadline_keys import DeadlineKey, DeadlineKind
from drumbeat.core.effects import ClearDeadline, GroupForgotten
from drumbeat.core.offsets.removal import forget_group, group_tombstones
from drumbeat.core.records import (
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
)
from drumbeat.core.reducer import apply, end_transaction
from support.coordinator import START_MS, Coordinator
from support.groups import Clients


def stored(topic: str, partition: int, group_id: str = "g") -> OffsetCommitRecord:
    return OffsetCommitRecord(group_id, topic, partition, 1, -1, "", START_MS)


def test_offsets_first_then_the_group():
    coordinator = Coordinator(checks=False)
    state = coordinator.state
    for log_offset, record in enumerate((stored("b", 1), stored("a", 0), stored("a", 0, "other"))):
        apply(state, record, log_offset)
    for log_offset, (producer_id, record) in enumerate(
        ((7, stored("a", 0)), (7, stored("p", 2)), (8, stored("p", 2)), (8, stored("p", 0))), 3
    ):
        apply(state, record, log_offset, producer_id)
    tombstones: list[Record] = [
        OffsetCommitTombstone("g", "b", 1),
        OffsetCommitTombstone("g", "a", 0),
        OffsetCommitTombstone("g", "p", 0),
        OffsetCommitTombstone("g", "p", 2),
        GroupMetadataTombstone("g"),
    ]
    assert group_tombstones(coordinator.view, "g") == tombstones
    for tombstone in tombstones:
        apply(state, tombstone, 9)
    for producer_id in (7, 8):
        end_transaction(state, producer_id, is_committed=True)
    assert list(state.groups) == list(state.offsets) == ["other"]


def test_a_simple_group_without_offsets_gets_its_tombstone_too():
    coordinator = Coordinator()
    Clients(coordinator).join("")
    assert group_tombstones(coordinator.view, "g") == [GroupMetadataTombstone("g")]


def test_ids_that_were_handed_out_are_forgotten():
    coordinator = Coordinator()
    pending = Clients(coordinator).join("").response.member_id
    assert forget_group(coordinator.view, "g") == [
        ClearDeadline(DeadlineKey(DeadlineKind.SESSION, "g", pending)),
        GroupForgotten("g"),
    ]


def test_a_group_that_is_not_in_motion_leaves_nothing_to_forget():
    coordinator = Coordinator()
    Clients(coordinator).commit()
    assert forget_group(coordinator.view, "g") == []
