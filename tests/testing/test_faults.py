"""Faults, as a client sees them on the wire; and that a node without them is untouched."""

import time
from datetime import timedelta

import pytest

from drumbeat.protocol.apis import heartbeat, join_group, metadata, offset_commit, produce
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.testing import Cluster
from support.data_topics import batch, create_topic, produce_request, produce_to
from support.waiting import wait_until
from support.wire import ConnectionClosed, Wire

HEARTBEAT, COMMIT, JOIN = heartbeat.API, offset_commit.API, join_group.API
UNKNOWN_MEMBER = ErrorCode.UNKNOWN_MEMBER_ID  # what a heartbeat from nobody hears


@pytest.fixture(scope="module")
def cluster():
    with Cluster(topics=["orders"]) as cluster:
        yield cluster


@pytest.fixture
def wire(cluster):
    with Wire(cluster.bootstrap_servers, client_id="c1") as wire:
        yield wire
    cluster.clear_faults()


def beat(wire, group="g", version=4):
    return wire.call(HEARTBEAT, version, HeartbeatRequest(group, 1, "m")).error_code


def commit_request(group, offset):
    partition = OffsetCommitRequestPartition(0, offset)
    return OffsetCommitRequest(
        group, topics=(OffsetCommitRequestTopic("orders", partitions=(partition,)),)
    )


def committed(cluster, group):
    return cluster.committed(group).get(("orders", 0))


# -- fail ------------------------------------------------------------------------------------------


def test_the_next_n_fail_and_then_none(cluster, wire):
    fault = cluster.fail_next("Heartbeat", "NOT_COORDINATOR", n=2)
    told = [beat(wire, version=version) for version in (0, 4, 4)]
    assert told == [ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR, UNKNOWN_MEMBER]
    assert fault.is_spent
    fault.wait(2, timeout=0)
    fault.cancel()


def test_faults_strike_in_the_order_they_were_set(cluster, wire):
    for error in ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"):
        cluster.fail_next("Heartbeat", error)
    told = [beat(wire) for _ in range(3)]
    assert told == [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, UNKNOWN_MEMBER]


def test_what_failed_was_not_done(cluster, wire):
    cluster.fail_next("OffsetCommit", ErrorCode.REBALANCE_IN_PROGRESS)
    answers = [wire.call(COMMIT, 8, commit_request("failed", 5)) for _ in range(2)]
    told = [answer.topics[0].partitions[0].error_code for answer in answers[:1]]
    assert told == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert answers[1].topics[0].partitions[0].error_code == 0
    assert committed(cluster, "failed") == 5


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ({"client_id": "c1"}, ErrorCode.NOT_COORDINATOR),
        ({"client_id": "c2"}, UNKNOWN_MEMBER),
        ({"group": "g"}, ErrorCode.NOT_COORDINATOR),
        ({"group": "other"}, UNKNOWN_MEMBER),
        ({"client_id": "c1", "group": "other"}, UNKNOWN_MEMBER),
    ],
)
def test_only_those_who_are_meant(cluster, wire, target, told):
    cluster.fail_next("Heartbeat", "NOT_COORDINATOR", **target)
    assert beat(wire) == told


def test_without_an_end_until_it_is_cancelled(cluster, wire):
    with cluster.fail_next("Heartbeat", "NOT_COORDINATOR", n=None) as fault:
        assert {beat(wire) for _ in range(5)} == {ErrorCode.NOT_COORDINATOR}
        assert fault.hits == 5
    assert beat(wire) == UNKNOWN_MEMBER


@pytest.mark.parametrize("version", [0, 1, 4, 9, 12, 13])
@pytest.mark.parametrize("names", [("orders", "new"), None])
def test_failed_metadata_still_tells_the_brokers(cluster, wire, version, names):
    asked = None if names is None else tuple(MetadataRequestTopic(name=name) for name in names)
    cluster.fail_next("Metadata", "LEADER_NOT_AVAILABLE")
    body = MetadataRequest(topics=(asked if version else asked or ()))
    answer = wire.call(metadata.API, version, body)
    assert [broker.node_id for broker in answer.brokers] == [1]
    told = {topic.name: topic.error_code for topic in answer.topics}
    assert told["orders"] == ErrorCode.LEADER_NOT_AVAILABLE
    assert names is None or set(told) == set(names)


def test_a_failed_request_without_an_answer_closes_the_connection(cluster, wire):
    topic = create_topic(wire)
    cluster.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
    wire.send(produce.API, 9, produce_request(topic, batch(b"a"), acks=0))
    assert wire.is_closed()
    assert cluster.end_offsets(topic.name) == {0: 0}


# -- drop ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("processed", "offset"), [(False, None), (True, 7)])
def test_a_dropped_answer_closes_the_connection(cluster, wire, processed, offset):
    group = cluster.new_group("dropped")
    cluster.drop_next("OffsetCommit", processed=processed)
    with pytest.raises(ConnectionClosed):
        wire.call(COMMIT, 8, commit_request(group, 7))
    assert committed(cluster, group) == offset


def test_silence(cluster, wire):
    cluster.drop_next("Heartbeat", silent=True)
    wire.socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        beat(wire)
    with Wire(cluster.bootstrap_servers) as other:
        assert beat(other) == UNKNOWN_MEMBER


def test_a_silent_connection_can_be_closed_by_both(cluster):
    with Cluster() as own, Wire(own.bootstrap_servers) as wire:
        fault = own.drop_next("Heartbeat", silent=True, processed=True)
        wire.send(HEARTBEAT, 4, HeartbeatRequest("g", 1, "m"))
        fault.wait()


# -- delay -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0.15, timedelta(milliseconds=150)])
def test_a_delayed_answer_comes_late(cluster, wire, delay):
    cluster.delay_next("Heartbeat", delay)
    began_s = time.monotonic()
    assert beat(wire) == UNKNOWN_MEMBER
    assert time.monotonic() - began_s >= 0.14


def test_what_is_answered_late_is_done_at_once(cluster, wire):
    group = cluster.new_group("delayed")
    cluster.delay_next("OffsetCommit", timedelta(hours=1))
    wire.send(COMMIT, 8, commit_request(group, 3))
    wait_until(lambda: committed(cluster, group) == 3, 10, "the commit")


def test_a_delayed_answer_that_nobody_waits_for(cluster):
    with Wire(cluster.bootstrap_servers) as wire:
        fault = cluster.delay_next("Heartbeat", 0.05)
        wire.send(HEARTBEAT, 4, HeartbeatRequest("g", 1, "m"))
        fault.wait()
    with Wire(cluster.bootstrap_servers) as other:
        assert beat(other) == UNKNOWN_MEMBER


# -- watching --------------------------------------------------------------------------------------


def test_requests_are_recorded_as_they_came(cluster, wire):
    with cluster.record("Heartbeat", group="g") as heartbeats:
        beat(wire)
        beat(wire, group="other")
        beat(wire, version=0)
    beat(wire)
    told = [(r.api, r.version, r.client_id, r.body.member_id) for r in heartbeats.requests]
    assert told == [("Heartbeat", 4, "c1", "m"), ("Heartbeat", 0, "c1", "m")]
    assert heartbeats.hits == 2


def test_a_fault_and_a_recording_of_the_same_requests(cluster, wire):
    cluster.fail_next("Heartbeat", "NOT_COORDINATOR")
    with cluster.record("Heartbeat") as heartbeats:
        assert [beat(wire), beat(wire)] == [ErrorCode.NOT_COORDINATOR, UNKNOWN_MEMBER]
    assert heartbeats.hits == 2


def test_a_wait_that_ends_in_vain_says_what_came(cluster, wire):
    fault = cluster.fail_next("Heartbeat", "NOT_COORDINATOR", client_id="c2")
    beat(wire)
    with pytest.raises(
        TimeoutError, match=r"0 of 1 Heartbeat client_id='c2'.*Heartbeat v4 of 'c1'"
    ):
        fault.wait(timeout=0.01)


def test_faults_outlive_a_restart():
    with Cluster() as cluster:
        cluster.fail_next("Heartbeat", "NOT_COORDINATOR", n=2)
        for _ in range(2):
            with Wire(cluster.bootstrap_servers) as wire:
                assert beat(wire) == ErrorCode.NOT_COORDINATOR
            cluster.restart()


def test_a_node_without_faults_has_its_own_handlers(cluster, wire):
    """Whatever was set before: nothing of it is left in the way of a request."""
    own = dict(cluster.node.dispatcher._handlers)
    cluster.fail_next("Heartbeat", "NOT_COORDINATOR")
    cluster.record("Produce").cancel()
    assert cluster.node.dispatcher._handlers != own
    beat(wire)
    produce_to(wire, create_topic(wire), batch(b"a"))
    assert cluster.node.dispatcher._handlers == own


# -- wrong names -----------------------------------------------------------------------------------

WRONG = [
    (lambda c: c.fail_next("HeartBeat", "NOT_COORDINATOR"), "did you mean 'Heartbeat'"),
    (lambda c: c.fail_next("offsetcommit", "NOT_COORDINATOR"), "did you mean 'OffsetCommit'"),
    (lambda c: c.drop_next("Quux"), "unknown API 'Quux'; there are: .*Heartbeat"),
    (lambda c: c.delay_next("EndTxn", 1), "EndTxn is not served"),
    (lambda c: c.record("Heartbeats"), "did you mean 'Heartbeat'"),
    (lambda c: c.fail_next("Fetch", "NOT_LEADER"), "NOT_LEADER_OR_FOLLOWER|did you mean"),
    (lambda c: c.fail_next("Fetch", "NONE"), "unknown error 'NONE'"),
    (lambda c: c.fail_next("Fetch", "CORRUPT_MESSAGE", n=0), "at least 1"),
    (lambda c: c.unload_coordinator("g", answering="CORRUPT_MESSAGE"), "NOT_COORDINATOR or"),
    (lambda c: c.wait_for("g", state="stable"), "did you mean 'Stable'"),
    (lambda c: c.wait_for_event("g", "member_expire"), "did you mean 'member_expired'"),
    (lambda c: c.fast_forward(timedelta(seconds=-1)), "does not go back"),
    (lambda c: c.create_topic("orders"), "TOPIC_ALREADY_EXISTS"),
]


@pytest.mark.parametrize(("ask", "message"), WRONG)
def test_a_name_that_does_not_exist_is_told_with_those_that_do(cluster, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(cluster)


def test_a_topic_that_does_not_exist(cluster):
    with pytest.raises(LookupError, match="unknown topic 'order'; did you mean 'orders'"):
        cluster.end_offsets("order")
