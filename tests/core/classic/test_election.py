"""Who leads, and which protocol wins. Numbers are rows of tests/golden/answers.jsonl."""

import re

import pytest

from drumbeat.protocol.java_hash import hash_map_order
from support.coordinator import Coordinator
from support.golden import answers
from support.groups import Clients, protocols

LISTS = re.compile(r"\[([^]]*)\]")


def chosen(*lists: list[str]) -> str:
    """The protocol of a group whose members list these, the leader first."""
    group = Clients(Coordinator())
    calls = []
    for number, names in enumerate(lists):
        calls.append((group.enter(f"m{number}", protocols=protocols(*names)), names))
        for call, earlier in calls[:-1]:
            group.join(call.response.member_id, protocols=protocols(*earlier))
    name: str = calls[-1][0].response.protocol_name
    return name


@pytest.mark.parametrize("row", [*range(492, 522), 523])
def test_vote(row):
    lists = [names.split(",") for names in LISTS.findall(answers()[row]["precondition"])]
    assert len(lists) == 2
    assert chosen(*lists) == answers()[row]["response"]["ProtocolName"]


def test_majority_beats_map_order():
    lists = (["range", "rr"], ["range", "rr"], ["rr", "range"])
    assert chosen(*lists) == answers()[522]["response"]["ProtocolName"]


def test_protocol_listed_twice_is_refused_where_kafka_never_answers():
    assert answers()[859]["response"]["_answered"] is False
    group = Clients(Coordinator())
    assert group.join(protocols=protocols("range", "range")).error_code == 23
    assert group.state == "Empty"


@pytest.mark.parametrize("count", [5, 12, 13, 40])
def test_members_come_in_map_order_and_the_first_of_them_inherits(count):
    """Row 1318: the leader's list, DescribeGroups, and the leader after the leader has left."""
    group = Clients(Coordinator())
    members = group.stable(*(f"client-{number}" for number in range(count)))
    size = 16 if count <= 12 else 32 if count <= 24 else 64
    in_order = hash_map_order(members, size)
    assert [member.member_id for member in group.describe().members] == in_order
    leader = group.join(members[0])
    calls = [group.join(member_id) for member_id in members[1:]]
    assert [member.member_id for member in leader.response.members] == in_order
    group.leave(members[0])
    heir = next(member_id for member_id in in_order if member_id != members[0])
    calls = [group.join(member_id) for member_id in members[1:]]
    assert {call.response.leader for call in calls} == {heir}


def test_leader_that_stayed_away_is_succeeded_by_the_first_that_joined():
    """Row 1319."""
    group = Clients(Coordinator())
    members = group.stable(*"ABCDE")
    joining = members[2:]
    calls = [group.join(m, protocols=protocols("range", "x")) for m in joining]
    group.coordinator.advance(10_000)
    assert {call.response.leader for call in calls} == {hash_map_order(joining, 16)[0]}
    assert len(group.live.members) == 3


def test_table_of_members_does_not_shrink():
    """As Java's map, which keeps the buckets that it once needed."""
    group = Clients(Coordinator())
    members = group.stable(*(f"client-{number}" for number in range(13)))
    group.leave(*members[3:])
    calls = [group.join(member_id) for member_id in members[:3]]
    listed = [member.member_id for member in calls[0].response.members]
    assert listed == hash_map_order(members[:3], 32)
