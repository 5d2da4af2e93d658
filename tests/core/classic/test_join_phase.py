"""When a join phase ends: the initial delay, the rebalance timeout, pending ids, static members.

Numbers are rows of tests/golden/answers.jsonl; seconds there were measured on a live Kafka.
"""

import pytest

from support.coordinator import START_MS, Call, Coordinator
from support.golden import Scene, answers
from support.groups import Clients, protocols
from support.stage import Stage

INITIAL_DELAY_MS = 1_500


def initial_delay() -> Clients:
    return Clients(Coordinator(group_initial_rebalance_delay_ms=INITIAL_DELAY_MS))


def answered_after_ms(coordinator: Coordinator, call: Call, limit_ms: int = 60_000) -> int:
    """From the beginning of the test; the clock stands at the answer afterwards."""
    while call.is_parked:
        next_ms = min(coordinator.session.deadlines.values())
        coordinator.advance(max(0, next_ms - coordinator.now_ms))
        assert coordinator.now_ms - START_MS <= limit_ms
    return coordinator.now_ms - START_MS


@pytest.mark.parametrize(
    ("row", "rebalance_timeout_ms", "second_at_ms"),
    [(524, 10_000, None), (525, 10_000, 700), (526, 2_000, 700), (527, 1_000, 700)],
)
def test_initial_delay_is_extended_while_members_arrive(row, rebalance_timeout_ms, second_at_ms):
    group = initial_delay()
    calls = [group.enter("A", 1, rebalance_timeout_ms=rebalance_timeout_ms)]
    if second_at_ms is not None:
        group.coordinator.advance(second_at_ms)
        calls.append(group.enter("B", 1, rebalance_timeout_ms=rebalance_timeout_ms))
    measured = answers()[row]["response"]["answered_at_s"]
    for call, seconds in zip(calls, measured, strict=True):
        answered_ms = answered_after_ms(group.coordinator, call)
        assert answered_ms == pytest.approx(seconds * 1000, abs=100)
    assert len(calls[0].response.members) == len(calls)


def test_pending_id_does_not_hold_the_initial_delay():
    group = initial_delay()
    call = group.enter("A", 1)
    group.coordinator.advance(500)
    group.join("", 9, "B")
    assert answers()[528]["response"] == {"answered_at_s": [1.5]}
    assert answered_after_ms(group.coordinator, call) == 1_500


def test_sole_member_leaving_does_not_end_the_initial_delay():
    stage = Stage(531, Coordinator(group_initial_rebalance_delay_ms=INITIAL_DELAY_MS))
    measured = answers()[529]["response"]
    call = stage.clients.enter("A", 1)
    stage.coordinator.advance(100)
    member_id = stage.clients.member_id_of("A")
    stage.clients.leave(member_id)
    assert stage.clients.state == measured["state_right_after"]
    assert call.error_code == measured["parked_join"]
    stage.coordinator.advance(1_399)
    assert stage.clients.state == "PreparingRebalance"
    stage.coordinator.advance(1)
    stage.check(530)
    joined = stage.send(531)
    stage.coordinator.advance(INITIAL_DELAY_MS)
    stage.check_answer(531, joined)


def test_expiry_that_leaves_everybody_joined_ends_the_initial_delay():
    group = Clients(Coordinator(group_initial_rebalance_delay_ms=600_000))
    group.join("", 9, "ghost", session_timeout_ms=6_000)
    call = group.enter("A", rebalance_timeout_ms=600_000)
    group.coordinator.advance(5_999)
    assert call.is_parked
    group.coordinator.advance(1)
    assert call.response.generation_id == 1


def test_pending_id_holds_a_later_join_phase_until_its_timer_fires():
    stage = Stage(418)
    stage.enter("A-<uuid-1>")
    stage.clients.sync(stage.id_of("A-<uuid-1>"), 1)
    stage.hand_out("B-<uuid-2>", session_timeout_ms=1_500)
    call = stage.send(418)
    stage.coordinator.advance(1_499)
    assert call.is_parked
    stage.coordinator.advance(1)
    stage.check_answer(418, call)
    stage.check(419)


def test_group_whose_only_pending_id_expired_stays_empty():
    scene = Scene(Coordinator())
    Clients(scene.coordinator, "d-17").join("", session_timeout_ms=1_000)
    scene.coordinator.advance(1_000)
    scene.check(420)
    assert scene.coordinator.session.groups == {}


@pytest.mark.parametrize(
    ("row", "version", "leader", "follower"),
    [(421, 0, "A-<uuid-9>", "B-<uuid-1>"), (422, 9, "A-<uuid-9>", "B-<uuid-2>")],
)
def test_join_phase_goes_on_without_who_stays_away(row, version, leader, follower):
    """The largest rebalance timeout counts; version 0 has none and uses the session's."""
    timeouts = {"session_timeout_ms": 1_500} if version == 0 else {"rebalance_timeout_ms": 1_500}
    stage = Stage(row)
    stage.two_members(leader, follower, version=version, **timeouts)
    stage.clients.sync(stage.id_of(leader), 2)
    call = stage.send(row)
    for _ in range(3):
        stage.coordinator.advance(499)
        assert stage.clients.heartbeat(stage.id_of(leader), 2) == 27
    assert call.is_parked
    stage.coordinator.advance(3)
    stage.check_answer(row, call)
    assert stage.clients.heartbeat(stage.id_of(leader), 3) == 25


def test_timeout_is_fixed_when_the_rebalance_is_prepared():
    stage = Stage(423)
    stage.two_members("A-<uuid-9>", "B-<uuid-3>", rebalance_timeout_ms=1_500)
    stage.clients.sync(stage.id_of("A-<uuid-9>"), 2)
    call = stage.send(423)
    stage.enter("D-<uuid-4>", rebalance_timeout_ms=6_000)
    stage.coordinator.advance(1_499)
    assert call.is_parked
    stage.coordinator.advance(1)
    stage.check_answer(423, call)


def test_the_new_members_own_timeout_counts():
    stage = Stage(424)
    stage.enter("A-<uuid-9>", rebalance_timeout_ms=1_000)
    stage.clients.sync(stage.id_of("A-<uuid-9>"), 1)
    stage.hand_out("D-<uuid-5>")
    call = stage.send(424)
    assert answers()[425]["response"] == {"seconds": 2.5}
    assert answered_after_ms(stage.coordinator, call) == 2_500
    stage.check_answer(424, call)


def static_pair(stage: Stage, **fields: int) -> list[str]:
    """Stable in generation 2: i1 leads, i2 follows."""
    one = stage.clients.join(group_instance_id="i1", **fields).response.member_id
    joined = stage.clients.join(group_instance_id="i2", **fields)
    stage.clients.join(one, group_instance_id="i1", **fields)
    two = joined.response.member_id
    stage.clients.sync(one, 2)
    stage.clients.sync(two, 2)
    return [one, two]


def test_absent_static_member_survives_a_join_phase_and_falls_at_the_next_sync_deadline():
    stage = Stage(488)
    timeouts = {"rebalance_timeout_ms": 1_200, "session_timeout_ms": 8_000}
    one, two = static_pair(stage, **timeouts)
    stage.know("i1-<uuid-1>", one)
    stage.know("i2-<uuid-2>", two)
    call = stage.send(488)
    stage.coordinator.advance(1_200)
    stage.check_answer(488, call)
    stage.clients.sync(one, 3)
    measured = answers()[489]["response"]
    assert stage.clients.state == measured["before"]
    stage.coordinator.advance(int(measured["after_seconds"] * 1000))
    assert stage.clients.state == measured["GroupState"]
    assert stage.clients.heartbeat(two, 3) == 25
    assert stage.clients.heartbeat(one, 3) == 27


def test_nobody_but_an_absent_static_member_leaves_the_generation_alone():
    stage = Stage(491)
    clients = stage.clients
    timeouts = {"rebalance_timeout_ms": 1_200, "session_timeout_ms": 6_000}
    one = clients.join(group_instance_id="i1", **timeouts).response.member_id
    dynamic = clients.enter("D", **timeouts)
    clients.join(one, group_instance_id="i1", **timeouts)
    clients.sync(one, 2)
    clients.sync(dynamic.response.member_id, 2)
    stage.know("i1-<uuid-3>", one)
    clients.leave(dynamic.response.member_id)
    for _ in range(3):
        stage.coordinator.advance(1_200)
        assert clients.heartbeat(one, 2) == answers()[490]["response"]["ErrorCode"] == 27
        assert clients.state == "PreparingRebalance"
    stage.check(491)


def test_rebalance_timeout_of_zero_does_not_spin():
    group = Clients(Coordinator())
    static = group.join(group_instance_id="i").response.member_id
    dynamic = group.enter("D")
    group.join(static, group_instance_id="i")
    group.sync(static, 2)
    group.sync(dynamic.response.member_id, 2)
    group.join(group_instance_id="i", rebalance_timeout_ms=0)
    group.leave(dynamic.response.member_id)
    told = len(group.coordinator.events)
    group.coordinator.advance(5_000)
    assert len(group.coordinator.events) - told == 5  # once a second
    assert group.state == "PreparingRebalance"


def test_negative_rebalance_timeout_counts_as_zero():
    group = Clients(Coordinator())
    assert group.enter("A", rebalance_timeout_ms=-1).response.generation_id == 1
    assert group.state == "Empty"  # there was no time at all to sync


def test_late_rejoiner_of_a_full_group_is_thrown_out_and_the_phase_runs_to_its_end():
    measured = answers()[1317]["response"]
    stage = Stage(1316, Coordinator(group_max_size=2))
    clients = stage.clients
    timeouts = {"rebalance_timeout_ms": 3_000}
    stage.two_members("A-<uuid-9>", "B-<uuid-1>", **timeouts)
    clients.sync(stage.id_of("A-<uuid-9>"), 2)
    clients.sync(stage.id_of("B-<uuid-1>"), 2)
    leader = clients.join(stage.id_of("A-<uuid-9>"), **timeouts)
    newcomer = clients.enter("D", **timeouts)
    assert newcomer.is_parked
    stage.check(1316)
    rejected = clients.heartbeat(stage.id_of("B-<uuid-1>"), 2)
    assert rejected == answers()[1311]["response"]["ErrorCode"]
    seconds = answered_after_ms(stage.coordinator, leader) / 1000
    assert seconds == measured["join_phase_completed_after_s"]
    assert len(leader.response.members) == measured["members"]
    assert newcomer.response.generation_id == leader.response.generation_id


def test_ids_are_handed_out_while_a_full_group_rebalances():
    stage = Stage(1309, Coordinator(group_max_size=2))
    stage.two_members("A-<uuid-9>", "B-<uuid-2>")
    stage.clients.sync(stage.id_of("A-<uuid-9>"), 2)
    stage.clients.join(stage.id_of("A-<uuid-9>"), protocols=protocols("range", "x"))
    stage.check(1309, "D")
    stage.clients.join(stage.id_of("D-<uuid-1>"), client_id="D")
    stage.check(1310)


def test_empty_group_hands_out_any_number_of_ids():
    group = Clients(Coordinator(group_max_size=2))
    codes = [group.join().error_code for _ in range(3)]
    assert codes == [answers()[539]["response"]["ErrorCode"]] * 3


def test_group_emptied_with_an_id_still_pending_keeps_the_id():
    group = Clients(Coordinator())
    (member_id,) = group.stable("A")
    pending = group.join().response.member_id
    group.leave(member_id)
    assert group.state == "Empty"
    assert group.join(pending).response.generation_id == 3
