"""Whatever one group does, the others are served meanwhile. `pytest -s` shows the times."""

import asyncio
import time

from drumbeat.protocol.apis import heartbeat, join_group, list_groups
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
from groups.async_wire import AsyncWire, connect_all
from support.groups import join_request
from support.node_process import NodeProcess

GROUPS = 2_000
CONNECTIONS = 100
SESSION_MS = 8_000
BEAT_EVERY_S = 0.01
LOOK_EVERY_S = 0.2
WAIT_S_MAX = 1.0
JOIN_V_WITHOUT_IDS = 3
LONG = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}


async def join_alone(wire, group_id, **fields):
    request = join_request(group_id, **fields)
    answer = await wire.call(join_group.API, JOIN_V_WITHOUT_IDS, request)
    assert answer.error_code == 0
    return answer.member_id


async def make_groups(wire, numbers):
    """Groups of one member, which owes a SyncGroup; (group id, member id) of each."""
    made = []
    for number in numbers:
        group_id = f"expiring-{number}"
        fields = {**LONG, "session_timeout_ms": SESSION_MS}
        made.append((group_id, await join_alone(wire, group_id, **fields)))
    return made


async def beat(wire, members):
    for group_id, member_id in members:
        wire.send(heartbeat.API, 4, HeartbeatRequest(group_id, 1, member_id))
    return [(await wire.receive(heartbeat.API, 4)).error_code for _ in members]


async def longest_wait(wire, member, until):
    """Heartbeats of one member until `until` is done; how long the slowest of them took."""
    longest = 0.0
    while not until.done():
        started = time.monotonic()
        assert await beat(wire, [member]) == [0]
        longest = max(longest, time.monotonic() - started)
        await asyncio.sleep(BEAT_EVERY_S)
    return longest


async def beat_at_once(wires, members):
    shares = [members[number :: len(wires)] for number in range(len(wires))]
    codes = await asyncio.gather(*map(beat, wires, shares))
    assert {code for share in codes for code in share} == {0}


async def all_are_out(wire):
    await asyncio.sleep(SESSION_MS / 1000)
    empty = []
    while len(empty) < GROUPS:
        await asyncio.sleep(LOOK_EVERY_S)
        empty = (await wire.call(list_groups.API, 5, ListGroupsRequest(("Empty",)))).groups


async def run(servers):
    wires = await connect_all(servers, CONNECTIONS)
    shares = (range(number, GROUPS, CONNECTIONS) for number in range(CONNECTIONS))
    made = await asyncio.gather(*map(make_groups, wires, shares))
    watcher = await AsyncWire.connect(servers)
    member = ("watched", await join_alone(watcher, "watched", **LONG))
    await beat_at_once(wires, [member for share in made for member in share])
    expiry = asyncio.create_task(all_are_out(wires[0]))
    waited = await longest_wait(watcher, member, expiry)
    await expiry
    print(f"\n{GROUPS} sessions end at once: others wait {waited * 1000:.0f} ms at most")
    for wire in (watcher, *wires):
        wire.close()
    return waited


def test_sessions_that_end_at_once_do_not_hold_up_others(tmp_path):
    settings = ("group.min.session.timeout.ms=100", "group.initial.rebalance.delay.ms=0")
    options = [word for setting in settings for word in ("--set", setting)]
    with NodeProcess("--memory", *options, logs=tmp_path / "node.log") as node:
        assert asyncio.run(run(node.bootstrap_servers)) < WAIT_S_MAX
