"""Each line of `wire_tables.md`, asked through a socket, at the lowest and the highest version."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from groups.states import Group, build
from support.golden import BY_NAME
from support.groups import SUBSCRIPTION, protocols

Row = dict[str, str]
PLAN = {"leader": b"\0\0LL", "follower": b"\0\0FF"}
TOO_LONG = "x" * 4097
UNKNOWN_ID = bytes([1] * 16)


def read_tables() -> dict[str, list[Row]]:
    """The lines of each table, by the heading above it."""
    tables: dict[str, list[Row]] = {}
    text = (Path(__file__).parent / "wire_tables.md").read_text()
    for section in text.split("\n## ")[1:]:
        lines = [line.strip("|").split("|") for line in section.splitlines() if line[:1] == "|"]
        names, _rule, *rows = [[cell.strip() for cell in line] for line in lines]
        tables[section.splitlines()[0]] = [dict(zip(names, row, strict=True)) for row in rows]
    return tables


TABLES = read_tables()


def versions_of(api_name: str, row: Row) -> set[int]:
    """The lowest and the highest for which the line holds."""
    first, _, last = row.get("versions", "all").replace("all", "-").partition("-")
    held = [v for v in BY_NAME[api_name].versions if int(first or 0) <= v <= int(last or 99)]
    return {held[0], held[-1]}


def each_line_of(api_name: str) -> Any:
    cases = [
        pytest.param(row, version, id=f"v{version}: {row['condition']}")
        for row in TABLES[api_name]
        for version in sorted(versions_of(api_name, row))
    ]
    return pytest.mark.parametrize(("row", "version"), cases)


def optional(word: str) -> str | None:
    return None if word == "-" else word


def partitions(cell: str) -> list[tuple[str, int]]:
    """t1-0,t2-3 -> [("t1", 0), ("t2", 3)]"""
    names = [name.replace("large", "t1-0") for name in cell.split(",") if name]
    return [(topic, int(index)) for topic, _, index in (name.rpartition("-") for name in names)]


# -- membership ----------------------------------------------------------------------------------


@each_line_of("JoinGroup")
def test_join_group(coordinator, row, version):
    group = build(coordinator, row["state"])
    member_id = group.member_id(row["member"])
    timeouts = {} if row["session"] == "-" else {"session_timeout_ms": int(row["session"])}
    names = [name for name in row["protocols"].split(",") if name]
    call = group.clients.join(
        member_id,
        version,
        group_instance_id=optional(row["instance"]),
        protocol_type=row["type"],
        protocols=protocols(*names),
        **timeouts,
    )
    if row["answer"] == "parked":
        assert call.is_parked
    else:
        answer = call.response
        code = int(row["answer"].replace("joined", "0"))
        assert answer.error_code == code
        assert echo_of(answer.member_id, member_id) == row["echo"].replace("none", "")
        assert answer.generation_id == (
            -1 if code else coordinator.generations[group.clients.group_id]
        )
        check_members(answer, is_leader=not code and answer.leader == answer.member_id)
    assert group.state == row["after"]


def echo_of(answered: str, asked: str) -> str:
    if answered == asked:
        return "same"
    return "new" if answered else ""


def check_members(answer: Any, *, is_leader: bool) -> None:
    """Only a leader is told who is in the group, with what they sent for the chosen protocol."""
    assert bool(answer.members) == is_leader
    assert all(member.metadata == SUBSCRIPTION for member in answer.members)


@each_line_of("SyncGroup")
def test_sync_group(coordinator, row, version):
    group = build(coordinator, row["state"])
    plan = {
        group.member_id(role): share for role, share in PLAN.items() if role in group.member_ids
    }
    named = {"protocol_type": optional(row["type"]), "protocol_name": optional(row["name"])}
    call = group.clients.sync(
        group.member_id(row["member"]),
        group.generation(row["generation"]),
        plan,
        version,
        group_instance_id=optional(row["instance"]),
        **(named if version >= 5 else {}),
    )
    if row["answer"] == "parked":
        assert call.is_parked
        assert group.clients.sync(group.member_id("leader"), 2, plan).error_code == 0
        assert call.response.assignment == PLAN["follower"]
        return
    answer = call.response
    expected = {"plan": PLAN["leader"].hex()}.get(row["answer"], row["answer"])
    assert (answer.assignment.hex() or str(answer.error_code)) == expected
    if version >= 5:
        is_fine = answer.error_code == 0
        assert (answer.protocol_type, answer.protocol_name) == (
            ("consumer", "range") if is_fine else (None, None)
        )


@each_line_of("Heartbeat")
def test_heartbeat(coordinator, row, version):
    group = build(coordinator, row["state"])
    error_code = group.clients.heartbeat(
        group.member_id(row["member"]),
        group.generation(row["generation"]),
        version,
        optional(row["instance"]),
    )
    assert error_code == int(row["answer"])


@each_line_of("LeaveGroup")
def test_leave_group(coordinator, row, version):
    group = build(coordinator, row["state"])
    asked = [name.partition("@") for name in row["leaving"].split(",") if name]
    leaving = [
        (group.member_id(member) if member else "", instance or None)
        for member, _, instance in asked
    ]
    answer = group.clients.leave(*leaving, version=version).response
    if version < 3:
        assert str(answer.error_code) == row["answer"]
    else:
        assert answer.error_code == 0
        assert ",".join(str(member.error_code) for member in answer.members) == row["answer"]
        assert [(m.member_id, m.group_instance_id) for m in answer.members] == leaving
    assert group.state == row["after"]


# -- offsets -------------------------------------------------------------------------------------


@each_line_of("OffsetCommit")
def test_offset_commit(coordinator, golden_broker, row, version):
    group = build(coordinator, row["state"])
    request = OffsetCommitRequest(
        group.clients.group_id,
        group.generation(row["generation"]),
        group.member_id(row["member"]),
        optional(row["instance"]) if version >= 7 else None,
        topics=tuple(
            OffsetCommitRequestTopic(
                topic,
                topic_id(golden_broker, topic),
                (OffsetCommitRequestPartition(index, 5, committed_metadata=metadata),),
            )
            for (topic, index), metadata in zip(
                partitions(row["topics"]), metadata_of(row["topics"]), strict=True
            )
        ),
    )
    answer = coordinator.send(request, version).response
    codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
    assert ",".join(map(str, codes)) == row["answer"]
    assert group.state == row["after"]
    if codes and not any(codes):
        assert group.clients.committed()[("t1", 0)] == 5


def metadata_of(cell: str) -> list[str]:
    return [TOO_LONG if name == "large" else "m" for name in cell.split(",") if name]


def topic_id(golden_broker: Any, topic: str) -> bytes:
    known = golden_broker[1]
    return known[topic].topic_id if topic in known else UNKNOWN_ID


@each_line_of("OffsetFetch")
@pytest.mark.parametrize("require_stable", [False, True], ids=["", "stable"])
def test_offset_fetch(coordinator, golden_broker, row, version, require_stable):
    group_id = build(coordinator, row["state"]).clients.group_id
    asked = None if row["topics"] == "all" else partitions(row["topics"])
    if version < 8:
        old = asked and tuple(OffsetFetchRequestTopic(topic, (index,)) for topic, index in asked)
        request = OffsetFetchRequest(group_id, () if old == [] else old)
    else:
        new = asked and tuple(
            OffsetFetchRequestTopics(topic, topic_id(golden_broker, topic), (index,))
            for topic, index in asked
        )
        wanted = OffsetFetchRequestGroup(group_id, topics=() if new == [] else new)
        request = OffsetFetchRequest(groups=(wanted,))
    answer = coordinator.send(request._replace(require_stable=require_stable), version).response
    names = {topic.topic_id: topic.name for topic in golden_broker[1].values()}
    assert fetched(answer, version, names) == row["answer"].split()


def fetched(answer: Any, version: int, names: dict[bytes, str]) -> list[str]:
    """The group's error code and what it has, as the table writes it."""
    (group,) = answer.groups if version >= 8 else (answer,)
    words = [str(group.error_code)]
    for topic in group.topics:
        name = names.get(topic.topic_id, "nope") if version >= 10 else topic.name
        for p in topic.partitions:
            code = f":{p.error_code}" if p.error_code else ""
            words.append(f"{name}-{p.partition_index}={p.committed_offset}{code}")
    return words


@each_line_of("OffsetDelete")
def test_offset_delete(coordinator, row, version):
    group = build(coordinator, row["state"])
    topics = tuple(
        OffsetDeleteRequestTopic(topic, (OffsetDeleteRequestPartition(index),))
        for topic, index in partitions(row["topics"])
    )
    request = OffsetDeleteRequest(group.clients.group_id, topics)
    answer = coordinator.send(request, version).response
    codes = ",".join(str(p.error_code) for topic in answer.topics for p in topic.partitions)
    assert f"{answer.error_code} {codes}".strip() == row["answer"]
    described = group.clients.describe()
    code = f"{described.error_code} " if described.error_code else ""
    assert code + described.group_state == row["after"]


# -- administration ------------------------------------------------------------------------------


@each_line_of("DescribeGroups")
def test_describe_groups(coordinator, row, version):
    group = build(coordinator, row["state"]).clients.describe(version)
    words = [
        str(group.error_code),
        group.group_state,
        f"'{group.protocol_type}'",
        f"'{group.protocol_data}'",
        *sorted(
            f"{'sub' if m.member_metadata == SUBSCRIPTION else ''}/{m.member_assignment.hex()}"
            for m in group.members
        ),
    ]
    assert words == row["answer"].split()


@each_line_of("DeleteGroups")
def test_delete_groups(coordinator, row, version):
    group = build(coordinator, row["state"])
    assert group.clients.delete(version) == int(row["answer"])
    assert group.state == row["after"]


# -- every request in every state ----------------------------------------------------------------

Asked = Callable[[Group], Any]


def _role(group: Group, role: str) -> str:
    return group.member_id(role if role in group.member_ids else "former")


def _delete_t1(group: Group) -> int:
    topics = (OffsetDeleteRequestTopic("t1", (OffsetDeleteRequestPartition(0),)),)
    request = OffsetDeleteRequest(group.clients.group_id, topics)
    answer = group.clients.coordinator.send(request).response
    return answer.error_code or answer.topics[0].partitions[0].error_code


def _described(group: Group) -> str:
    members = group.clients.describe().members
    if not members:
        return "no members"
    if all(member.member_metadata and member.member_assignment for member in members):
        return "full"
    return "old assignment" if members[0].member_assignment else "no assignment"


MATRIX_REQUESTS: dict[str, Asked] = {
    "Join, new member": lambda g: g.clients.enter("new"),
    "Join, leader": lambda g: g.clients.join(_role(g, "leader")),
    "Join, follower, same": lambda g: g.clients.join(_role(g, "follower")),
    "Join, follower, changed": lambda g: g.clients.join(
        _role(g, "follower"), protocols=protocols("range", "rr")
    ),
    "Sync, leader": lambda g: g.clients.sync(_role(g, "leader"), g.generation_id),
    "Sync, follower": lambda g: g.clients.sync(_role(g, "follower"), g.generation_id),
    "Heartbeat": lambda g: g.clients.heartbeat(_role(g, "follower"), g.generation_id),
    "Leave": lambda g: g.clients.leave(_role(g, "follower"), version=2),
    "OffsetCommit, member": lambda g: g.clients.commit(1, _role(g, "follower"), g.generation_id),
    "OffsetCommit, nobody": lambda g: g.clients.commit(),
    "OffsetFetch": lambda g: g.clients.fetch_all().error_code,
    "OffsetDelete, type consumer": _delete_t1,
    "OffsetDelete, other type": _delete_t1,
    "DeleteGroups": lambda g: g.clients.delete(),
    "DescribeGroups": _described,
}
MATRIX_ROWS = {row["request"]: row for row in TABLES["Matrix"]}


@pytest.mark.parametrize("state", ["empty", "preparing", "completing", "stable"])
@pytest.mark.parametrize("request_name", MATRIX_REQUESTS)
def test_matrix(coordinator, request_name, state):
    is_other = request_name == "OffsetDelete, other type"
    group = build(coordinator, f"{state} connect" if is_other else state)
    before = group.state
    result = MATRIX_REQUESTS[request_name](group)
    expected = MATRIX_ROWS[request_name][state]
    if expected.startswith("→"):
        assert group.state == expected.removeprefix("→ ") + "Rebalance"
        assert before != group.state
    elif expected == "parked":
        assert result.is_parked
    elif expected == "answer":
        assert result.error_code == 0
    else:
        assert str(getattr(result, "error_code", result)) == expected


def test_the_matrix_is_complete():
    assert MATRIX_ROWS.keys() == MATRIX_REQUESTS.keys()
