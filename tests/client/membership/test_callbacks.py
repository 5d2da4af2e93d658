"""What the application is called with, and in which order: commit, revoked, lost, assigned."""

import pytest

from client.membership.bench import Bench, joined, joined_by, refused, synced
from drumbeat.client.assignors import RangeAssignor
from drumbeat.client.assignors.port import RebalanceProtocol
from drumbeat.client.errors import (
    CommitFailedError,
    ConfigError,
    NodeDisconnected,
    RebalanceInProgressError,
)
from drumbeat.client.membership import Membership, MembershipConfig
from drumbeat.protocol.consumer_protocol import (
    Subscription,
    TopicPartitions,
    decode_subscription,
    encode_subscription,
)
from drumbeat.protocol.errors import ErrorCode

COOPERATIVE = "cooperative-sticky"


def settled(*names: str, owned: str = "t-0 t-1", **config) -> Bench:
    bench = Bench(*names, **config)
    bench.settle(owned, protocol_name=names[0] if names else "range")
    return bench


def rejoin(bench: Bench) -> list[str]:
    bench.membership.request_rejoin("told to")
    return bench.poll()


# -- before joining --------------------------------------------------------------------------------


def test_eager_members_commit_then_give_up_everything_then_join():
    bench = settled(enable_auto_commit=True)
    assert rejoin(bench) == ["pending(t-0 t-1)", "COMMIT_BEFORE_JOIN(t-0 t-1)"]
    assert bench.poll() == []
    assert bench.done() == []
    assert bench.poll() == ["REVOKED(t-0 t-1)"]
    assert bench.poll() == []
    assert len(bench.membership.assignment) == 2  # the listener may still commit
    assert bench.done() == ["assignment()"]
    assert bench.poll() == ["JoinGroup(m1)"]


def test_cooperative_members_keep_what_they_own_while_joining():
    bench = settled(COOPERATIVE, enable_auto_commit=True)
    assert rejoin(bench) == ["COMMIT_BEFORE_JOIN(t-0 t-1)"]
    bench.done()
    assert bench.poll() == ["JoinGroup(m1)"]
    request = bench.sent("JoinGroup").request
    subscription = decode_subscription(request.protocols[0].metadata)
    assert subscription.owned_partitions == (TopicPartitions("t", (0, 1)),)
    assert subscription.generation_id == 5


def test_cooperative_members_give_up_topics_they_no_longer_want():
    bench = Bench(COOPERATIVE, topics=("t", "u"), counts={"t": 1, "u": 1})
    bench.settle("t-0 u-0", protocol_name=COOPERATIVE)
    bench.take(bench.membership.subscription_changed(("u",), bench.now_ms))
    assert bench.story() == "REVOKED(t-0) assignment(u-0) JoinGroup(m1)"


def test_eager_members_hear_of_a_revocation_even_if_they_own_nothing():
    bench = settled(owned="")
    assert rejoin(bench) == ["REVOKED()"]


def test_a_first_join_has_nothing_to_give_up():
    bench = Bench(enable_auto_commit=True)
    bench.start_join()
    assert bench.said == ["FindCoordinator", "connect(7)", "JoinGroup()"]


@pytest.mark.parametrize("error", [None, CommitFailedError(), ValueError("no")], ids=repr)
def test_a_commit_that_no_retry_can_help_does_not_hold_up_the_join(error):
    bench = settled(COOPERATIVE, enable_auto_commit=True)
    rejoin(bench)
    bench.done(error)
    assert bench.poll() == ["JoinGroup(m1)"]


def test_a_commit_is_tried_again_until_the_rebalance_timeout():
    bench = settled(COOPERATIVE, enable_auto_commit=True, max_poll_interval_ms=5_000)
    begin_ms = bench.now_ms
    assert rejoin(bench) == ["COMMIT_BEFORE_JOIN(t-0 t-1)"]
    tries = 0
    while bench.poll() != ["JoinGroup(m1)"]:
        tries += 1
        bench.wait(300)
        if bench.open:
            bench.done(NodeDisconnected())
        bench.now_ms = max(bench.now_ms, bench.membership.next_poll_ms)
    assert bench.now_ms - begin_ms == 5_000
    assert 4 < tries < 12


def test_a_commit_without_an_answer_is_given_up_at_the_rebalance_timeout():
    bench = settled(COOPERATIVE, enable_auto_commit=True, max_poll_interval_ms=5_000)
    rejoin(bench)
    assert bench.membership.next_poll_ms == bench.now_ms + 5_000
    bench.wait(4_999)
    assert bench.poll() == []
    bench.wait(1)
    assert bench.poll() == ["JoinGroup(m1)"]
    assert bench.done(NodeDisconnected()) == []  # too late to matter
    assert bench.poll() == []


def test_what_is_lost_while_committing_is_lost_not_revoked():
    bench = settled(enable_auto_commit=True)
    rejoin(bench)
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.UNKNOWN_MEMBER_ID)["Heartbeat"])
    assert bench.done(CommitFailedError()) == []
    assert bench.story() == "LOST(t-0 t-1) assignment() JoinGroup()"


def test_what_is_lost_while_revoking_is_not_joined_with():
    bench = Bench(COOPERATIVE, topics=("t", "u"), counts={"t": 1, "u": 1})
    bench.settle("t-0 u-0", protocol_name=COOPERATIVE)
    bench.take(bench.membership.subscription_changed(("u",), bench.now_ms))
    assert bench.poll() == ["REVOKED(t-0)"]
    bench.start_heartbeat()
    bench.answer(refused(ErrorCode.ILLEGAL_GENERATION)["Heartbeat"])
    bench.done()
    assert bench.story() == "LOST(u-0) assignment() JoinGroup(m1)"


# -- after joining ---------------------------------------------------------------------------------


def test_the_assignment_is_set_before_the_listener_hears_of_it():
    bench = Bench()
    bench.start_sync()
    bench.answer(synced("t-1 t-0"))
    assert bench.poll() == ["assignment(t-0 t-1)", "ASSIGNED(t-0 t-1)"]
    assert not bench.membership.is_active
    bench.done()
    bench.poll()
    assert bench.membership.is_active


def test_cooperative_members_give_up_then_take_then_join_again():
    bench = Bench(COOPERATIVE, counts={"t": 4})
    bench.settle("t-0 t-1", protocol_name=COOPERATIVE)
    rejoin(bench)
    bench.answer(joined(generation_id=6, protocol_name=COOPERATIVE))
    bench.answer(synced("t-1 t-2"))
    assert bench.poll() == ["REVOKED(t-0)"]
    assert len(bench.membership.assignment) == 2
    assert bench.done() == ["assignment(t-1)"]
    assert bench.poll() == ["assignment(t-1 t-2)", "ASSIGNED(t-2)"]
    bench.done()
    assert bench.poll() == ["JoinGroup(m1)"]


def test_cooperative_members_that_give_up_nothing_stay():
    bench = settled(COOPERATIVE)
    rejoin(bench)
    bench.answer(joined(generation_id=6, protocol_name=COOPERATIVE))
    bench.answer(synced("t-0 t-1"))
    assert bench.poll() == ["assignment(t-0 t-1)", "ASSIGNED()"]
    bench.done()
    assert bench.poll() == []


def test_a_generation_lost_while_revoking_brings_no_assignment():
    bench = Bench(COOPERATIVE, counts={"t": 4})
    bench.settle("t-0 t-1", protocol_name=COOPERATIVE)
    rejoin(bench)
    bench.answer(joined(generation_id=6, protocol_name=COOPERATIVE))
    bench.answer(synced("t-1 t-2"))
    bench.poll()
    bench.commit_answered(ErrorCode.UNKNOWN_MEMBER_ID)
    bench.done()
    assert bench.story() == "LOST(t-1) assignment() JoinGroup()"


# -- callbacks that raise --------------------------------------------------------------------------


def test_what_a_listener_raises_on_revocation_is_raised_and_the_member_goes_on():
    bench = settled()
    rejoin(bench)
    assert bench.done(ValueError("mine")) == ["assignment()"]
    assert bench.poll() == ["raise mine"]
    assert bench.poll() == ["JoinGroup(m1)"]


def test_what_a_listener_raises_on_assignment_is_raised_and_the_assignment_stays():
    bench = Bench()
    bench.start_sync()
    bench.answer(synced("t-0"))
    bench.poll()
    bench.done(ValueError("mine"))
    assert bench.poll() == ["raise mine"]
    assert bench.poll() == []
    assert bench.membership.is_active
    assert len(bench.membership.assignment) == 1


class Clumsy(RangeAssignor):
    """Fails in one of the three calls that a membership makes."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def _maybe(self, where: str) -> None:
        if where == self.where:
            raise ValueError(f"bad {where}")

    def subscription_user_data(self, topics):
        self._maybe("user data")
        return super().subscription_user_data(topics)

    def assign(self, cluster, members):
        self._maybe("plan")
        return super().assign(cluster, members)

    def on_assignment(self, partitions, generation_id):
        self._maybe("news")
        super().on_assignment(partitions, generation_id)


def clumsy(where: str) -> Bench:
    bench = Bench()
    config = MembershipConfig(group_id="g", enable_auto_commit=False)
    bench.membership = Membership(config, (Clumsy(where),), dice=lambda: 0.5)
    bench.membership.metadata_changed(bench.metadata(), bench.now_ms)
    bench.membership.subscription_changed(("t",), bench.now_ms)
    bench.find()
    return bench


def test_what_an_assignor_raises_is_raised():
    bench = clumsy("user data")
    assert bench.poll() == ["raise bad user data"]
    bench = clumsy("plan")
    bench.poll()
    blob = encode_subscription(Subscription(("t",)))
    bench.answer(joined(leader="m1", members=joined_by(("m1", blob))))
    assert bench.story() == "raise bad plan"
    assert bench.story() == "wait JoinGroup(m1)"
    bench = clumsy("news")
    bench.poll()
    bench.answer(joined())
    bench.answer(synced("t-0"))
    assert bench.poll() == ["assignment(t-0)", "ASSIGNED(t-0)"]
    bench.done()
    assert bench.poll() == ["raise bad news"]


def test_a_member_with_bytes_that_nobody_can_read_is_raised_to_the_leader():
    bench = Bench()
    bench.start_join()
    bench.answer(joined(leader="m1", members=joined_by(("m1", b"\0"))))
    assert bench.story().startswith("raise Subscription of 1 bytes")


class Hasty(RangeAssignor):
    """Claims to be cooperative, and moves partitions in one step."""

    name = "hasty"
    protocols = (RebalanceProtocol.COOPERATIVE,)


def test_a_cooperative_assignor_may_not_move_partitions_in_one_step():
    bench = Bench()
    config = MembershipConfig(group_id="g", enable_auto_commit=False)
    bench.membership = Membership(config, (Hasty(),), dice=lambda: 0.5)
    bench.membership.metadata_changed(bench.metadata(), bench.now_ms)
    bench.membership.subscription_changed(("t",), bench.now_ms)
    bench.start_join()
    wants = encode_subscription(Subscription(("t",)))
    owns = encode_subscription(Subscription(("t",), None, (TopicPartitions("t", (0, 1)),)))
    members = joined_by(("m1", wants), ("m2", owns))
    bench.answer(joined(leader="m1", members=members, protocol_name="hasty"))
    assert bench.story() == (
        "raise the assignor hasty is cooperative, so it may not move partitions in one step, but "
        "it moved t-0"
    )


# -- which protocol --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "protocol"),
    [
        (["range"], RebalanceProtocol.EAGER),
        ([COOPERATIVE], RebalanceProtocol.COOPERATIVE),
        (["range", COOPERATIVE], RebalanceProtocol.EAGER),
        ([COOPERATIVE, "sticky"], RebalanceProtocol.EAGER),
    ],
)
def test_a_member_is_as_advanced_as_all_of_its_assignors(names, protocol):
    assert Bench(*names).membership.protocol is protocol


def test_assignors_without_a_common_protocol_are_refused():
    config = MembershipConfig(group_id="g")
    with pytest.raises(ConfigError, match="hasty, range have no rebalance protocol in common"):
        Membership(config, (Hasty(), RangeAssignor()), dice=lambda: 0.5)
    with pytest.raises(ConfigError, match="name at least one assignor"):
        Membership(config, (), dice=lambda: 0.5)


def test_an_assignor_that_was_not_offered_is_raised():
    bench = Bench()
    bench.start_join()
    blob = encode_subscription(Subscription(("t",)))
    members = joined_by(("m1", blob))
    bench.answer(joined(leader="m1", members=members, protocol_name="sticky"))
    assert bench.story() == "raise the coordinator chose the assignor sticky, but this has range"


# -- committing as a member ------------------------------------------------------------------------


def test_commits_are_sent_as_what_the_member_is():
    bench = Bench()
    with pytest.raises(CommitFailedError, match="not a member"):
        bench.membership.commit_generation()
    bench.start_join()
    with pytest.raises(RebalanceInProgressError, match="middle of a rebalance"):
        bench.membership.commit_generation()
    bench.answer(joined())
    with pytest.raises(RebalanceInProgressError):
        bench.membership.commit_generation()
    bench.answer(synced("t-0"))
    assert bench.membership.commit_generation() == (5, "m1", "range")
    bench.leave()
    assert bench.membership.commit_generation() == (-1, "", None)
