"""Odd and hostile input through a socket: the answer Kafka gives, or a clear one where it hangs."""

import struct

import pytest

from drumbeat.protocol.apis import describe_groups, heartbeat, join_group
from drumbeat.protocol.apis.describe_groups import DescribeGroupsRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.testing import Cluster
from groups.states import build
from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator, is_readable
from support.data_topics import fresh_name
from support.groups import join_request, list_groups, protocols
from support.waiting import wait_until
from support.wire import Wire, request_frame

STRING_MAX = 32_767

GROUP_IDS = {
    "unicode": "grüße, 世界",
    "beyond the basic plane": "😀",
    "right to left": "\u202eabc",
    "control characters": "a\0b\nc\x1b[31m\x7f",
    "spaces": "  ",
    "path": "../../etc/passwd",
    "quotes": "'\"`;--",
    "as long as it may be": "x" * STRING_MAX,
    "as long, in two bytes each": "é" * (STRING_MAX // 2),
    "hash of the smallest integer": "polygenelubricants",
}


@pytest.mark.parametrize("group_id", GROUP_IDS.values(), ids=GROUP_IDS)
def test_any_group_id_will_do(coordinator, group_id):
    clients = WireClients(coordinator, group_id)
    assert clients.commit(7) == 0
    (member_id,) = clients.stable("A")
    assert clients.commit(8, member_id, 1) == 0
    assert clients.heartbeat(member_id, 1) == 0
    assert clients.describe().group_id == group_id
    assert group_id in {group.group_id for group in list_groups(coordinator)}
    clients.leave(member_id)
    assert clients.committed() == {("t1", 0): 8}
    assert clients.delete() == 0
    assert clients.state == "Dead"


@pytest.mark.parametrize("version", [0, 9])
def test_group_id_that_is_not_utf_8_ends_the_connection(golden_broker, version):
    sent = request_frame(join_group.API, version, join_request("\x01\x02\x03\x04"))
    with Wire(golden_broker[0]) as wire:
        wire.send_bytes(sent.replace(b"\x01\x02\x03\x04", b"\xff\xfe\xfd\xfc"))
        assert wire.is_closed()


@pytest.mark.parametrize("version", [5, 9])
@pytest.mark.parametrize("field", ["client_id", "group_instance_id"])
def test_member_id_that_no_record_could_hold(coordinator, version, field):
    """Ids begin with these words, and have to be sent and stored."""
    clients = WireClients(coordinator, fresh_name("long-"))
    room = STRING_MAX - len("-00000000-0000-4000-8000-000000000000")
    refused = clients.join("", version, **{field: "x" * (room + 1)})
    assert (refused.error_code, refused.response.member_id) == (-1, "")
    assert clients.state == "Dead"
    longest = clients.join("", version, **{field: "x" * room})
    member_id = longest.response.member_id
    assert len(member_id) == STRING_MAX
    if field == "client_id":
        assert clients.join(member_id, version, "x" * room).error_code == 0
    assert clients.sync(member_id, 1).error_code == 0


@pytest.mark.parametrize("version", join_group.API.versions)
def test_protocol_listed_twice(coordinator, version):
    """Kafka never answers this, and its group cannot go on."""
    clients = WireClients(coordinator, fresh_name("twice-"))
    twice = protocols("range", "rr", "range")
    assert clients.join("", version, protocols=twice).error_code == 23
    assert clients.stable("A")


def test_subscription_that_announces_more_than_it_holds(coordinator):
    """Kafka never answers this either. Here it is a subscription that nobody can read."""
    clients = WireClients(coordinator, fresh_name("announces-"))
    (member_id,) = clients.stable("A", protocols=protocols("range", metadata=_announcing()))
    assert clients.heartbeat(member_id, 1) == 0
    assert clients.describe().members[0].member_metadata == _announcing()


def _announcing() -> bytes:
    return struct.pack(">hi", 0, 2**31 - 1) + b"\0\2t1"


def test_plan_for_members_that_do_not_exist(coordinator):
    group = build(coordinator, "completing")
    leader, follower = group.member_id("leader"), group.member_id("follower")
    parked = group.clients.sync(follower, 2)
    plan = {"stranger": b"s", leader: b"l"}
    assert group.clients.sync(leader, 2, plan).response.assignment == b"l"
    assert parked.response.assignment == b""
    shares = {m.member_id: m.member_assignment for m in group.clients.describe().members}
    assert shares == {leader: b"l", follower: b""}


def test_second_join_on_the_same_connection_waits_for_the_first(coordinator, golden_broker):
    """A connection has one request in progress, so the second one is not even read."""
    group = build(coordinator, "sole")
    group_id = group.clients.group_id
    with Wire(golden_broker[0], "B") as wire:
        member_id = wire.call(join_group.API, 9, join_request(group_id)).member_id
        joining = join_request(group_id, member_id)
        wire.send(join_group.API, 9, joining)
        wire.send(join_group.API, 9, joining)
        wait_until(lambda: group.state == "PreparingRebalance", 5.0, "the first one is parked")
        assert not is_readable(wire, 0.05)
        group.clients.join(group.member_id("leader"))
        answers = [wire.receive(), wire.receive()]
    assert [(answer.error_code, answer.generation_id) for answer in answers] == [(0, 2), (0, 2)]


@pytest.mark.parametrize("state", ["sole", "completing"])
def test_connections_that_close_while_parked(coordinator, state):
    """Nothing happens: who is parked has joined, or has synced."""
    group = build(coordinator, state)
    leader = group.member_id("leader")
    for number in range(20):
        if state == "sole":
            group.clients.enter(f"gone-{number}").hang_up()
        else:
            group.clients.sync(group.member_id("follower"), 2).hang_up()
    if state == "sole":
        joined = group.clients.join(leader)
        assert len(joined.response.members) == 21
    else:
        assert group.clients.sync(leader, 2).error_code == 0
    assert group.clients.heartbeat(leader, coordinator.generations[group.clients.group_id]) == 0


def test_client_that_never_reads(coordinator, golden_broker):
    """It is not read from any more either, and nobody else waits for it."""
    group = build(coordinator, "stable")
    asked = DescribeGroupsRequest((group.clients.group_id,) * 200)
    frame = request_frame(describe_groups.API, 6, asked)
    with Wire(golden_broker[0]) as deaf:
        deaf.socket.settimeout(1.0)
        with pytest.raises(TimeoutError):  # the broker takes no more of them
            deaf.send_bytes(frame * 10_000)
        for _ in range(100):
            assert group.clients.heartbeat(group.member_id("leader"), 2) == 0
        deaf.socket.settimeout(10.0)
        for _ in range(50):  # what was asked is answered as soon as it is read
            answer = deaf.receive_frame()
            described = describe_groups.API.decode_response(6)(answer, 5)
            assert len(described.groups) == 200


def test_first_requests_of_a_partition_are_served_by_one_coordinator():
    """They come while the partition is being made; whoever comes first must not be forgotten."""
    with Cluster() as cluster, WireCoordinator(cluster.bootstrap_servers) as coordinator:
        for number in range(50):
            clients = WireClients(coordinator, f"first-{number}")
            wires = [Wire(cluster.bootstrap_servers, f"c{n}") for n in range(3)]
            for wire in wires:
                wire.send(join_group.API, 9, join_request(clients.group_id))
            member_ids = [wire.receive().member_id for wire in wires]
            joins = [clients.join(member_id) for member_id in member_ids]
            assert joins[0].error_code in (0, 27)
            assert len(clients.live.members) == 3
            for wire in wires:
                wire.socket.close()


def test_heartbeats_for_nobody_make_no_groups(coordinator, golden_broker):
    before = {group.group_id for group in list_groups(coordinator)}
    with Wire(golden_broker[0]) as wire:
        for number in range(100):
            request = HeartbeatRequest(f"nobody-{number}", 1, "m")
            assert wire.call(heartbeat.API, 4, request).error_code == 25
    assert {group.group_id for group in list_groups(coordinator)} == before
