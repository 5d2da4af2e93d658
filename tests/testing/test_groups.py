"""What a test sees of groups, and what time and the coordinator's absence do to them."""

from datetime import timedelta

import pytest

from drumbeat.protocol.consumer_protocol import Assignment, TopicPartitions, encode_assignment
from drumbeat.protocol.errors import ErrorCode
from drumbeat.testing import Cluster
from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
SESSION = 10 * SECOND  # of the members that WireClients makes
SHARE = encode_assignment(Assignment((TopicPartitions("t1", (0, 2)),)))


@pytest.fixture(scope="module")
def shared():
    with Cluster(topics={"t1": 4}) as cluster:
        yield cluster


@pytest.fixture
def own():
    with Cluster(topics={"t1": 4}) as cluster:
        yield cluster


class Group:
    """Member A, alone in generation 1 with t1-0 and t1-2, behind a socket."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.group_id = cluster.new_group("g")
        self.clients = WireClients(WireCoordinator(cluster.bootstrap_servers), self.group_id)
        self.member_id = self.clients.enter("A").response.member_id
        self.clients.sync(self.member_id, 1, {self.member_id: SHARE}).response  # noqa: B018

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.clients.coordinator.__exit__(None, None, None)

    @property
    def seen(self):
        return self.cluster.group(self.group_id)

    def types(self) -> list[str]:
        return [event.type for event in self.cluster.events(self.group_id)]


# -- what is seen ----------------------------------------------------------------------------------


def test_a_group_is_seen_as_it_is(shared):
    with Group(shared) as group:
        seen = shared.wait_for(group.group_id, "Stable", members=1)
        assert (seen.state, seen.generation_id, seen.protocol) == ("Stable", 1, "range")
        assert seen.leader == group.member_id
        (member,) = seen.members
        assert (member.client_id, member.client_host) == ("A", "/127.0.0.1")
        assert seen.owners == {("t1", 0): "A", ("t1", 2): "A"}
        assert seen.assignment == {group.member_id: {("t1", 0), ("t1", 2)}}


def test_a_group_that_is_gone_or_never_was_is_dead(shared):
    assert (shared.group("nobody").state, shared.group("nobody").members) == ("Dead", ())


def test_an_assignment_that_is_no_consumers_is_no_partitions(shared):
    with Group(shared) as group:
        group.clients.join(group.member_id, client_id="A").response  # noqa: B018
        group.clients.sync(group.member_id, 2, {group.member_id: b"?"}).response  # noqa: B018
        assert group.seen.members[0].partitions == frozenset()


def test_commits_and_lag(shared):
    with Group(shared) as group:
        assert group.clients.commit(0, group.member_id, 1) == ErrorCode.NONE
        assert shared.committed(group.group_id) == {("t1", 0): 0}
        assert shared.lag(group.group_id) == {("t1", 0): 0}


def test_events_tell_who_what_and_why(shared):
    with Group(shared) as group:
        shared.expire_member(group.group_id, member_id=group.member_id)
        joined, begun, completed, expired, *_ = shared.events(group.group_id)
        assert (joined.type, joined.client_id) == ("member_joined", "A")
        assert (begun.type, begun.reason) == ("rebalance_begun", "member_joined")
        assert (completed.type, completed.generation_id) == ("rebalance_completed", 1)
        assert completed.fields["members"] == 1
        assert (expired.type, expired.member_id) == ("member_expired", group.member_id)
        assert "member_expired" in str(expired)
        assert joined.at <= expired.at
        again = shared.wait_for_event(group.group_id, "rebalance_completed", n=2)
        assert again.fields["members"] == 0


def test_a_wait_that_ends_in_vain_says_what_was_seen(shared):
    with Group(shared) as group:
        seen = r"(?s)not Stable with 2 members within 0.01 s; it is Stable, generation 1, A .*owns "
        with pytest.raises(TimeoutError, match=seen + "t1-0, t1-2.*rebalance_completed"):
            shared.wait_for(group.group_id, "Stable", members=2, timeout=0.01)
        with pytest.raises(
            TimeoutError, match=r"(?s)fewer than 1 member_left.*rebalance_completed"
        ):
            shared.wait_for_event(group.group_id, "member_left", timeout=0.01)
    with pytest.raises(TimeoutError, match=r"it is Dead.*groups that are known: g-"):
        shared.wait_for("nobody", members=1, timeout=0.01)


# -- members ---------------------------------------------------------------------------------------


def test_an_expired_member_is_unknown(shared):
    with Group(shared) as group:
        gone = shared.expire_member(group.group_id, client_id="A")
        assert gone.member_id == group.member_id
        assert group.seen.state == "Empty"
        assert group.clients.heartbeat(group.member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_is_named_wrong(shared):
    with Group(shared) as group:
        with pytest.raises(LookupError, match=r"no member with client_id 'B'; it is Stable.*A \("):
            shared.expire_member(group.group_id, client_id="B")
        with pytest.raises(TypeError, match="one of the two"):
            shared.expire_member(group.group_id)
        with pytest.raises(LookupError, match="has no member"):
            shared.expire_member("nobody", member_id="m")


def test_a_member_that_waits_has_no_session_to_end(shared):
    with Group(shared) as group:
        waiting = group.clients.enter("B")
        assert waiting.is_parked  # for A to join again
        group.clients.join(group.member_id, client_id="A").response  # noqa: B018
        follower = waiting.response.member_id
        group.clients.sync(follower, 2)  # parked until the leader has synced
        with pytest.raises(RuntimeError, match=r"waits for the answer.*CompletingRebalance"):
            shared.expire_member(group.group_id, member_id=follower)


# -- the coordinator -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answering", "commit"),
    [("NOT_COORDINATOR", "NOT_COORDINATOR"), ("COORDINATOR_LOAD_IN_PROGRESS",) * 2],
)
def test_what_clients_hear_while_it_is_away_and_what_it_knows_afterwards(own, answering, commit):
    with Group(own) as group:
        group.clients.commit(5, group.member_id, 1)
        own.unload_coordinator(group.group_id, answering=answering)
        assert ErrorCode(group.clients.commit(6, group.member_id, 1)).name == commit
        own.reload_coordinator(group.group_id)
        assert own.committed(group.group_id) == {("t1", 0): 5}
        assert group.seen.generation_id == 1
        assert group.clients.heartbeat(group.member_id, 1) == ErrorCode.NONE


def test_from_away_to_loading_and_back(own):
    with Group(own) as group:
        for answering in ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"):
            own.unload_coordinator(group.group_id, answering=answering)
            assert ErrorCode(group.clients.commit(6, group.member_id, 1)).name == answering
        own.reload_coordinator(group.group_id)
        own.reload_coordinator(group.group_id)
        assert group.clients.commit(6, group.member_id, 1) == ErrorCode.NONE


def test_who_waits_in_a_rebalance_is_sent_away(own):
    with Group(own) as group:
        waiting = group.clients.enter("B")
        assert waiting.is_parked
        own.unload_coordinator(group.group_id)
        assert waiting.error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("answering", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_cluster_can_stop_and_restart_without_its_coordinator(own, answering):
    with Group(own) as group:
        own.unload_coordinator(group.group_id, answering=answering)
    own.restart()
    own.wait_for(group.group_id, "Stable")
    own.unload_coordinator(group.group_id, answering=answering)


def test_clearing_the_faults_brings_every_coordinator_back(own):
    with Group(own) as first, Group(own) as second:
        own.unload_coordinator(first.group_id)
        own.unload_coordinator(second.group_id, answering="COORDINATOR_LOAD_IN_PROGRESS")
        own.clear_faults()
        assert {first.seen.state, second.seen.state} == {"Stable"}


def test_a_group_that_never_was_can_be_away(own):
    with own.coordinator_unloaded("new"):
        pass
    assert own.group("new").state == "Dead"


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passed", "state"),
    [(SESSION - SECOND, "Stable"), (SESSION + SECOND, "Empty")],
)
def test_sessions_end_in_time(own, passed, state):
    with Group(own) as group:
        group.clients.commit(5, group.member_id, 1)  # or nothing would keep an empty group
        own.fast_forward(passed)
        assert group.seen.state == state


def test_time_passes_for_many_groups_in_many_partitions(own):
    """More partitions than a node looks at in one turn of its loop."""
    groups = [Group(own) for _ in range(40)]
    for group in groups:
        group.clients.commit(5, group.member_id, 1)
    own.fast_forward(SESSION + SECOND)
    assert {group.seen.state for group in groups} == {"Empty"}
    for group in groups:
        group.__exit__()


def test_a_heartbeat_in_between_keeps_a_session(own):
    with Group(own) as group:
        for _ in range(5):
            own.fast_forward(SESSION - SECOND)
            assert group.clients.heartbeat(group.member_id, 1) == ErrorCode.NONE


@pytest.mark.parametrize(("after_session", "offsets"), [(-SECOND, 1), (SECOND, 0)])
def test_offsets_age_from_when_the_group_became_empty(own, after_session, offsets):
    """In one jump: the session ends on the way, and the week begins there."""
    with Group(own) as group:
        group.clients.commit(5, group.member_id, 1)
        own.fast_forward(SESSION + 7 * DAY + after_session)
        assert len(own.committed(group.group_id)) == offsets
        assert group.seen.state == ("Empty" if offsets else "Dead")
        assert ("group_deleted" in group.types()) is not bool(offsets)


def test_a_rebalance_ends_without_those_who_do_not_come(own):
    with Group(own) as group:
        waiting = group.clients.enter("B")
        assert waiting.is_parked
        own.fast_forward(SESSION + SECOND)
        assert waiting.response.generation_id == 2
        assert [member.client_id for member in group.seen.members] == ["B"]


def test_time_passes_for_what_is_written_too(own):
    own.fast_forward(365 * DAY)
    with Group(own) as group:
        (joined, *_) = own.events(group.group_id)
        stored = own.node.broker.clock.now_ms() / 1000
        assert abs(joined.at.timestamp() - stored) < 3600
