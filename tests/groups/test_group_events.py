"""`__group_events`: what happened to groups and why, for any consumer to read."""

import json

import pytest

from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.protocol.consumer_protocol import Subscription, encode_subscription
from drumbeat.protocol.java_hash import partition_for
from groups.group_events import kinds, read_events
from groups.libraries import LIBRARIES
from groups.members import Fleet
from groups.restarts import Bounced
from groups.states import build
from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator
from support.data_topics import fresh_name
from support.groups import protocols
from support.waiting import wait_until


def await_events(clients: WireClients, *wanted: str) -> list[dict]:
    """The group's events, once these are the last of them."""
    servers, group_id = clients.coordinator.bootstrap_servers, clients.group_id
    seen: list[dict] = []

    def have_come() -> bool:
        seen[:] = read_events(servers, group_id)
        return kinds(seen)[-len(wanted) :] == list(wanted)

    try:
        wait_until(have_come, 5.0, f"{wanted} happen to {group_id}")
    except AssertionError:
        raise AssertionError(f"expected {wanted}, there are {kinds(seen)}") from None
    return seen[-len(wanted) :]


def facts(event: dict, *names: str) -> list:
    return [event[name] for name in names]


@pytest.fixture
def clients(coordinator):
    return WireClients(coordinator, fresh_name("events-"))


def test_first_generation(clients):
    (member_id,) = clients.stable("A")
    joined, begun, completed = await_events(
        clients, "member_joined", "rebalance_begun", "rebalance_completed"
    )
    identity = [member_id, None, "A", "/127.0.0.1"]
    names = ("member_id", "group_instance_id", "client_id", "client_host")
    assert facts(joined, *names) == identity
    assert facts(begun, "reason", *names) == ["member_joined", *identity]
    generation = ("generation_id", "members", "protocol", "leader")
    assert facts(completed, *generation) == [1, 1, "range", member_id]
    assert 0 <= completed["join_ms"] < 5_000
    assert 0 <= completed["sync_ms"] < 5_000
    assert begun["at_ms"] <= completed["at_ms"]


def test_a_member_leaves_and_says_why(clients):
    leader, follower = clients.stable("A", "B")
    leaving = MemberIdentity(follower, reason="the work is done")
    clients.coordinator.send(LeaveGroupRequest(clients.group_id, members=(leaving,)), 5)
    left, begun = await_events(clients, "member_left", "rebalance_begun")
    assert facts(left, "member_id", "client_reason") == [follower, "the work is done"]
    assert begun["reason"] == "member_left"
    clients.join(leader, client_id="A")
    clients.leave(leader)
    *_, completed = await_events(
        clients, "rebalance_failed", "rebalance_begun", "rebalance_completed"
    )
    assert facts(completed, "members", "leader") == [0, None]


def test_a_session_ends(clients):
    (member_id,) = clients.stable("A", session_timeout_ms=150)
    expired, begun, completed = await_events(
        clients, "member_expired", "rebalance_begun", "rebalance_completed"
    )
    assert facts(expired, "member_id", "reason") == [member_id, "session_timeout"]
    assert begun["reason"] == "session_timeout"
    assert completed["members"] == 0


def test_a_rebalance_is_given_up(clients):
    (member_id,) = clients.completing("A")
    changed = protocols("range", "rr")
    clients.join(member_id, client_id="A", protocols=changed, reason="new subscription")
    failed, begun = await_events(clients, "rebalance_failed", "rebalance_begun")
    assert facts(failed, "generation_id", "reason") == [1, "member_changed_protocols"]
    assert facts(begun, "reason", "client_reason") == [
        "member_changed_protocols",
        "new subscription",
    ]


def test_a_static_member_is_replaced_and_fenced(clients):
    (old,) = clients.enter_static("i1")
    clients.sync(old, 1)
    new = clients.join("", group_instance_id="i1").response.member_id
    (replaced,) = await_events(clients, "member_replaced")
    assert facts(replaced, "member_id", "group_instance_id") == [new, "i1"]
    assert replaced["replaced_member_id"] == old
    assert clients.heartbeat(old, 1, 4, "i1") == 82
    (fenced,) = await_events(clients, "member_fenced")
    assert facts(fenced, "member_id", "group_instance_id") == [old, "i1"]


def test_an_administrator_resets_and_deletes(coordinator):
    clients = build(coordinator, "empty").clients  # has had a member, and has committed 1
    clients.commit(9)
    *_, reset = await_events(clients, "offsets_reset", "offsets_reset")
    what = ("topic", "partition", "previous_offset", "committed_offset", "client_id")
    assert facts(reset, *what) == ["t1", 0, 1, 9, "cl"]
    topics = (OffsetDeleteRequestTopic("t1", (OffsetDeleteRequestPartition(0),)),)
    coordinator.send(OffsetDeleteRequest(clients.group_id, topics))
    (deleted,) = await_events(clients, "offsets_deleted")
    assert facts(deleted, *what) == ["t1", 0, 9, None, "cl"]
    clients.delete()
    await_events(clients, "group_deleted")


def test_partitions_are_loaded_and_unloaded(tmp_path):
    partition = partition_for("g", 50)

    def told() -> list[tuple[str, int]]:
        events = [e for e in read_events(broker.servers, "") if e["partition"] == partition]
        return [(event["type"], event["records"]) for event in events]

    with Bounced(tmp_path) as broker:
        broker.clients("g").commit()
        broker.restart()
        expected = [("partition_loaded", 0), ("partition_unloaded", 0), ("partition_loaded", 1)]
        wait_until(lambda: told() == expected, 5.0, "the partition is loaded again")


@pytest.mark.clients
@pytest.mark.parametrize("library", LIBRARIES)
def test_any_consumer_reads_them(golden_broker, library):
    """Like any topic, in a group that is itself told about."""
    servers = golden_broker[0]
    with WireCoordinator(servers) as coordinator:
        clients = WireClients(coordinator, fresh_name("read-"))
        clients.stable("A")
        await_events(clients, "rebalance_completed")
    with Fleet(servers, fresh_name("reader-")) as fleet:
        fleet.add(LIBRARIES[library], topics=("__group_events",))
        fleet.await_owners([("__group_events", 0)])
        wait_until(lambda: len(fleet.ledger.records) >= 3, 10.0, "events are read")


def test_values_are_json_that_any_reader_takes(coordinator):
    """Whatever a group is called, and whatever its members call themselves."""
    clients = WireClients(coordinator, 'odd"\n\\ grüße 😀')
    metadata = encode_subscription(Subscription(("t1",)), 0)
    clients.enter('"}\u2028', protocols=protocols("range", metadata=metadata))
    joined, _ = await_events(clients, "member_joined", "rebalance_begun")
    assert facts(joined, "group_id", "client_id") == [clients.group_id, '"}\u2028']
    assert json.loads(json.dumps(joined)) == joined
