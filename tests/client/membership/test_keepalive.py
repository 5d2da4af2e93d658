"""Between rebalances: heartbeats on their own clock, sessions, and the watchdog over poll()."""

from itertools import pairwise

import pytest

from client.membership.bench import Bench, found, joined, refused, synced
from drumbeat.client.errors import ConfigError, NodeDisconnected
from drumbeat.client.membership import MembershipConfig, MemberState
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from drumbeat.protocol.errors import ErrorCode

OK = HeartbeatResponse()


def settled(*names: str, **config) -> Bench:
    bench = Bench(*names, **config)
    bench.settle(protocol_name=names[0] if names else "range")
    return bench


def test_heartbeats_are_sent_at_their_interval_polled_or_not():
    bench = settled()
    for _ in range(5):
        assert bench.membership.next_deadline_ms == bench.now_ms + 3_000
        bench.wait(2_999)
        assert bench.tick() == []
        bench.wait(1)
        assert bench.tick() == ["Heartbeat(m1)"]
        assert bench.sent("Heartbeat").request == HeartbeatRequest("g", 5, "m1", None)
        assert bench.answer(OK) == []
    assert bench.membership.last_heartbeat_ms == bench.now_ms


def test_heartbeats_are_held_back_while_joining():
    bench = settled("cooperative-sticky")
    bench.membership.request_rejoin("told to")
    assert bench.poll() == ["JoinGroup(m1)"]
    assert bench.membership.next_deadline_ms is None
    bench.wait(60_000)
    assert bench.tick() == []
    bench.answer(joined(generation_id=6, protocol_name="cooperative-sticky"))
    assert bench.membership.next_deadline_ms == bench.now_ms + 3_000


def test_heartbeats_go_on_while_the_member_prepares_and_syncs():
    bench = settled(enable_auto_commit=True)
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.REBALANCE_IN_PROGRESS)["Heartbeat"])
    assert bench.poll()[-1] == "COMMIT_BEFORE_JOIN(t-0 t-1)"
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.REBALANCE_IN_PROGRESS)["Heartbeat"])
    bench.done()
    bench.poll()
    bench.start_heartbeat()


def test_a_rebalance_that_was_joined_already_is_no_news():
    bench = Bench()
    bench.start_sync()
    sync = bench.open.pop()
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.REBALANCE_IN_PROGRESS)["Heartbeat"])
    bench.open.append(sync)
    bench.answer(synced("t-0"))
    bench.poll()
    bench.done()
    assert bench.poll() == []


@pytest.mark.parametrize("code", [22, 25, 82])
def test_what_is_said_about_an_old_generation_is_old(code):
    bench = settled("cooperative-sticky")
    bench.start_heartbeat()
    heartbeat = bench.open.pop()
    bench.membership.request_rejoin("told to")
    bench.poll()
    bench.answer(joined(generation_id=6, protocol_name="cooperative-sticky"))
    bench.open.insert(0, heartbeat)
    assert bench.answer(refused(code)["Heartbeat"]) == []
    assert bench.membership.generation.generation_id == 6
    assert bench.membership.state is MemberState.COMPLETING_REBALANCE


def test_a_heartbeat_that_fails_is_tried_again_soon():
    bench = settled()
    beats_at_ms = []
    while len(beats_at_ms) < 7:
        bench.now_ms = bench.membership.next_deadline_ms
        said = bench.tick()
        if said == ["FindCoordinator"]:
            bench.answer(found())
        else:
            assert said == ["Heartbeat(m1)"]
            beats_at_ms.append(bench.now_ms)
            assert bench.answer(NodeDisconnected()) == ["disconnect"]
    pauses = [after - before for before, after in pairwise(beats_at_ms)]
    assert pauses == [100, 200, 400, 800, 1_000, 1_000]
    assert bench.membership.state is MemberState.STABLE


def test_a_session_without_answers_is_a_lost_coordinator():
    bench = settled(session_timeout_ms=10_000)
    said = []
    for _ in range(4):
        bench.now_ms = bench.membership.next_deadline_ms
        said += bench.tick()
    assert said == ["Heartbeat(m1)"] * 3 + ["disconnect"]
    assert bench.tick() == ["FindCoordinator"]
    bench.open = bench.open[-1:]
    bench.answer(found())
    # The session counts from here: the new coordinator has had no chance to answer yet.
    bench.now_ms = bench.membership.next_deadline_ms
    assert bench.tick() == ["Heartbeat(m1)"]
    bench.answer(OK)
    assert bench.membership.generation.generation_id == 5


def test_a_coordinator_lost_in_passing_is_found_without_a_rebalance():
    bench = settled()
    bench.take(bench.membership.coordinator_lost("connection reset", bench.now_ms))
    assert bench.membership.next_deadline_ms == bench.now_ms
    assert bench.tick() == ["FindCoordinator"]
    assert bench.tick() == []
    assert bench.membership.next_deadline_ms is None
    bench.answer(found())
    assert bench.poll() == []
    assert bench.membership.is_active


# -- the watchdog ----------------------------------------------------------------------------------


def dawdle(bench: Bench, ms: int) -> list[str]:
    """The application does not poll; heartbeats go on."""
    end_ms, said = bench.now_ms + ms, []
    while (at_ms := bench.membership.next_deadline_ms) is not None and at_ms <= end_ms:
        bench.now_ms = at_ms
        news = bench.tick()
        said += news
        if news == ["Heartbeat(m1)"]:
            bench.answer(OK)
    bench.now_ms = end_ms
    return said


def test_who_does_not_poll_leaves():
    bench = settled(max_poll_interval_ms=10_000)
    said = dawdle(bench, 9_999)
    assert set(said) == {"Heartbeat(m1)"}
    assert dawdle(bench, 1) == ["LeaveGroup(m1)"]
    members = bench.sent("LeaveGroup").request.members
    assert members == (("m1", None, "the time between two polls exceeded max.poll.interval.ms"),)
    assert bench.membership.state is MemberState.UNJOINED
    assert dawdle(bench, 60_000) == []
    bench.open.clear()
    assert bench.story() == "LOST(t-0 t-1) assignment() JoinGroup()"


def test_polling_keeps_the_watchdog_quiet():
    bench = settled(max_poll_interval_ms=10_000)
    for _ in range(5):
        assert set(dawdle(bench, 9_000)) == {"Heartbeat(m1)"}
        assert bench.poll() == []


def test_static_members_that_do_not_poll_fall_silent_and_keep_their_place():
    bench = settled(max_poll_interval_ms=10_000, group_instance_id="i")
    assert set(dawdle(bench, 60_000)) == {"Heartbeat(m1)"}
    assert bench.membership.state is MemberState.UNJOINED
    assert bench.story() == "LOST(t-0 t-1) assignment() JoinGroup()"


def test_a_listener_that_takes_too_long_costs_the_membership():
    bench = Bench(max_poll_interval_ms=10_000)
    bench.start_sync()
    bench.answer(synced("t-0"))
    assert bench.poll()[-1] == "ASSIGNED(t-0)"
    callback = bench.open.pop()
    assert dawdle(bench, 10_000)[-1] == "LeaveGroup(m1)"
    bench.open = [callback]
    bench.done()
    assert bench.story() == "LOST(t-0) assignment() JoinGroup()"


# -- errors that only the application can mend -----------------------------------------------------


def test_an_unexpected_answer_is_raised_and_heartbeats_go_on():
    bench = settled()
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)["Heartbeat"])
    assert bench.membership.next_deadline_ms == bench.now_ms + 100
    assert bench.poll() == ["raise GROUP_AUTHORIZATION_FAILED"]
    assert bench.poll() == []
    bench.wait(100)
    assert bench.tick() == ["Heartbeat(m1)"]


def test_a_fenced_member_does_not_fight_for_its_place():
    bench = settled(group_instance_id="i")
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.FENCED_INSTANCE_ID)["Heartbeat"])
    assert bench.story() == "LOST(t-0 t-1) assignment() raise FENCED_INSTANCE_ID"
    for _ in range(3):
        bench.wait(60_000)
        assert bench.poll() == ["raise FENCED_INSTANCE_ID"]
        assert bench.tick() == []
    assert bench.leave() == ["left"]
    bench.take(bench.membership.subscription_changed(("t",), bench.now_ms))
    assert bench.story() == "JoinGroup()"


def test_heartbeats_must_fit_into_the_session():
    with pytest.raises(ConfigError, match="must be lower than session_timeout_ms"):
        MembershipConfig(group_id="g", session_timeout_ms=3_000, heartbeat_interval_ms=3_000)
