"""From nobody to a member with an assignment: what is sent, by whom, and when."""

from itertools import pairwise

import pytest

from client.membership.bench import (
    NODE,
    STEPS_MAX,
    Bench,
    found,
    joined,
    joined_by,
    partitions,
    refused,
    synced,
)
from drumbeat.client.errors import NodeDisconnected
from drumbeat.client.membership import MemberState
from drumbeat.protocol.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_subscription,
)
from drumbeat.protocol.errors import ErrorCode


def wants(*topics: str) -> bytes:
    return encode_subscription(Subscription(topics))


def lead(bench: Bench, *members: tuple[str, bytes], **fields) -> list[str]:
    bench.start_join()
    return bench.answer(joined(leader="m1", members=joined_by(*members), **fields))


def planned(bench: Bench) -> dict[str, str]:
    given = bench.sent("SyncGroup").request.assignments
    return {
        entry.member_id: " ".join(
            f"{topic.topic}-{number}"
            for topic in decode_assignment(entry.assignment).assigned_partitions
            for number in topic.partitions
        )
        for entry in given
    }


def test_nothing_happens_without_a_subscription():
    bench = Bench()
    bench.leave()
    assert bench.said[-1] == "left"
    assert bench.poll() == []
    assert bench.membership.next_poll_ms is None
    assert bench.membership.next_deadline_ms is None


def test_the_coordinator_is_looked_for_through_any_broker():
    bench = Bench()
    assert bench.poll() == ["FindCoordinator"]
    assert bench.poll() == []
    sent = bench.sent("FindCoordinator")
    assert sent.destination is None
    assert sent.request == ("g", 0, ("g",))
    assert bench.answer(found()) == [f"connect({NODE})"]
    assert bench.membership.coordinator == (NODE, "b", 9)


def test_join_group_says_all_that_the_group_needs():
    bench = Bench("range", "cooperative-sticky", topics=("u", "t"), max_poll_interval_ms=90_000)
    bench.start_join()
    sent = bench.sent("JoinGroup")
    assert sent.destination == (NODE, "b", 9)
    assert sent.timeout_ms == 95_000
    request = sent.request
    assert (request.group_id, request.member_id, request.protocol_type) == ("g", "", "consumer")
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (45_000, 90_000)
    assert [protocol.name for protocol in request.protocols] == ["range", "cooperative-sticky"]
    assert decode_subscription(request.protocols[0].metadata) == Subscription(("t", "u"))


@pytest.mark.parametrize(("interval_ms", "timeout_ms"), [(10_000, 30_000), (25_001, 30_001)])
def test_join_group_is_waited_for_as_long_as_it_may_take(interval_ms, timeout_ms):
    bench = Bench(max_poll_interval_ms=interval_ms)
    bench.start_join()
    assert bench.sent("JoinGroup").timeout_ms == timeout_ms


def test_the_required_member_id_is_used_at_once():
    bench = Bench()
    bench.start_join()
    bench.answer(refused(ErrorCode.MEMBER_ID_REQUIRED)["JoinGroup"])
    assert bench.poll() == ["JoinGroup(given)"]
    assert "given" in bench.sent("JoinGroup").request.reason


def test_a_follower_syncs_with_nothing():
    bench = Bench()
    bench.start_sync()
    request = bench.sent("SyncGroup").request
    assert request == ("g", 5, "m1", None, "consumer", "range", ())
    assert bench.membership.state is MemberState.COMPLETING_REBALANCE


def test_a_leader_assigns_and_syncs():
    bench = Bench()
    assert lead(bench, ("m1", wants("t")), ("m2", wants("t"))) == ["SyncGroup(m1)"]
    assert planned(bench) == {"m1": "t-0", "m2": "t-1"}
    assert bench.membership.is_leader


def test_a_leader_fetches_what_others_ask_for():
    bench = Bench()
    assert lead(bench, ("m1", wants("t")), ("m2", wants("u"))) == ["refresh(t u)"]
    assert bench.membership.watched_topics == {"t", "u"}
    bench.counts = {"t": 2, "u": 1}
    assert bench.refreshed() == ["SyncGroup(m1)"]
    assert planned(bench) == {"m1": "t-0 t-1", "m2": "u-0"}


def test_a_leader_asks_again_for_a_topic_that_is_missing():
    bench = Bench(counts={})
    assert lead(bench, ("m1", wants("t"))) == ["refresh(t)"]
    assert bench.refreshed() == ["SyncGroup(m1)"]
    assert planned(bench) == {"m1": ""}


def test_a_leader_that_cannot_fetch_metadata_joins_again_later():
    bench = Bench()
    lead(bench, ("m1", wants("t")), ("m2", wants("u")))
    bench.refreshed(NodeDisconnected())
    assert bench.story() == "wait JoinGroup(m1)"


def test_a_static_leader_that_came_back_leaves_the_assignment_alone():
    bench = Bench(group_instance_id="i")
    assert lead(bench, ("m1", wants("t")), skip_assignment=True) == ["SyncGroup(m1)"]
    assert planned(bench) == {}
    bench.answer(synced("t-1"))
    bench.poll()
    bench.done()
    bench.counts["t"] = 3
    bench.membership.metadata_changed(bench.metadata(), bench.now_ms)
    assert bench.story() == "REVOKED(t-1) assignment() JoinGroup(m1)"


def as_leader(bench: Bench) -> None:
    lead(bench, ("m1", wants("t")))
    bench.answer(synced("t-0 t-1"))
    bench.poll()
    bench.done()
    assert bench.poll() == []


CHANGES = [({"t": 2, "new": 1}, False), ({"t": 3}, True), ({}, True), ({"t": 2}, False)]


@pytest.mark.parametrize(("counts", "is_news"), CHANGES)
def test_only_a_leader_watches_partitions(counts, is_news):
    leader, follower = Bench(), Bench()
    as_leader(leader)
    follower.settle()
    for bench in (leader, follower):
        bench.counts = counts
        bench.membership.metadata_changed(bench.metadata(), bench.now_ms)
    joins = "REVOKED(t-0 t-1) assignment() JoinGroup(m1)"
    assert leader.story() == (joins if is_news else "nothing")
    assert follower.story() == "nothing"


def test_racks_matter_to_a_member_that_has_one():
    for rack, is_news in [("", False), ("r1", True)]:
        bench = Bench(client_rack=rack)
        as_leader(bench)
        moved = {"t": (frozenset({"r1"}), frozenset({"r2"}))}
        bench.membership.metadata_changed(moved, bench.now_ms)
        assert (bench.story() != "nothing") == is_news


def test_who_led_in_vain_does_not_lead_for_ever():
    bench = Bench()
    lead(bench, ("m1", wants("t")), ("m2", wants("u")))
    bench.refreshed()
    bench.answer(refused(ErrorCode.REBALANCE_IN_PROGRESS)["SyncGroup"])
    assert bench.membership.watched_topics == {"t", "u"}
    assert bench.poll() == ["JoinGroup(m1)"]
    assert bench.membership.watched_topics == {"t"}
    bench.answer(joined(generation_id=6))
    bench.answer(synced("t-0"))
    bench.poll()
    bench.done()
    assert not bench.membership.is_leader
    bench.counts["t"] = 5
    bench.membership.metadata_changed(bench.metadata(), bench.now_ms)
    assert bench.poll() == []


def test_a_new_subscription_is_joined_with():
    bench = Bench(counts={"t": 2, "u": 2})
    bench.settle()
    bench.take(bench.membership.subscription_changed(("u", "t"), bench.now_ms))
    assert bench.story() == "REVOKED(t-0 t-1) assignment() JoinGroup(m1)"
    request = bench.sent("JoinGroup").request
    assert decode_subscription(request.protocols[0].metadata).topics == ("t", "u")
    assert request.reason == "the subscription has changed"


def test_a_subscription_changed_while_joining_is_joined_with_afterwards():
    bench = Bench()
    bench.start_sync()
    bench.take(bench.membership.subscription_changed(("u",), bench.now_ms))
    bench.answer(synced("t-0"))
    # What was assigned is for the old subscription, so it is not even taken.
    assert bench.story() == "REVOKED() assignment() JoinGroup(m1)"


# -- patterns --------------------------------------------------------------------------------------


def pattern_bench(*names: str, **counts: int) -> Bench:
    bench = Bench(*names, counts=counts)
    actions = bench.membership.subscription_changed((), bench.now_ms, lambda topic: topic[0] == "t")
    bench.take(actions)
    return bench


def test_a_pattern_is_matched_against_fresh_metadata_before_each_join():
    bench = pattern_bench(t1=1)
    bench.find()
    assert bench.poll() == ["refresh(all)"]
    assert bench.poll() == []
    bench.counts |= {"t2": 1, "x": 1}
    bench.refreshed()
    assert bench.poll() == ["JoinGroup()"]
    request = bench.sent("JoinGroup").request
    assert decode_subscription(request.protocols[0].metadata).topics == ("t1", "t2")
    assert bench.membership.watched_topics is None


def test_a_pattern_waits_for_metadata_that_fails():
    bench = pattern_bench(t1=1)
    bench.find()
    bench.poll()
    bench.refreshed(NodeDisconnected())
    assert bench.story() == "wait refresh(all) JoinGroup()"


def test_a_topic_that_begins_to_match_is_joined_for():
    bench = pattern_bench(t1=1)
    bench.find()
    bench.poll()
    bench.refreshed()
    bench.poll()
    bench.answer(joined())
    bench.answer(synced("t1-0"))
    bench.poll()
    bench.done()
    bench.counts["t2"] = 1
    bench.membership.metadata_changed(bench.metadata(), bench.now_ms)
    assert bench.story() == "refresh(all) REVOKED(t1-0) assignment() JoinGroup(m1)"


def test_the_leader_may_know_a_matching_topic_first():
    bench = pattern_bench(t1=1)
    bench.find()
    bench.poll()
    bench.refreshed()
    bench.poll()
    bench.answer(joined())
    bench.answer(synced("t2-0"))
    assert bench.poll() == ["assignment(t2-0)", "ASSIGNED(t2-0)"]
    bench.done()
    assert bench.membership.subscription == {"t1", "t2"}
    assert bench.poll() == []


# -- what comes at a bad time ----------------------------------------------------------------------


def test_answers_between_polls_are_kept_for_the_next():
    bench = Bench()
    bench.start_join()
    bench.wait(60_000)
    assert bench.answer(joined()) == ["SyncGroup(m1)"]
    assert bench.answer(synced("t-0")) == []
    assert bench.membership.assignment == frozenset()
    assert bench.poll() == ["assignment(t-0)", "ASSIGNED(t-0)"]


def test_an_answer_that_is_no_longer_awaited_is_ignored():
    bench = Bench()
    bench.start_join()
    bench.take(bench.membership.coordinator_lost("gone", bench.now_ms))
    assert bench.answer(joined()) == []
    assert bench.membership.generation.generation_id == -1


def test_join_group_answered_after_a_commit_found_the_member_gone():
    bench = Bench("cooperative-sticky")
    bench.settle(protocol_name="cooperative-sticky")
    sent = bench.membership.generation
    bench.membership.request_rejoin("told to")
    bench.poll()
    bench.commit_answered(ErrorCode.UNKNOWN_MEMBER_ID, sent)
    assert bench.answer(joined(generation_id=6)) == []
    assert bench.story() == "LOST(t-0 t-1) assignment() wait JoinGroup()"


def test_sync_group_answered_after_a_heartbeat_found_the_member_gone():
    bench = Bench()
    bench.start_sync()
    sync = bench.open.pop()
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.UNKNOWN_MEMBER_ID)["Heartbeat"])
    bench.open.append(sync)
    assert bench.answer(synced("t-0")) == []
    assert bench.story() == "JoinGroup()"


def test_a_leader_whose_metadata_comes_after_its_generation_has_ended():
    bench = Bench()
    lead(bench, ("m1", wants("t")), ("m2", wants("u")))
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.ILLEGAL_GENERATION)["Heartbeat"])
    assert bench.refreshed() == []
    assert bench.story() == "JoinGroup(m1)"


def test_a_generation_counts_as_joined_when_its_assignment_has_come():
    bench = Bench("cooperative-sticky")
    bench.settle(protocol_name="cooperative-sticky")
    assert bench.membership.joined_generation.generation_id == 5
    bench.membership.request_rejoin("told to")
    bench.poll()
    bench.answer(joined(generation_id=6, protocol_name="cooperative-sticky"))
    assert bench.membership.generation.generation_id == 6
    assert bench.membership.joined_generation.generation_id == 5
    bench.answer(synced("t-0 t-1"))
    bench.poll()
    assert bench.membership.joined_generation == bench.membership.generation


def test_an_assignment_whose_generation_has_ended_is_not_taken():
    bench = Bench()
    bench.start_sync()
    bench.answer(synced("t-0"))
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.ILLEGAL_GENERATION)["Heartbeat"])
    assert bench.story() == "JoinGroup(m1)"


@pytest.mark.parametrize("fields", [{"protocol_type": "connect"}])
def test_a_group_of_another_kind_is_no_group_for_a_consumer(fields):
    bench = Bench()
    bench.start_join()
    bench.answer(joined(**fields))
    assert bench.story() == "raise INCONSISTENT_GROUP_PROTOCOL"


@pytest.mark.parametrize("fields", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}])
def test_sync_group_must_speak_of_the_same_protocol(fields):
    bench = Bench()
    bench.start_sync()
    bench.answer(synced("t-0", **fields))
    assert bench.story() == "raise INCONSISTENT_GROUP_PROTOCOL"


def test_old_brokers_do_not_name_the_protocol_type():
    bench = Bench()
    bench.start_join()
    bench.answer(joined(protocol_type=None))
    bench.answer(synced("t-0"))
    assert bench.poll()[-1] == "ASSIGNED(t-0)"


def test_an_assignment_that_cannot_be_read_is_raised_and_joined_for_again():
    bench = Bench()
    bench.start_sync()
    bench.answer(synced("t-0")._replace(assignment=b"\0"))
    assert bench.story().startswith("raise SyncGroup brought no readable assignment")
    assert bench.story() == "REVOKED() assignment() JoinGroup(m1)"


# -- trying again ----------------------------------------------------------------------------------


def waits(bench: Bench, code: ErrorCode, times: int) -> list[int]:
    """How long each JoinGroup that is answered with `code` is waited for."""
    found_ms = []
    for _ in range(times):
        asked_ms = bench.now_ms
        bench.answer(refused(code)["JoinGroup"])
        assert bench.story().endswith("JoinGroup()")
        found_ms.append(bench.now_ms - asked_ms)
    return found_ms


@pytest.mark.parametrize(
    ("dice", "expected"),
    [
        (0.0, [80, 160, 320, 640, 800, 800]),
        (0.5, [100, 200, 400, 800, 1000, 1000]),
        (1.0, [120, 240, 480, 960, 1200, 1200]),
    ],
)
def test_waits_double_up_to_the_most_with_jitter(dice, expected):
    bench = Bench(dice=dice)
    bench.start_join()
    assert waits(bench, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 6) == expected


def test_what_is_tried_again_at_once_is_not_tried_at_once_for_ever():
    bench = Bench()
    bench.start_join()
    assert waits(bench, ErrorCode.REBALANCE_IN_PROGRESS, 6) == [0, 0, 0, 800, 1000, 1000]


def test_a_member_id_is_used_at_once_however_long_it_took_to_get():
    bench = Bench()
    bench.start_join()
    waits(bench, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 5)
    bench.answer(refused(ErrorCode.MEMBER_ID_REQUIRED)["JoinGroup"])
    assert bench.poll() == ["JoinGroup(given)"]


def test_a_success_ends_the_waiting():
    bench = Bench()
    bench.start_join()
    assert waits(bench, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 4)[-1] == 800
    bench.answer(joined())
    bench.answer(synced())
    bench.poll()
    bench.done()
    bench.membership.request_rejoin("told to")
    bench.poll()
    bench.done()
    bench.poll()
    begin_ms = bench.now_ms
    bench.answer(refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)["JoinGroup"])
    assert bench.story() == "wait JoinGroup(m1)"
    assert bench.now_ms - begin_ms == 100


def test_a_coordinator_that_nobody_can_reach_is_not_looked_for_without_a_pause():
    bench = Bench()
    looked_at_ms = []
    for _ in range(6):
        assert bench.story().endswith("FindCoordinator")
        looked_at_ms.append(bench.now_ms)
        bench.answer(found())
        assert bench.story().endswith("JoinGroup()")
        bench.answer(NodeDisconnected())
    pauses = [after - before for before, after in pairwise(looked_at_ms)]
    assert pauses[-1] >= 1_000
    assert len(bench.said) < 6 * STEPS_MAX


def test_what_is_raised_is_tried_again_after_a_pause():
    bench = Bench()
    bench.start_join()
    bench.answer(refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)["JoinGroup"])
    assert bench.story() == "raise GROUP_AUTHORIZATION_FAILED"
    assert bench.story() == "wait JoinGroup()"


# -- views -----------------------------------------------------------------------------------------


def test_stats_count_rebalances_and_failures():
    bench = Bench()
    bench.start_join()
    bench.wait(500)
    bench.answer(refused(ErrorCode.REBALANCE_IN_PROGRESS)["JoinGroup"])
    bench.poll()
    bench.wait(200)
    bench.answer(joined())
    bench.answer(synced("t-0"))
    stats = bench.membership.rebalance_stats
    assert (stats.rebalances, stats.failed_rebalances) == (1, 1)
    assert (stats.rebalance_total_ms, stats.rebalance_max_ms) == (700, 700)
    assert stats.ended_ms == bench.now_ms


def test_views_of_a_settled_member():
    bench = Bench()
    bench.settle("t-0")
    membership = bench.membership
    assert membership.assignment == partitions("t-0")
    assert membership.generation == (5, "m1", "range")
    assert membership.state is MemberState.STABLE
    assert membership.subscription == membership.watched_topics == {"t"}
    assert not membership.is_leader
    assert not membership.is_leaving
