"""Many members and many groups on one node, with the times it took (`pytest -s` shows them)."""

import asyncio
import time
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from drumbeat.protocol.apis import heartbeat, join_group, leave_group, list_groups, sync_group
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
from drumbeat.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groups.async_wire import AsyncWire, connect_all
from support.groups import join_request
from support.node_process import NodeProcess

MEMBERS = 1_000
GROUPS = 10_000
PAIRS_AT_ONCE = 200
HEARTBEATS_IN_FLIGHT = 50
LONG = {"session_timeout_ms": 120_000, "rebalance_timeout_ms": 120_000}

JOIN_V = 9
JOIN_V_WITHOUT_IDS = 3  # one step instead of two
SYNC_V = 4
BEAT_V = 4
GENERATION = 2  # in which both members of a small group are


@pytest.fixture
def start_node(tmp_path):
    """A node that waits so long for more members before the first rebalance of a group."""
    with ExitStack() as nodes:

        def start(delay_ms):
            setting = f"group.initial.rebalance.delay.ms={delay_ms}"
            node = NodeProcess("--memory", "--set", setting, logs=tmp_path / "node.log")
            return nodes.enter_context(node)

        yield start


@contextmanager
def measured(what, node):
    process = psutil.Process(node.pid)
    started, cpu = time.monotonic(), sum(process.cpu_times()[:2])
    yield
    cpu = sum(process.cpu_times()[:2]) - cpu
    resident = process.memory_info().rss >> 20
    print(f"\n{what}: {time.monotonic() - started:.1f} s, node {cpu:.1f} s CPU, {resident} MiB")


# -- one large group -----------------------------------------------------------------------------


class LargeGroup:
    """Members with a connection each."""

    def __init__(self, wires):
        self.wires = wires
        self.member_ids = [""] * len(wires)
        self.generation_id = 0

    async def enter(self, number):
        request = join_request("large", **LONG)
        first = await self.wires[number].call(join_group.API, JOIN_V, request)
        assert first.error_code == 79
        self.member_ids[number] = first.member_id

    async def join(self, number):
        request = join_request("large", self.member_ids[number], **LONG)
        return await self.wires[number].call(join_group.API, JOIN_V, request)

    async def settle(self, numbers):
        """All of them join and sync; the number of the leader."""
        answers = await asyncio.gather(*(self.join(number) for number in numbers))
        assert {answer.error_code for answer in answers} == {0}
        assert len({(answer.generation_id, answer.leader) for answer in answers}) == 1
        self.generation_id = answers[0].generation_id
        told = [answer for answer in answers if answer.members]
        assert [len(answer.members) for answer in told] == [len(numbers)]
        plan = tuple(
            SyncGroupRequestAssignment(member.member_id, f"for {member.member_id}".encode())
            for member in told[0].members
        )
        synced = await asyncio.gather(
            *(
                self.sync(number, plan if self.member_ids[number] == told[0].leader else ())
                for number in numbers
            )
        )
        shares = {share.assignment for share in synced}
        assert shares == {f"for {self.member_ids[number]}".encode() for number in numbers}
        return self.member_ids.index(told[0].leader)

    async def sync(self, number, plan):
        member_id = self.member_ids[number]
        request = SyncGroupRequest("large", self.generation_id, member_id, assignments=plan)
        return await self.wires[number].call(sync_group.API, SYNC_V, request)

    async def heartbeat(self, number):
        request = HeartbeatRequest("large", self.generation_id, self.member_ids[number])
        return (await self.wires[number].call(heartbeat.API, BEAT_V, request)).error_code


async def run_large_group(node):
    servers = node.bootstrap_servers
    with measured(f"{MEMBERS} connections", node):
        group = LargeGroup(await connect_all(servers, MEMBERS))
    everybody = range(MEMBERS)
    with measured(f"{MEMBERS} members join, first generation", node):
        await asyncio.gather(*(group.enter(number) for number in everybody))
        leader = await group.settle(everybody)
    left = next(number for number in everybody if number != leader)
    leaving = LeaveGroupRequest("large", members=(MemberIdentity(group.member_ids[left]),))
    await group.wires[left].call(leave_group.API, 5, leaving)
    others = [number for number in everybody if number != left]
    codes = await asyncio.gather(*(group.heartbeat(number) for number in others))
    assert set(codes) == {27}
    with measured("one leaves, the others settle again", node):
        assert await group.settle(others) == leader
    assert group.generation_id == 2
    codes = await asyncio.gather(*(group.heartbeat(number) for number in others))
    assert set(codes) == {0}
    for wire in group.wires:
        wire.close()


def test_a_thousand_members(start_node):
    asyncio.run(run_large_group(start_node(500)))


# -- many small groups ---------------------------------------------------------------------------


async def join(wire, group_id, member_id=""):
    request = join_request(group_id, member_id, **LONG)
    answer = await wire.call(join_group.API, JOIN_V_WITHOUT_IDS, request)
    assert answer.error_code == 0
    return answer


async def make_group(pair, group_id):
    """Two members of one generation; their ids."""
    first, second = pair
    leader = (await join(first, group_id)).member_id
    joining = asyncio.create_task(join(second, group_id))
    while (await join(first, group_id, leader)).generation_id < GENERATION:
        pass  # the other one has not been heard of yet
    member_ids = [leader, (await joining).member_id]
    plan = tuple(SyncGroupRequestAssignment(member_id, b"share") for member_id in member_ids)
    for wire, member_id in zip(pair, member_ids, strict=True):
        request = SyncGroupRequest(group_id, GENERATION, member_id, assignments=plan)
        assert (await wire.call(sync_group.API, SYNC_V, request)).assignment == b"share"
    return member_ids


async def make_groups(pair, group_ids, members):
    while group_ids:
        group_id = group_ids.pop()
        members.extend((group_id, member_id) for member_id in await make_group(pair, group_id))


async def heartbeat_all(servers, members):
    """All on one connection, some at a time; how many answers were not 0."""
    wire = await AsyncWire.connect(servers)
    failed = 0
    for start in range(0, len(members), HEARTBEATS_IN_FLIGHT):
        some = members[start : start + HEARTBEATS_IN_FLIGHT]
        for group_id, member_id in some:
            wire.send(heartbeat.API, BEAT_V, HeartbeatRequest(group_id, GENERATION, member_id))
        for _ in some:
            failed += (await wire.receive(heartbeat.API, BEAT_V)).error_code != 0
    wire.close()
    return failed


async def run_many_groups(node):
    servers = node.bootstrap_servers
    group_ids = [f"group-{number}" for number in range(GROUPS)]
    members = []
    with measured(f"{GROUPS} groups of 2 members form", node):
        wires = await connect_all(servers, 2 * PAIRS_AT_ONCE)
        pairs = zip(wires[::2], wires[1::2], strict=True)
        await asyncio.gather(*(make_groups(pair, group_ids, members) for pair in pairs))
    assert len(members) == 2 * GROUPS
    with measured(f"{len(members)} heartbeats on 4 connections", node):
        quarters = [members[number::4] for number in range(4)]
        failed = await asyncio.gather(*(heartbeat_all(servers, some) for some in quarters))
    assert failed == [0, 0, 0, 0]
    wire = await AsyncWire.connect(servers)
    with measured("ListGroups", node):
        answer = await wire.call(list_groups.API, 5, ListGroupsRequest(("Stable",)))
    assert len(answer.groups) == GROUPS
    for used in (wire, *wires):
        used.close()


@pytest.mark.timeout(300)  # a machine that is busy otherwise takes its time
def test_ten_thousand_groups(start_node):
    asyncio.run(run_many_groups(start_node(0)))
