"""Bugs that other coordinators had, by their number; each a test that such a bug would fail."""

import itertools

import pytest

from support.coordinator import Call, Coordinator
from support.groups import Clients, protocols


def test_kafka_12890_member_that_heartbeats_but_never_syncs_does_not_hold_the_group():
    group = Clients(Coordinator())
    leader, follower = group.completing("A", "B", rebalance_timeout_ms=60_000)
    parked = group.sync(follower, 2)
    for _ in range(12):
        group.coordinator.advance(5_000)
        group.heartbeat(leader, 2)
    assert parked.error_code == 27
    joined = group.join(follower)
    assert joined.response.leader == follower
    assert [member.member_id for member in joined.response.members] == [follower]


@pytest.mark.parametrize("version", [4, 9])
def test_kafka_7610_retried_joins_leave_no_ghosts(version):
    """A client with a timeout of 1 s asks for an id a hundred times, then goes on with the last."""
    group = Clients(Coordinator())
    for _ in range(100):
        pending = group.join("", version, "slow", session_timeout_ms=6_000).response.member_id
        group.coordinator.advance(1_000)
        assert len(group.live.pending_members) <= 6
    joined = group.join(pending, version, "slow")
    group.coordinator.advance(6_000)
    assert joined.response.error_code == 0
    assert list(group.live.members) == [pending]


@pytest.mark.parametrize("version", [0, 3])
def test_kafka_9232_ghosts_of_old_clients_are_gone_after_five_minutes(version):
    """Before v4 there is no id to hand out: each retry is a member, and waits."""
    group = Clients(Coordinator())
    (leader,) = group.stable("A", rebalance_timeout_ms=1_000_000)
    ghosts = [group.enter("ghost", version) for _ in range(100)]
    for _ in range(300):
        group.coordinator.advance(1_000)
        group.heartbeat(leader, 1)
    assert {ghost.error_code for ghost in ghosts} == {25}
    assert list(group.live.members) == [leader]


def static_member(group: Clients, instance: str, **fields: object) -> Call:
    return group.join(group_instance_id=instance, **fields)


def test_kafka_8500_two_processes_with_one_instance_id_are_never_both_in():
    group = Clients(Coordinator())
    first = static_member(group, "i").response.member_id
    group.sync(first, 1, {first: b"mine"})
    second = static_member(group, "i").response.member_id
    assert group.heartbeat(first, 1, 4, "i") == 82
    assert group.heartbeat(second, 1, 4, "i") == 0
    assert list(group.live.members) == [second]


STEPS = ("join", "sync", "replace", "sync again", "heartbeat")


@pytest.mark.parametrize("restarts", list(itertools.product([False, True], repeat=4)))
def test_kafka_9801_static_matrix_with_a_restart_between_any_two_steps(restarts):
    """Whatever is answered stays true: the last id is in, every earlier one is fenced."""
    group = Clients(Coordinator())
    ids: list[str] = []
    generation_id = 0

    def rejoin() -> None:
        nonlocal generation_id
        call = static_member(group, "i")
        if call.is_parked:
            group.coordinator.advance(60_000)
        ids.append(call.response.member_id)
        generation_id = call.response.generation_id

    for step, restart in zip(STEPS, (*restarts, False), strict=True):
        if step in ("join", "replace"):
            rejoin()
        elif step.startswith("sync"):
            answer = group.sync(ids[-1], generation_id, {ids[-1]: b"mine"}, group_instance_id="i")
            if answer.error_code:
                rejoin()
                group.sync(ids[-1], generation_id, {ids[-1]: b"mine"}, group_instance_id="i")
        if restart:
            group.coordinator.restart()
    if group.heartbeat(ids[-1], generation_id, 4, "i"):
        rejoin()
    assert list(group.live.static_members.items()) == [("i", ids[-1])]
    for fenced in ids[:-1]:
        assert group.heartbeat(fenced, generation_id, 4, "i") == 82


def test_kafka_10284_new_id_of_a_static_member_survives_a_restart():
    group = Clients(Coordinator())
    first = static_member(group, "i").response.member_id
    group.sync(first, 1, {first: b"mine"})
    second = static_member(group, "i").response.member_id
    group.coordinator.restart()
    assert group.heartbeat(second, 1, 4, "i") == 0
    assert group.heartbeat(first, 1, 4, "i") == 82
    assert group.sync(second, 1, group_instance_id="i").response.assignment == b"mine"


def test_kafka_14009_static_member_replaced_in_completing_rebalance_is_not_left_empty_handed():
    group = Clients(Coordinator())
    leader = static_member(group, "lead").response.member_id
    follower = static_member(group, "i")
    group.join(leader, group_instance_id="lead")
    replacement = static_member(group, "i")
    assert replacement.is_parked
    # The leader still plans for the old id: too late, it has to join again.
    plan = {leader: b"l", follower.response.member_id: b"f"}
    assert group.sync(leader, 2, plan).error_code == 27
    group.join(leader, group_instance_id="lead")
    new_id = replacement.response.member_id
    assert new_id != follower.response.member_id
    parked = group.sync(new_id, 3)
    group.sync(leader, 3, {leader: b"l", new_id: b"f"})
    assert parked.response.assignment == b"f"


def test_kafka_8715_replaced_static_leader_does_not_lose_its_role():
    group = Clients(Coordinator())
    leader = static_member(group, "lead").response.member_id
    follower = static_member(group, "i")
    group.join(leader, group_instance_id="lead")
    group.sync(leader, 2)
    group.sync(follower.response.member_id, 2)
    replaced = static_member(group, "lead").response
    assert (replaced.leader, replaced.skip_assignment) == (replaced.member_id, True)
    group.coordinator.restart()
    assert group.live.leader == replaced.member_id


def test_kafka_9844_group_max_size_holds_under_a_thousand_parallel_joins():
    group = Clients(
        Coordinator(group_max_size=10, group_initial_rebalance_delay_ms=3_000, checks=False)
    )
    ids = [group.join("", 9, f"c{n}").response.member_id for n in range(1_000)]
    calls = [group.join(member_id) for member_id in ids]
    group.coordinator.advance(60_000)
    codes = [call.error_code for call in calls]
    assert codes.count(0) == 10
    assert codes.count(81) == 990
    assert max(len(call.response.members) for call in calls) == 10


def test_kafka_6042_every_turn_ends_whatever_it_sets_off():
    """One request that answers others, whose groups then change again, is still one short turn."""
    group = Clients(Coordinator())
    leader, follower = group.completing("A", "B")
    parked = group.sync(follower, 2)
    newcomer = group.enter("C", version=3)  # sends the parked SyncGroup away
    assert parked.error_code == 27
    answered = [group.join(leader), group.join(follower)]
    assert [c.response.generation_id for c in (*answered, newcomer)] == [3, 3, 3]
    changed = group.join(follower, protocols=protocols("range", "x"))
    assert changed.is_parked
    group.leave(leader, newcomer.response.member_id)
    assert changed.response.leader == follower
