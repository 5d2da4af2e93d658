"""What is told about groups in `__group_events`."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.core.events import GroupEvent, GroupEventType, event_value
from support.coordinator import START_MS, Coordinator
from support.groups import Clients, protocols


def told(group: Clients, *types: str) -> list[tuple]:
    """Type and reason of the events of these types, or of all, since the last call."""
    events = group.coordinator.events
    picked = [(e.type.value, e.fields.get("reason")) for e in events]
    events.clear()
    return [event for event in picked if not types or event[0] in types]


def begin(group: Clients) -> list[str]:
    members = group.stable("A", "B")
    told(group)
    return members


def newcomer(group: Clients, _leader: str, _follower: str) -> None:
    group.enter("C", version=3)


def leader_rejoins(group: Clients, leader: str, _follower: str) -> None:
    group.join(leader)


def follower_changes(group: Clients, _leader: str, follower: str) -> None:
    group.join(follower, protocols=protocols("range", "x"))


def follower_leaves(group: Clients, _leader: str, follower: str) -> None:
    group.leave(follower)


def follower_expires(group: Clients, leader: str, _follower: str) -> None:
    group.coordinator.advance(9_999)
    group.heartbeat(leader, 2)
    group.coordinator.advance(1)


CAUSES = [
    (newcomer, [("member_joined", None), ("rebalance_begun", "member_joined")]),
    (leader_rejoins, [("rebalance_begun", "leader_rejoined")]),
    (follower_changes, [("rebalance_begun", "member_changed_protocols")]),
    (follower_leaves, [("member_left", None), ("rebalance_begun", "member_left")]),
    (
        follower_expires,
        [("member_expired", "session_timeout"), ("rebalance_begun", "session_timeout")],
    ),
]


@pytest.mark.parametrize(("cause", "expected"), CAUSES)
def test_why_a_rebalance_begins(cause, expected):
    group = Clients(Coordinator())
    leader, follower = begin(group)
    cause(group, leader, follower)
    assert told(group) == expected


def test_how_long_each_phase_took():
    group = Clients(Coordinator())
    leader, follower = begin(group)
    group.join(leader)
    group.coordinator.advance(700)
    group.join(follower)
    group.coordinator.advance(300)
    group.coordinator.events.clear()
    group.sync(leader, 3)
    (event,) = group.coordinator.events
    assert event == GroupEvent(
        GroupEventType.REBALANCE_COMPLETED,
        "g",
        START_MS + 1_000,
        {
            "generation_id": 3,
            "members": 2,
            "protocol": "range",
            "leader": leader,
            "join_ms": 700,
            "sync_ms": 300,
        },
    )


def test_rebalance_that_begins_in_another_one_means_that_that_one_failed():
    group = Clients(Coordinator())
    leader, _ = group.completing("A", "B")
    told(group)
    group.coordinator.advance(400)
    group.leave(leader)
    types = ("member_left", "rebalance_failed", "rebalance_begun")
    failed = next(e for e in group.coordinator.events if e.type == "rebalance_failed")
    assert (failed.fields["sync_ms"], failed.fields["generation_id"]) == (400, 2)
    assert [event for event, _ in told(group)] == list(types)


def test_who_asked_for_a_removal_is_told_apart_from_who_left():
    group = Clients(Coordinator())
    member_id = group.join("", 9, "app", group_instance_id="i").response.member_id
    group.coordinator.events.clear()
    group.leave(("", "i"))
    fields = group.coordinator.events[0].fields
    assert fields["member_id"] == member_id
    assert fields["client_id"] == "app"
    assert fields["requested_by_client_id"] == "cl"


def test_group_that_becomes_empty_and_is_deleted():
    group = Clients(Coordinator())
    (member_id,) = group.stable("A")
    group.commit(7, member_id, 1)
    told(group)
    group.leave(member_id)
    completed = group.coordinator.events[-1]
    assert (completed.type, completed.fields["members"]) == ("rebalance_completed", 0)
    told(group)
    group.delete()
    (event,) = group.coordinator.events
    assert (event.type, event.fields["offsets"]) == ("group_deleted", 1)


def test_static_member_is_replaced_and_its_old_self_fenced():
    group = Clients(Coordinator())
    old = group.join(group_instance_id="i").response.member_id
    group.sync(old, 1)
    told(group)
    new = group.join(group_instance_id="i").response.member_id
    fields = group.coordinator.events[0].fields
    assert (fields["member_id"], fields["replaced_member_id"]) == (new, old)
    assert told(group) == [("member_replaced", None)]
    group.heartbeat(old, 1, 4, "i")
    group.join(old, group_instance_id="i")
    group.sync(old, 1, group_instance_id="i")
    assert told(group) == [("member_fenced", None)] * 3


def test_heartbeats_and_commits_of_members_are_not_told():
    group = Clients(Coordinator())
    leader, _ = begin(group)
    group.heartbeat(leader, 2)
    group.commit(1, leader, 2)
    group.describe()
    assert told(group) == []


def test_members_that_miss_a_phase():
    group = Clients(Coordinator())
    leader, follower = begin(group)
    group.join(leader)
    group.coordinator.advance(9_000)
    group.heartbeat(follower, 2)
    group.coordinator.advance(1_000)
    assert ("member_expired", "member_did_not_rejoin") in told(group)
    group.coordinator.advance(9_000)
    group.heartbeat(leader, 3)
    group.coordinator.advance(1_000)
    assert ("member_expired", "member_did_not_sync") in told(group)


def test_value_is_one_json_object_whatever_the_names():
    event = GroupEvent(GroupEventType.MEMBER_LEFT, 'g"\n😀', 5, {"client_id": "\x1b[2J", "n": 1})
    value = event_value(event)
    assert value.isascii()
    assert b"\n" not in value
    assert json.loads(value) == {
        "type": "member_left",
        "group_id": 'g"\n😀',
        "at_ms": 5,
        "client_id": "\x1b[2J",
        "n": 1,
    }


@given(st.dictionaries(st.sampled_from("abc"), st.none() | st.integers() | st.text()))
def test_value_is_what_the_json_module_makes_of_it(fields):
    event = GroupEvent(GroupEventType.REBALANCE_BEGUN, "g", 5, fields)
    document = {"type": "rebalance_begun", "group_id": "g", "at_ms": 5, **fields}
    assert event_value(event) == json.dumps(document, separators=(",", ":")).encode()
