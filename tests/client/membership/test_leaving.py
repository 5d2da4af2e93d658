"""close() and unsubscribe(), at any moment."""

import pytest

from client.membership.bench import Bench, found, joined, refused, synced
from drumbeat.client.errors import NodeDisconnected
from drumbeat.client.membership import LeaveOperation
from drumbeat.protocol.apis.leave_group import LeaveGroupResponse, MemberResponse
from drumbeat.protocol.errors import ErrorCode

LEFT = LeaveGroupResponse(members=(MemberResponse("m1"),))


def settled(**config) -> Bench:
    bench = Bench(**config)
    bench.settle()
    return bench


def looking() -> Bench:
    bench = Bench()
    bench.poll()
    return bench


def joining() -> Bench:
    bench = Bench()
    bench.start_join()
    return bench


def with_an_id() -> Bench:
    bench = joining()
    bench.answer(refused(ErrorCode.MEMBER_ID_REQUIRED)["JoinGroup"])
    bench.poll()
    return bench


def syncing() -> Bench:
    bench = Bench()
    bench.start_sync()
    return bench


def is_synced() -> Bench:
    bench = syncing()
    bench.answer(synced("t-0"))
    return bench


def committing() -> Bench:
    bench = settled(enable_auto_commit=True)
    bench.membership.request_rejoin("told to")
    bench.poll()
    return bench


def joining_again() -> Bench:
    bench = Bench("cooperative-sticky")
    bench.settle(protocol_name="cooperative-sticky")
    bench.membership.request_rejoin("told to")
    bench.poll()
    return bench


def thrown_out() -> Bench:
    bench = settled()
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.UNKNOWN_MEMBER_ID)["Heartbeat"])
    return bench


def cut_off() -> Bench:
    bench = settled()
    bench.take(bench.membership.coordinator_lost("gone", bench.now_ms))
    return bench


STAGES = {
    Bench: "left",
    looking: "left",
    joining: "left",
    with_an_id: "LeaveGroup(given)",
    syncing: "LeaveGroup(m1)",
    is_synced: "LeaveGroup(m1)",
    settled: "REVOKED(t-0 t-1) assignment() LeaveGroup(m1)",
    committing: "REVOKED(t-0 t-1) assignment() LeaveGroup(m1)",
    joining_again: "LOST(t-0 t-1) assignment() LeaveGroup(m1)",
    thrown_out: "LOST(t-0 t-1) assignment() left",
    cut_off: "REVOKED(t-0 t-1) assignment() left",
}


@pytest.mark.parametrize(
    ("stage", "story"), STAGES.items(), ids=lambda value: getattr(value, "__name__", "")
)
def test_leaving_at_any_stage(stage, story):
    bench = stage()
    bench.open.clear()
    said = bench.leave()
    if bench.open and said[0] != "left" and "LeaveGroup" not in said[0]:
        said += bench.done()
    assert " ".join(said) == story
    if "LeaveGroup" in story:
        assert bench.membership.is_leaving
        assert bench.answer(LEFT) == ["left"]
    assert not bench.membership.is_leaving
    assert bench.poll() == bench.tick() == []
    assert bench.membership.assignment == frozenset()


def test_answers_to_what_was_under_way_change_nothing():
    bench = joining()
    assert bench.leave() == ["left"]
    assert bench.answer(joined()) == []
    assert bench.poll() == []


@pytest.mark.parametrize(
    ("instance_id", "operation", "leaves"),
    [
        (None, LeaveOperation.DEFAULT, True),
        (None, LeaveOperation.LEAVE_GROUP, True),
        (None, LeaveOperation.REMAIN_IN_GROUP, False),
        ("i", LeaveOperation.DEFAULT, False),
        ("i", LeaveOperation.LEAVE_GROUP, True),
        ("i", LeaveOperation.REMAIN_IN_GROUP, False),
    ],
)
def test_who_tells_the_coordinator(instance_id, operation, leaves):
    bench = settled(group_instance_id=instance_id)
    bench.leave(operation=operation)
    assert bench.done() == ["assignment()", "LeaveGroup(m1)" if leaves else "left"]


def test_the_reason_is_told_and_is_not_too_long():
    bench = settled()
    bench.take(bench.membership.leave("x" * 300, bench.now_ms))
    bench.done()
    assert bench.sent("LeaveGroup").request.members == (("m1", None, "x" * 255),)


def test_a_listener_that_runs_is_waited_for():
    bench = is_synced()
    assert bench.poll() == ["assignment(t-0)", "ASSIGNED(t-0)"]
    assert bench.leave() == []
    assert bench.leave() == []
    assert bench.done() == ["REVOKED(t-0)"]
    assert bench.done() == ["assignment()", "LeaveGroup(m1)"]
    assert bench.answer(LEFT) == ["left"]


def test_what_the_listener_raises_is_told_at_the_end():
    bench = settled()
    bench.leave()
    assert bench.done(ValueError("mine")) == ["assignment()", "LeaveGroup(m1)"]
    assert bench.answer(LEFT) == ["left mine"]


def test_a_lost_coordinator_does_not_keep_anybody():
    bench = settled()
    bench.leave()
    bench.done()
    assert bench.answer(NodeDisconnected()) == ["left NETWORK_EXCEPTION"]
    bench = settled()
    bench.leave()
    bench.done()
    said = bench.take(bench.membership.coordinator_lost("gone", bench.now_ms))
    assert said == ["disconnect", "left NETWORK_EXCEPTION"]


def test_a_refusal_of_the_member_counts_too():
    bench = settled()
    bench.leave()
    bench.done()
    refusal = LeaveGroupResponse(members=(MemberResponse("m1", None, 25),))
    assert bench.answer(refusal) == ["left UNKNOWN_MEMBER_ID"]


def test_why_joining_failed_is_not_told_to_who_leaves():
    bench = joining()
    bench.answer(refused(ErrorCode.INVALID_SESSION_TIMEOUT)["JoinGroup"])
    assert bench.leave() == ["left"]


def test_a_new_subscription_joins_as_a_new_member():
    bench = settled()
    bench.leave()
    bench.done()
    bench.take(bench.membership.subscription_changed(("t",), bench.now_ms))
    assert bench.poll() == []
    bench.answer(LEFT)
    assert bench.poll() == ["JoinGroup()"]
    assert bench.sent("JoinGroup").request.reason == ""


def test_static_members_insist_on_versions_that_know_them():
    bench = Bench(group_instance_id="i")
    bench.poll()
    bench.answer(found())
    bench.poll()
    join = bench.sent("JoinGroup")
    assert (join.versions, join.request.group_instance_id) == (range(5, 10), "i")
    bench.answer(joined())
    sync = bench.sent("SyncGroup")
    assert (sync.versions, sync.request.group_instance_id) == (range(3, 6), "i")
    bench.answer(synced())
    bench.start_heartbeat()
    beat = bench.sent("Heartbeat")
    assert (beat.versions, beat.request.group_instance_id) == (range(3, 5), "i")
    assert Bench().membership.poll(0)[0].versions is None
