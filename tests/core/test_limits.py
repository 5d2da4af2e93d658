"""Odd and hostile input, and the limits that stand against it: at the limit and one past it."""

import pytest

from drumbeat.core.record_codec import encode
from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.errors import ProtocolError
from support.coordinator import Coordinator
from support.golden import answers
from support.groups import Clients, join_request, protocols

STRING_MAX = 32_767


def test_plan_too_large_to_store_sends_everybody_back_to_joining():
    measured = answers()[1320]["response"]
    group = Clients(Coordinator())
    leader, follower = group.completing("A", "B")
    parked = group.sync(follower, 2)
    refused = group.sync(leader, 2, {leader: bytes(1_200_000)})
    assert refused.error_code == measured["leader"]
    assert parked.error_code == measured["follower"]
    assert group.state == measured["GroupState"]
    joined = group.join(leader), group.join(follower)
    assert [call.response.generation_id for call in joined] == [3, 3]
    assert group.sync(leader, 3, {leader: b"small"}).response.assignment == b"small"


@pytest.mark.parametrize("excess", [0, 1])
def test_plan_at_the_limit_and_one_past_it(excess):
    group = Clients(Coordinator())
    (leader,) = group.completing("A")
    size_of_empty = 61 + 21 + sum(map(len, encode(_stored(group, leader, b""))))
    room = group.coordinator.config.offsets_batch_bytes_max - size_of_empty
    answer = group.sync(leader, 1, {leader: bytes(room + excess)})
    assert answer.error_code == (-1 if excess else 0)


def _stored(group: Clients, leader: str, assignment: bytes):
    """The record that the same group would write."""
    other = Clients(Coordinator(), group.group_id)
    (same,) = other.completing("A")
    assert same == leader
    other.sync(leader, 1, {leader: assignment})
    return other.coordinator.batches[-1][0]


def test_static_replacement_too_large_to_store_changes_nothing():
    group = Clients(Coordinator())
    large = protocols("range", metadata=bytes(600_000))
    member_id = group.join(group_instance_id="i").response.member_id
    other = group.join(group_instance_id="other", protocols=large)
    group.join(member_id, group_instance_id="i")
    group.sync(member_id, 2)
    group.sync(other.response.member_id, 2)
    refused = group.join(group_instance_id="i", protocols=large)
    assert (refused.error_code, refused.response.member_id) == (-1, "")
    assert group.heartbeat(member_id, 2, 4, "i") == 0


def test_groups_are_deleted_as_long_as_they_fit_the_batch():
    coordinator = Coordinator(offsets_batch_bytes_max=200)
    for name in ("a", "b", "c"):
        Clients(coordinator, name).commit()
    request = DeleteGroupsRequest(("a", "b", "c", "a"))
    results = coordinator.send(request).response.results
    assert results == (("a", 0), ("b", 0), ("c", -1))
    assert list(coordinator.state.groups) == ["c"]


def test_a_group_that_does_not_fit_leaves_its_room_to_others():
    coordinator = Coordinator(offsets_batch_bytes_max=300)
    long_name = "x" * 150
    for name in (long_name, "short"):
        assert Clients(coordinator, name).commit() == 0
    results = coordinator.send(DeleteGroupsRequest((long_name, "short"))).response.results
    assert results == ((long_name, -1), ("short", 0))
    assert list(coordinator.state.groups) == list(coordinator.state.offsets) == [long_name]


def test_groups_of_a_partition_are_limited():
    coordinator = Coordinator(groups_max=2)
    codes = [Clients(coordinator, f"g{n}").join().error_code for n in range(3)]
    assert codes == [79, 79, 15]
    assert Clients(coordinator, "g0").join().error_code == 79
    assert "g2" not in coordinator.state.groups


def test_pending_members_of_a_group_are_limited():
    coordinator = Coordinator(group_pending_members_max=2)
    group = Clients(coordinator)
    calls = [group.join(session_timeout_ms=6_000) for _ in range(3)]
    assert [call.error_code for call in calls] == [79, 79, 15]
    assert Clients(coordinator, "other").join().error_code == 79
    assert group.join(calls[0].response.member_id).error_code == 0
    coordinator.advance(6_000)
    assert group.join().error_code == 79


def test_parked_requests_of_a_partition_are_limited():
    coordinator = Coordinator(parked_requests_max=1, group_initial_rebalance_delay_ms=1_000)
    first, second = Clients(coordinator, "a"), Clients(coordinator, "b")
    assert first.enter(version=3).is_parked
    assert second.enter(version=3).error_code == 15
    coordinator.advance(1_000)
    assert second.enter(version=3).is_parked


@pytest.mark.parametrize("unit", ["x", "ü"])
def test_the_longest_group_id(unit):
    size = len(unit.encode())
    group = Clients(Coordinator(), unit * (STRING_MAX // size) + "x" * (STRING_MAX % size))
    assert group.join().error_code == 79
    assert group.group_id in group.coordinator.state.groups


def test_the_longest_protocol_type():
    group = Clients(Coordinator())
    fits = group.enter(protocol_type="x" * STRING_MAX)
    group.leave(fits.response.member_id)
    assert group.state == "Empty"


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol_type": "x" * (STRING_MAX + 1)},
        {"group_instance_id": "i" * (STRING_MAX + 1)},
        {"protocols": protocols("x" * (STRING_MAX + 1))},
    ],
)
def test_strings_that_no_record_can_hold_are_not_read(fields):
    """As in Kafka, which closes the connection."""
    with pytest.raises(ProtocolError):
        Clients(Coordinator()).join(**fields)


def test_member_that_no_record_can_hold_is_refused():
    group = Clients(Coordinator())
    refused = group.join(protocols=protocols("range", metadata=bytes(1_048_589)))
    assert (refused.error_code, refused.response.member_id) == (-1, "")
    assert group.coordinator.state.groups == {}


@pytest.mark.parametrize(("count", "error_code"), [(1_000, 79), (1_001, 23)])
def test_protocols_of_a_member_are_limited(count, error_code):
    group = Clients(Coordinator())
    names = [f"p{number}" for number in range(count)]
    assert group.join(protocols=protocols(*names)).error_code == error_code


def test_member_whose_new_id_no_record_can_hold_is_refused():
    """The instance id fits, the member id that is made from it does not."""
    group = Clients(Coordinator())
    refused = group.join(group_instance_id="i" * STRING_MAX)
    assert (refused.error_code, refused.response.member_id) == (-1, "")
    assert group.coordinator.state.groups == {}


@pytest.mark.parametrize("group_id", ["\x00\x1b[2J\n", "grüße 😀", "a" * 10_000, " ", "."])
def test_odd_group_ids_work(group_id):
    group = Clients(Coordinator(), group_id)
    members = group.stable("A", "B")
    assert group.heartbeat(members[1], 2) == 0
    group.coordinator.restart()
    assert group.state == "Stable"


@pytest.mark.parametrize(
    "metadata",
    [b"", b"\0", b"\0\0", b"\0\0\x7f\xff\xff\xff", b"\0\0\xff\xff\xff\xfe", b"\xff" * 40],
)
def test_metadata_that_announces_more_than_it_holds_is_an_unknown_subscription(metadata):
    group = Clients(Coordinator())
    group.stable("A", protocols=protocols("range", metadata=metadata))
    assert group.state == "Stable"
    assert group.live.subscribed_topics is None
    group.coordinator.restart()
    assert group.live.subscribed_topics is None


def test_plan_for_members_that_do_not_exist_is_dropped():
    group = Clients(Coordinator())
    (leader,) = group.completing("A")
    group.sync(leader, 1, {"stranger": b"x", leader: b"mine"})
    record = group.coordinator.batches[-1][0]
    assert [member.member_id for member in record.members] == [leader]


def test_member_named_twice_in_a_plan_gets_the_last_share():
    group = Clients(Coordinator())
    (leader,) = group.completing("A")
    shares = tuple((leader, share) for share in (b"first", b"last"))
    assert group.sync(leader, 1, assignments=shares).response.assignment == b"last"


def test_member_that_leaves_with_a_parked_sync_hears_of_it():
    """Kafka never answers that SyncGroup."""
    group = Clients(Coordinator())
    _, follower = group.completing("A", "B")
    parked = group.sync(follower, 2)
    group.leave(follower)
    assert parked.error_code == 25


def test_reason_of_a_client_is_cut_in_the_event():
    group = Clients(Coordinator())
    group.coordinator.send(join_request(reason="x" * 1_000, group_instance_id="i"))
    reasons = [e.fields.get("client_reason") for e in group.coordinator.events]
    assert reasons == ["x" * 255] * 2
