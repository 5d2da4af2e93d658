"""Sessions, and the deadline for SyncGroup. Numbers are rows of tests/golden/answers.jsonl."""

import pytest

from drumbeat.core.classic import rebalance
from drumbeat.core.classic.members import session_key
from drumbeat.core.deadlines import expire
from drumbeat.core.effects import ClearDeadline
from support.coordinator import Coordinator
from support.golden import answers
from support.groups import Clients, protocols
from support.stage import Stage

SECOND = 1_000


def code(row: int) -> int:
    return answers()[row]["response"]["ErrorCode"]


def test_silent_sole_member_leaves_an_empty_group():
    stage = Stage(400)
    stage.enter("cl-<uuid-1>", session_timeout_ms=1_000)
    stage.clients.sync(stage.id_of("cl-<uuid-1>"), 1)
    stage.coordinator.advance(999)
    assert stage.clients.state == "Stable"
    stage.coordinator.advance(1)
    assert stage.clients.state == answers()[399]["response"]["GroupState"]
    stage.check(400)


def test_silent_follower_is_out_and_the_leader_goes_on():
    stage = Stage(401)
    clients = stage.clients
    stage.enter("A-<uuid-2>")
    clients.enter("B", session_timeout_ms=1_000)
    clients.join(stage.id_of("A-<uuid-2>"))
    clients.sync(stage.id_of("A-<uuid-2>"), 2)
    stage.coordinator.advance(1_000)
    stage.check(401)


def _heartbeat(group: Clients, member_id: str) -> int:
    return group.heartbeat(member_id, 2)


SESSION_CASES = [
    (402, _heartbeat),
    (403, lambda group, m: group.commit(1, m, 2)),
    (404, lambda group, m: group.sync(m, 2).error_code),
    (405, lambda group, m: group.join(m, session_timeout_ms=1_500).error_code),
    (407, lambda group, m: group.heartbeat(m, 1)),
    (408, lambda group, m: group.commit(1, m, 1)),
    (409, lambda _group, _member_id: None),
]


@pytest.mark.parametrize(("row", "request_of"), SESSION_CASES)
def test_what_restarts_a_session(row, request_of):
    """A Stable follower with 1.5 s asks something after 1.0 s; is it still there at 1.6 s?"""
    measured = answers()[row]["response"]
    group = Clients(Coordinator())
    leader = group.enter("A").response.member_id
    follower = group.enter("B", session_timeout_ms=1_500)
    group.join(leader)
    member_id = follower.response.member_id
    group.sync(leader, 2)
    group.sync(member_id, 2)
    group.coordinator.advance(1_000)
    assert request_of(group, member_id) == measured["ErrorCode"]
    group.coordinator.advance(600)
    assert (group.heartbeat(member_id, 2) == 0) == measured["session_timer_reset"]


def test_parked_member_does_not_expire():
    group = Clients(Coordinator())
    leader, follower = group.stable("A", "B", session_timeout_ms=700, rebalance_timeout_ms=60_000)
    parked = group.join(follower, protocols=protocols("range", "x"), session_timeout_ms=700)
    for _ in range(4):
        group.coordinator.advance(500)
        group.heartbeat(leader, 2)
    assert parked.is_parked == answers()[412]["response"]["_parked"]
    assert group.leave(follower).response.members[0].error_code == code(413)
    assert parked.error_code == 25


def test_new_member_waits_longer_than_its_session_and_is_counted_when_its_connection_is_gone():
    stage = Stage(415)
    timeouts = {"rebalance_timeout_ms": 20_000, "session_timeout_ms": 20_000}
    stage.enter("A-<uuid-2>", **timeouts)
    stage.clients.sync(stage.id_of("A-<uuid-2>"), 1)
    parked = stage.enter("B-<uuid-3>", session_timeout_ms=500)
    stage.coordinator.advance(2_500)
    assert parked.is_parked == answers()[414]["response"]["_parked"]
    stage.check(415)


def test_new_member_is_out_after_five_minutes():
    measured = answers()[1533]["response"]
    group = Clients(Coordinator())
    timeouts = {"rebalance_timeout_ms": 1_000_000}
    (leader,) = group.stable("A", **timeouts)
    parked = group.enter("B", session_timeout_ms=1_000, **timeouts)
    seconds = 0
    while parked.is_parked:
        group.coordinator.advance(SECOND)
        group.heartbeat(leader, 1)
        seconds += 1
    assert seconds == measured["answered_after_s"]
    assert (parked.error_code, parked.response.member_id) == (25, measured["MemberId"])


def test_second_join_of_the_same_member_takes_over_and_the_first_is_told_to_try_again():
    stage = Stage(416)
    stage.enter("A-<uuid-5>")
    stage.clients.sync(stage.id_of("A-<uuid-5>"), 1)
    stage.enter("B-<uuid-4>")
    first = stage.clients.join(stage.id_of("B-<uuid-4>"))
    second = stage.send(416)
    # Kafka never answers the first one (row 417), which would block its connection for good.
    assert first.error_code == 27
    stage.clients.join(stage.id_of("A-<uuid-5>"))
    stage.check_answer(416, second)


def test_leader_that_never_syncs_is_out():
    stage = Stage(426)
    leader, follower = "A-<uuid-9>", "B-<uuid-1>"
    stage.two_members(leader, follower, rebalance_timeout_ms=1_500)
    sync = stage.send(426)
    for _ in range(3):
        stage.coordinator.advance(499)
        assert stage.clients.heartbeat(stage.id_of(leader), 2) == 0
    assert sync.is_parked
    stage.coordinator.advance(3)
    stage.check_answer(426, sync)
    assert stage.clients.heartbeat(stage.id_of(leader), 2) == 25


def test_follower_that_never_syncs_is_out_of_a_stable_group():
    measured = answers()[427]["response"]
    group = Clients(Coordinator())
    leader, follower = group.completing("A", "B", rebalance_timeout_ms=1_500)
    group.sync(leader, 2)
    for _ in range(3):
        group.coordinator.advance(499)
        assert group.heartbeat(follower, 2) == 0
    group.coordinator.advance(3)
    assert group.heartbeat(follower, 2) == measured["follower"]
    assert group.heartbeat(leader, 2) == measured["leader"]


def test_sole_member_that_never_syncs_leaves_an_empty_group():
    group = Clients(Coordinator())
    group.completing("A", rebalance_timeout_ms=1_000)
    group.coordinator.advance(1_000)
    assert group.state == answers()[428]["response"]["GroupState"]


def test_shorter_session_of_a_join_answered_at_once_is_not_taken_over():
    stage = Stage(1312)
    stage.two_members("A-<uuid-2>", "B-<uuid-1>")
    stage.clients.sync(stage.id_of("A-<uuid-2>"), 2)
    stage.clients.sync(stage.id_of("B-<uuid-1>"), 2)
    stage.check(1312)
    stage.coordinator.advance(1_200)
    assert stage.clients.state == answers()[1313]["response"]["GroupState"]


def test_timeouts_in_completing_rebalance_are_not_taken_over_either():
    measured = answers()[1342]["response"]
    group = Clients(Coordinator())
    (member_id,) = group.completing("A")
    joined = group.join(member_id, session_timeout_ms=500, rebalance_timeout_ms=600)
    assert joined.error_code == measured["ErrorCode"]
    group.coordinator.advance(1_600)
    assert group.state == measured["GroupState"]


def test_timeouts_of_a_join_that_rebalances_are_taken_over():
    group = Clients(Coordinator())
    (member_id,) = group.stable("A")
    group.join(member_id, session_timeout_ms=700)
    group.sync(member_id, 2)
    group.coordinator.advance(1_500)
    assert group.state == answers()[1343]["response"]["GroupState"]


def test_join_completes_when_the_missing_member_expires_and_a_commit_keeps_it_alive():
    stage = Stage(1314)
    leader, follower = "A-<uuid-3>", "B-<uuid-9>"
    stage.enter(leader, rebalance_timeout_ms=20_000)
    stage.enter(follower, session_timeout_ms=1_500)
    stage.clients.join(stage.id_of(leader), rebalance_timeout_ms=20_000)
    stage.clients.sync(stage.id_of(leader), 2)
    parked = stage.send(1314)
    stage.coordinator.advance(1_000)
    assert stage.clients.commit(1, stage.id_of(follower), 2) == code(1315)
    stage.coordinator.advance(1_499)
    assert parked.is_parked
    stage.coordinator.advance(1)
    stage.check_answer(1314, parked)


RHYTHM_CASES = [
    (1336, lambda group, member_id: group.heartbeat(member_id, 2)),
    (1337, lambda group, member_id: group.commit(1, member_id, 2)),
    (1338, lambda group, member_id: group.sync(member_id, 1).error_code),
]


@pytest.mark.parametrize(("row", "request_of"), RHYTHM_CASES)
def test_what_keeps_a_session_alive_in_completing_rebalance(row, request_of):
    """The leader asks the same every 0.4 s for 3.2 s with a session of 1.2 s."""
    measured = answers()[row]["response"]
    group = Clients(Coordinator())
    leader = group.enter("A", session_timeout_ms=1_200, rebalance_timeout_ms=60_000)
    leader = leader.response.member_id
    group.enter("B", rebalance_timeout_ms=60_000)
    group.join(leader, session_timeout_ms=1_200, rebalance_timeout_ms=60_000)
    codes = set()
    for _ in range(8):
        group.coordinator.advance(400)
        codes.add(request_of(group, leader))
    assert sorted(codes) == measured["codes"]
    assert group.state == measured["GroupState"]


def test_heartbeats_answered_27_keep_a_member_alive():
    measured = answers()[1335]["response"]
    group = Clients(Coordinator())
    leader, follower = group.stable("A", "B", session_timeout_ms=1_200, rebalance_timeout_ms=60_000)
    group.join(leader, session_timeout_ms=1_200, rebalance_timeout_ms=60_000)
    codes = set()
    for _ in range(8):
        group.coordinator.advance(400)
        codes.add(group.heartbeat(follower, 2))
    assert sorted(codes) == measured["codes"]
    assert (follower in group.live.members) == measured["still_member"]


def test_member_parked_in_sync_does_not_expire():
    measured = answers()[1339]["response"]
    group = Clients(Coordinator())
    leader, follower = group.completing(
        "A", "B", session_timeout_ms=1_200, rebalance_timeout_ms=60_000
    )
    parked = group.sync(follower, 2)
    for _ in range(5):
        group.coordinator.advance(500)
        group.heartbeat(leader, 2)
    assert parked.is_parked == measured["_parked"]
    assert group.state == measured["GroupState"]


def test_answer_to_a_parked_sync_restarts_the_session():
    group = Clients(Coordinator())
    leader, follower = group.completing("A", "B", rebalance_timeout_ms=60_000)
    group.sync(follower, 2)
    group.coordinator.advance(9_000)
    group.sync(leader, 2)
    group.coordinator.advance(9_999)
    assert group.state == "Stable"
    group.coordinator.advance(1)
    assert group.state == "Empty"


STALE_KEYS = [
    ("stable", rebalance.join_key("g")),
    ("preparing", rebalance.sync_key("g")),
    ("stable", rebalance.sync_key("g")),
    ("stable", session_key("g", "stranger")),
    ("stable", session_key("absent", "stranger")),
    ("stable", rebalance.join_key("absent")),
]


@pytest.mark.parametrize(("scene", "key"), STALE_KEYS)
def test_deadline_that_no_longer_means_anything_is_dropped(scene, key):
    group = Clients(Coordinator())
    getattr(group, scene)("A", "B")
    outcome = expire(group.coordinator.view, group.coordinator.context(), key)
    assert outcome.effects == (ClearDeadline(key),)
    others = (outcome.records, outcome.replies, outcome.events, outcome.settle)
    assert others == ((), (), (), None)
