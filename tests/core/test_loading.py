"""What a restart forgets and what it keeps; what becomes of those who wait when a partition goes.

Numbers are rows of tests/golden/answers.jsonl.
"""

import pytest

from drumbeat.core.classic_records import GroupMetadataValue, MemberMetadataValue
from drumbeat.core.record_codec import encode
from drumbeat.core.records import GroupMetadataRecord, MemberMetadata
from drumbeat.protocol.compiler import encoder
from support.coordinator import Coordinator
from support.golden import Scene, answers
from support.groups import Clients, protocols


def code(row: int) -> int:
    return answers()[row]["response"]["ErrorCode"]


def stable(group: Clients) -> None:
    group.stable("A", "B")


def empty(group: Clients) -> None:
    group.leave(*group.stable("A"))


def only_pending(group: Clients) -> None:
    group.join()


def completing_first(group: Clients) -> None:
    group.completing("A")


def completing_first_with_parked_sync(group: Clients) -> None:
    _, follower = group.completing("A", "B")
    group.sync(follower, 2)


def completing_second(group: Clients) -> None:
    leader, follower = group.stable("A", "B")
    group.join(leader)
    group.join(follower)


def preparing(group: Clients) -> None:
    group.preparing("A", "B")


def static(group: Clients) -> None:
    member_id = group.join(group_instance_id="i").response.member_id
    group.sync(member_id, 1)


def simple(group: Clients) -> None:
    group.commit()


RESTARTS = [
    (1438, stable),
    (1440, empty),
    (1441, only_pending),
    (1442, completing_first),
    (1443, completing_second),
    (1444, preparing),
    (1445, completing_first_with_parked_sync),
    (1446, static),
    (1447, simple),
]


@pytest.mark.parametrize(("row", "scene"), RESTARTS)
def test_state_before_and_after_a_restart(row, scene):
    group = Clients(Coordinator())
    scene(group)
    assert f"group {group.state} before" in answers()[row]["precondition"]
    group.coordinator.restart()
    assert group.state == answers()[row]["response"]["after_restart"]


def test_stable_group_is_restored_with_members_and_assignments():
    scene = Scene(Coordinator())
    group = Clients(scene.coordinator, "r-stable")
    names = [member["MemberId"] for member in answers()[1450]["response"]["Groups"][0]["Members"]]
    members = group.stable("A", "B", protocols=protocols("range", "rr"))
    for name, member_id in zip(sorted(names), members, strict=True):
        scene.know(name, member_id)
    scene.check(1450)
    scene.coordinator.restart()
    scene.check(1450)


@pytest.mark.parametrize("version", range(5))
def test_group_record_of_any_version_is_loaded(version):
    """Rows 1459-1463: hand-written records, one per version, each with a member."""
    golden = answers()[1459 + version]["response"]["DescribeGroups"]
    (member,) = golden["Members"]
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=7,
        protocol="range",
        leader="m-1",
        members=(
            MemberMetadataValue(
                member_id="m-1",
                group_instance_id=member["GroupInstanceId"],
                client_id="cid",
                client_host="/1.2.3.4",
                session_timeout=10_000,
                subscription=b"sub",
                assignment=b"asg",
            ),
        ),
    )
    encode_value = encoder(GroupMetadataValue, version, version >= 4)
    group = Clients(Coordinator())
    key = b"\0\2\0\1g"
    group.coordinator.log.append((key, version.to_bytes(2, "big") + encode_value(value)))
    group.coordinator.restart()
    described = group.describe()
    assert described.group_state == golden["GroupState"]
    assert described.members[0] == (
        member["MemberId"],
        member["GroupInstanceId"],
        member["ClientId"],
        member["ClientHost"],
        bytes.fromhex(member["MemberMetadata"]),
        bytes.fromhex(member["MemberAssignment"]),
    )
    assert group.heartbeat("m-1", 7) == 0


def test_restored_member_is_known_by_its_chosen_protocol_only():
    """So a follower that joins with its full list has changed it (row 1451)."""
    group = Clients(Coordinator())
    _, follower = group.stable("A", "B", protocols=protocols("range", "rr"))
    assert not group.join(follower, protocols=protocols("range", "rr")).is_parked
    group.coordinator.restart()
    parked = group.join(follower, protocols=protocols("range", "rr"))
    assert parked.is_parked == answers()[1451]["response"]["_parked"]


def test_sessions_start_in_full_after_a_load():
    group = Clients(Coordinator())
    group.stable("A", session_timeout_ms=3_000)
    group.coordinator.advance(2_900)
    group.coordinator.restart()
    group.coordinator.advance(2_999)
    assert group.state == "Stable"
    group.coordinator.advance(1)
    assert group.state == "Empty"


def test_generation_in_progress_falls_back_to_the_one_before():
    measured = answers()[1453]["response"]
    group = Clients(Coordinator())
    leader, follower = group.stable("A", "B")
    group.join(leader)
    joined = group.join(follower)
    assert joined.response.generation_id == 3
    group.coordinator.restart()
    assert group.heartbeat(leader, 2) == measured["generation n"]
    assert group.heartbeat(leader, 3) == measured["generation n+1"]


def loaded_with_generation(generation_id: int) -> Clients:
    group = Clients(Coordinator())
    member = MemberMetadata("m", None, "cl", "/h", 10_000, 10_000, b"", b"")
    record = GroupMetadataRecord("g", "consumer", generation_id, "range", "m", 0, (member,))
    group.coordinator.log.append(encode(record))
    group.coordinator.restart()
    return group


LARGEST, SMALLEST = 2**31 - 1, -(2**31)


def test_after_the_largest_generation_comes_the_smallest():
    """As Java counts; Apache Kafka 4.3.1, given the same record, answers the same."""
    group = loaded_with_generation(LARGEST)
    assert group.heartbeat("m", LARGEST) == 0
    assert group.join("m").response.generation_id == SMALLEST
    assert group.sync("m", SMALLEST, {"m": b"A"}).response.assignment == b"A"
    for generation_id, error_code in {SMALLEST: 0, LARGEST: 22, -1: 22}.items():
        assert group.heartbeat("m", generation_id) == error_code
        assert group.commit(1, "m", generation_id) == error_code
    assert group.commit() == 25
    group.coordinator.restart()
    assert group.join("m").response.generation_id == SMALLEST + 1


def test_a_group_that_empties_after_the_largest_generation_can_be_written():
    group = loaded_with_generation(LARGEST)
    group.leave("m")
    assert group.coordinator.state.groups["g"].generation_id == SMALLEST
    assert group.commit() == 0
    assert group.enter().response.generation_id == SMALLEST + 1


def test_pending_id_is_forgotten():
    group = Clients(Coordinator())
    pending = group.join().response.member_id
    group.coordinator.restart()
    assert group.join(pending).error_code == code(1454)


def test_members_added_meanwhile_are_forgotten():
    group = Clients(Coordinator())
    (leader,) = group.stable("A")
    added = group.enter("B")
    group.join(leader)
    group.coordinator.restart()
    assert group.heartbeat(added.response.member_id, 2) == 25


def test_oversized_group_rebalances_at_once():
    measured = answers()[1032]["response"]
    group = Clients(Coordinator())
    leader, follower = group.stable("A", "B")
    group.coordinator.restart(group_max_size=1)
    assert group.state == measured["GroupState"]
    assert group.heartbeat(leader, 2) == measured["Heartbeat"]
    assert group.join(leader).is_parked
    assert group.join(follower).error_code == code(1033)
    group.coordinator.advance(10_000)
    assert [m.member_id for m in group.describe().members] == [leader]


def test_parked_requests_are_sent_to_the_new_coordinator():
    coordinator = Coordinator()
    joining, syncing = Clients(coordinator, "j"), Clients(coordinator, "s")
    (leader,) = joining.stable("A")
    parked_join = joining.enter("B")
    _, follower = syncing.completing("A", "B")
    parked_sync = syncing.sync(follower, 2)
    coordinator.unload()
    assert parked_join.error_code == code(1392) == code(1419)
    assert parked_join.response.member_id.startswith("B-")
    assert parked_sync.error_code == code(1393) == code(1420)
    coordinator.restart()
    measured = answers()[1394]["response"]
    assert joining.heartbeat(leader, 1) == measured["new leader"]
    assert joining.state == measured["GroupState"]


def test_group_record_with_members_but_without_protocol_or_leader_is_served():
    """No Kafka writes this, but it can be read: it must not bring the partition down."""
    members = tuple(
        MemberMetadata(name, "same", "c", "/h", 5_000, 5_000, b"sub", b"") for name in ("m1", "m2")
    )
    record = GroupMetadataRecord("g", "consumer", 3, None, None, -1, members)
    group = Clients(Coordinator(checks=False))
    group.coordinator.log.append(encode(record))
    group.coordinator.restart()
    assert [member.member_metadata for member in group.describe().members] == [b"sub", b"sub"]
    assert group.live.leader == "m1"
    assert group.heartbeat("m1", 3) == 0
    assert group.join("m2").error_code == 23  # it is not known to speak anything
    group.coordinator.advance(5_000)
    assert group.state == "Empty"
