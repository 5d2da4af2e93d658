"""What each request is answered in each state, at its lowest and at its highest version."""

import pytest
from support.coordinator import Call, Coordinator
from support.groups import Clients, protocols

STATES = ("Empty", "Preparing", "Completing", "Stable", "Dead")

# Numbers are error codes; "->" means that a rebalance begins and the request waits for its end;
# "parked" that it waits without one beginning; "ok" that it is accepted.
MATRIX = """
request              Empty  Preparing  Completing  Stable  Dead
join new             ->     parked     ->          ->      15
join leader same     25     parked     ok          ->      15
join follower same   25     parked     ok          ok      15
join changed         25     parked     ->          ->      15
sync follower        25     27         parked      ok      15
sync leader          25     27         ok          ok      15
heartbeat            25     27         ok          ok      15
leave                25     ok         ok          ok      15
commit member        25     ok         27          ok      15
commit outside       ok     25         25          25      15
delete               ok     68         68          68      69
"""

VERSIONS = {
    "join": (0, 9),
    "sync": (0, 5),
    "heartbeat": (0, 4),
    "leave": (0, 5),
    "commit": (2, 9),
    "delete": (0, 2),
}

CASES = [
    (request, version, state, answer)
    for request, *row in (line.rsplit(maxsplit=5) for line in MATRIX.strip().splitlines()[1:])
    for state, answer in zip(STATES, row, strict=True)
    for version in VERSIONS[request.split()[0]]
]


def group_in(state: str) -> tuple[Clients, str, str, int]:
    """A group of a leader and a follower; both are former members where it is Empty."""
    group = Clients(Coordinator())
    if state == "Completing":
        leader, follower = group.completing("A", "B")
    elif state == "Preparing":
        leader, follower = group.stable("A", "B")
        group.join("", 3, "D")  # a third one has joined, the two have not
    else:
        leader, follower = group.stable("A", "B")
    if state == "Empty":
        group.leave(leader, follower)
    if state == "Dead":
        group.coordinator.unload()
    return group, leader, follower, 2


def ask(request: str, version: int, scene: tuple[Clients, str, str, int]) -> Call | int:
    group, leader, follower, generation_id = scene
    match request.split():
        case ["join", "new"]:
            return group.enter("E", version)
        case ["join", "leader", "same"]:
            return group.join(leader, version)
        case ["join", "follower", "same"]:
            return group.join(follower, version)
        case ["join", "changed"]:
            return group.join(follower, version, protocols=protocols("range", "x"))
        case ["sync", who]:
            return group.sync(leader if who == "leader" else follower, generation_id, {}, version)
        case ["heartbeat"]:
            return group.heartbeat(follower, generation_id, version)
        case ["leave"]:
            response = group.leave(follower, version=version).response
            return response.members[0].error_code if response.members else response.error_code
        case ["commit", "member"]:
            return group.commit(1, follower, generation_id, version)
        case ["commit", "outside"]:
            return group.commit(1, version=version)
        case _:
            return group.delete(version)


def outcome_of(answer: Call | int, rebalances: int, group: Clients) -> str:
    if isinstance(answer, int):
        return str(answer) if answer else "ok"
    began = sum(e.type == "rebalance_begun" for e in group.coordinator.events) > rebalances
    if began:
        return "->"
    if answer.is_parked:
        return "parked"
    return str(answer.error_code) if answer.error_code else "ok"


@pytest.mark.parametrize(("request_", "version", "state", "expected"), CASES)
def test_matrix(request_, version, state, expected):
    scene = group_in(state)
    group = scene[0]
    before = sum(e.type == "rebalance_begun" for e in group.coordinator.events)
    answer = ask(request_, version, scene)
    assert outcome_of(answer, before, group) == expected


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("version", [0, 6])
def test_describe_in_every_state(state, version):
    group, leader, follower, _ = group_in(state)
    described = group.describe(version)
    if state == "Dead":
        assert (described.group_state, described.members) == ("Dead", ())
        return
    assert described.group_state.startswith(state)
    members = {m.member_id: m for m in described.members}
    assert (leader in members) == (state != "Empty")
    assert bool(described.protocol_data) == (state == "Stable")
    assert all(bool(m.member_metadata) == (state == "Stable") for m in members.values())
    if state in ("Preparing", "Stable"):
        assert members[follower].member_assignment == b"\0\0BB"


def test_every_state_is_covered():
    assert len(CASES) == 11 * 5 * 2
