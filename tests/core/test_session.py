"""Effects: each kind is followed, each is small, and what nobody needs any more is forgotten."""

from typing import get_args

import pytest

from drumbeat.core.classic.changes import CHANGES
from drumbeat.core.decide import decide
from drumbeat.core.effects import ClearDeadline, Effect, GroupForgotten, GroupOpened, SetDeadline
from drumbeat.core.handlers import HANDLERS
from drumbeat.core.outcome import Outcome
from drumbeat.protocol.apis import APIS
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from support.coordinator import Coordinator
from support.groups import Clients, join_request


def test_every_effect_is_followed():
    by_the_session = {SetDeadline, ClearDeadline, GroupOpened, GroupForgotten}
    assert CHANGES.keys() | by_the_session == set(get_args(Effect))
    assert not CHANGES.keys() & by_the_session


def test_every_group_api_has_a_handler_of_its_name():
    for key, handler in HANDLERS.items():
        module = APIS[key].request.__module__.rsplit(".", 1)[-1]
        assert handler.__name__ == module
        assert handler.__module__.rsplit(".", 1)[-1] == module


def outcome_of(group: Clients, request: object, version: int) -> Outcome:
    context = group.coordinator.context(api_version=version, new_id="new")
    return decide(group.coordinator.view, context, request)


def contents(outcome: Outcome) -> tuple[object, ...]:
    replies = [(reply.request_id, reply.response) for reply in outcome.replies]
    return outcome.records, replies, outcome.effects, outcome.events, outcome.settle


@pytest.mark.parametrize("count", [2, 200])
def test_size_of_an_outcome_does_not_grow_with_the_group(count):
    coordinator = Coordinator(group_initial_rebalance_delay_ms=3_000, checks=False)
    group = Clients(coordinator)
    for number in range(count):
        group.enter(f"c{number}")
    member_id = group.member_id_of("c1")
    assert len(outcome_of(group, join_request(), 3).effects) == 3
    assert len(outcome_of(group, join_request(member_id=member_id), 9).effects) == 2
    heartbeat = HeartbeatRequest("g", 0, member_id)
    assert len(outcome_of(group, heartbeat, 4).effects) == 1


def test_a_thousand_members_join_one_group():
    count = 1_000
    coordinator = Coordinator(group_initial_rebalance_delay_ms=3_000, checks=False)
    group = Clients(coordinator)
    calls = [group.enter(f"c{number}") for number in range(count)]
    coordinator.advance(6_000)  # the delay, extended once because of all who came
    members = [call.response.member_id for call in calls]
    assert {call.response.generation_id for call in calls} == {1}
    assert len(calls[0].response.members) == count
    parked = [group.sync(member_id, 1) for member_id in members[1:]]
    group.sync(members[0], 1, {member_id: member_id.encode() for member_id in members})
    for member_id, call in zip(members[1:], parked, strict=True):
        assert call.response.assignment == member_id.encode()
    assert coordinator.session.parked_count == 0


def test_decisions_do_not_write():
    """Asking the same thing twice without carrying it out gives the same outcome twice."""
    group = Clients(Coordinator())
    leader, _ = group.stable("A", "B")
    for request, version in (
        (join_request(), 3),
        (join_request(member_id=leader), 9),
        (HeartbeatRequest("g", 2, leader), 4),
    ):
        first, second = (outcome_of(group, request, version) for _ in range(2))
        assert contents(first) == contents(second)
    assert group.state == "Stable"


def test_nothing_is_left_of_a_group_that_came_and_went():
    group = Clients(Coordinator())
    members = group.stable("A", "B", "C")
    group.join()
    group.leave(*members)
    group.coordinator.advance(60_000)
    assert group.state == "Empty"
    session = group.coordinator.session
    assert (session.groups, session.deadlines) == ({}, {})


def test_deleted_group_takes_its_pending_ids_with_it():
    group = Clients(Coordinator())
    pending = group.join().response.member_id
    assert group.delete() == 0
    assert group.coordinator.session.groups == {}
    assert group.coordinator.session.deadlines == {}
    assert group.join(pending).error_code == 25


def test_rejected_join_brings_nothing_to_life():
    group = Clients(Coordinator())
    assert group.join(protocol_type="").error_code == 23
    assert group.coordinator.session.groups == {}
    assert group.state == "Empty"
