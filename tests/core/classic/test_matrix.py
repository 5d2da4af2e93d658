"""What each request is answered in each state, at its lowest and at its highest version."""

from collections.abc import Callable
from typing import NamedTuple

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
    (name, version, state, answer)
    for name, *row in (line.rsplit(maxsplit=5) for line in MATRIX.strip().splitlines()[1:])
    for state, answer in zip(STATES, row, strict=True)
    for version in VERSIONS[name.split()[0]]
]


class Pair(NamedTuple):
    """A leader and a follower in generation 2; former members where their group is Empty."""

    group: Clients
    leader: str
    follower: str


def pair_in(state: str) -> Pair:
    group = Clients(Coordinator())
    form = group.completing if state == "Completing" else group.stable
    leader, follower = form("A", "B")
    if state == "Preparing":
        group.join("", 3, "D")  # a third one has joined, the two have not
    if state == "Empty":
        group.leave(leader, follower)
    if state == "Dead":
        group.coordinator.unload()
    return Pair(group, leader, follower)


def leave(pair: Pair, version: int) -> int:
    response = pair.group.leave(pair.follower, version=version).response
    return response.members[0].error_code if response.members else response.error_code


CHANGED = protocols("range", "x")

REQUESTS: dict[str, Callable[[Pair, int], Call | int]] = {
    "join new": lambda pair, v: pair.group.enter("E", v),
    "join leader same": lambda pair, v: pair.group.join(pair.leader, v),
    "join follower same": lambda pair, v: pair.group.join(pair.follower, v),
    "join changed": lambda pair, v: pair.group.join(pair.follower, v, protocols=CHANGED),
    "sync follower": lambda pair, v: pair.group.sync(pair.follower, 2, {}, v),
    "sync leader": lambda pair, v: pair.group.sync(pair.leader, 2, {}, v),
    "heartbeat": lambda pair, v: pair.group.heartbeat(pair.follower, 2, v),
    "leave": leave,
    "commit member": lambda pair, v: pair.group.commit(1, pair.follower, 2, v),
    "commit outside": lambda pair, v: pair.group.commit(1, version=v),
    "delete": lambda pair, v: pair.group.delete(v),
}


def rebalances(group: Clients) -> int:
    return sum(event.type == "rebalance_begun" for event in group.coordinator.events)


def outcome_of(answer: Call | int, has_begun: bool) -> str:
    if isinstance(answer, int):
        return str(answer or "ok")
    if has_begun:
        return "->"
    return "parked" if answer.is_parked else str(answer.error_code or "ok")


@pytest.mark.parametrize(("name", "version", "state", "expected"), CASES)
def test_matrix(name, version, state, expected):
    pair = pair_in(state)
    before = rebalances(pair.group)
    answer = REQUESTS[name](pair, version)
    assert outcome_of(answer, rebalances(pair.group) > before) == expected


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("version", [0, 6])
def test_describe_in_every_state(state, version):
    pair = pair_in(state)
    described = pair.group.describe(version)
    members = {member.member_id: member for member in described.members}
    assert described.group_state.startswith(state)
    assert (pair.leader in members) == (state not in ("Empty", "Dead"))
    assert bool(described.protocol_data) == (state == "Stable")
    assert all(bool(m.member_metadata) == (state == "Stable") for m in members.values())
    if state in ("Preparing", "Stable"):
        assert members[pair.follower].member_assignment == b"\0\0BB"


def test_every_state_is_covered():
    assert len(CASES) == len(REQUESTS) * len(STATES) * 2
