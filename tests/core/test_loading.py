"""What a restart forgets and what it keeps; what becomes of those who wait when a partition goes.

Numbers are rows of tests/golden/answers.jsonl.
"""

import pytest
from support.coordinator import Coordinator
from support.golden import answers
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
    group = Clients(Coordinator())
    group.stable("A", "B", protocols=protocols("range", "rr"))
    before = group.describe()
    group.coordinator.restart()
    assert group.describe() == before


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
