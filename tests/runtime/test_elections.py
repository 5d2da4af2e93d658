"""Loads and unloads of a partition that overtake each other: the last call wins, always."""

import asyncio
from contextlib import asynccontextmanager
from itertools import product

import pytest

from drumbeat.log.errors import AppendFailed, LogFull
from drumbeat.log.memory import MemoryStore
from drumbeat.log.store import LocalStore
from drumbeat.protocol.apis import heartbeat, join_group, sync_group
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from drumbeat.protocol.apis.sync_group import SyncGroupRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.coordinator.loader import load
from drumbeat.runtime.coordinator.shard import ACTIVE, Shard
from support.coordinating import GROUP, broker_on, commit_offset, fetch, loaded, submit

LOAD, UNLOAD = "load", "unload"
ORDERS = [order for count in range(1, 5) for order in product((LOAD, UNLOAD), repeat=count)]


class Stage:
    """A broker whose shards are all remembered, and the calls about its one partition."""

    def __init__(self, broker, made):
        self.broker = broker
        self._made = made

    @property
    def active(self):
        return [shard for shard in self._made if shard.state is ACTIVE]

    def call(self, what, ready=None):
        groups = self.broker.groups
        wait = ready.wait() if ready else asyncio.sleep(0)
        return asyncio.ensure_future(groups.load(0, wait) if what == LOAD else self._unload(wait))

    async def _unload(self, wait):
        wait.close()
        await self.broker.groups.unload(0)

    async def turns(self, count):
        """Of the event loop; whatever is on its way, one shard at most is at work."""
        for _ in range(count):
            await asyncio.sleep(0)
            assert len(self.active) <= 1

    async def check(self, last_call, offset):
        """The last call has won, and what is served is what the log says."""
        if last_call == UNLOAD:
            assert await fetch(self.broker) == ("NOT_COORDINATOR", None)
            assert not self.active
            return
        assert await fetch(self.broker) == ("NONE", offset)
        (shard,) = self.active
        assert shard.view.offsets == load(shard.partition.log).state.offsets


@asynccontextmanager
async def stage_of(kind, directory):
    made = []

    def new_shard(index, partition, environment):
        made.append(Shard(index, partition, environment))
        return made[-1]

    store = LocalStore(directory) if kind == "local" else MemoryStore()
    if kind == "local":
        await store.open()
    async with broker_on(store, new_shard) as broker:
        yield Stage(broker, made)


async def started_together(stage, order):
    await asyncio.gather(*map(stage.call, order))


async def one_after_the_other(stage, order):
    for what in order:
        await stage.call(what)


def turns_apart(count):
    async def schedule(stage, order):
        calls = []
        for what in order:
            calls.append(stage.call(what))
            await stage.turns(count)
        await asyncio.gather(*calls)

    return schedule


async def ready_in_reverse(stage, order):
    gates = [asyncio.Event() for _ in order]
    calls = [stage.call(what, gate) for what, gate in zip(order, gates, strict=True)]
    await stage.turns(1)
    for gate in reversed(gates):
        gate.set()
        await stage.turns(5)
    await asyncio.gather(*calls)


SCHEDULES = {
    "together": started_together,
    "one after the other": one_after_the_other,
    "a turn apart": turns_apart(1),
    "three turns apart": turns_apart(3),
    "ten turns apart": turns_apart(10),
    "ready in reverse": ready_in_reverse,
}


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("kind", ["memory", "local"])
def test_the_last_of_loads_and_unloads_wins_in_every_order(kind, schedule, tmp_path):
    async def scenario():
        async with stage_of(kind, tmp_path) as stage:
            for number, order in enumerate(ORDERS):
                await stage.call(LOAD)
                assert await commit_offset(stage.broker, number) == "NONE"
                await schedule(stage, order)
                await loaded(stage.broker)
                await stage.check(order[-1], number)

    asyncio.run(scenario())


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_what_was_not_synced_is_lost_or_served_but_never_forgotten(schedule):
    """A commit is under way while the partition goes from hand to hand."""

    async def scenario():
        async with stage_of("memory", None) as stage:
            for number, order in enumerate(ORDERS, 1):
                await stage.call(LOAD)
                in_flight = asyncio.ensure_future(commit_offset(stage.broker, number))
                await asyncio.sleep(0)
                await schedule(stage, order)
                assert await in_flight in ("NONE", "NOT_COORDINATOR")
                await loaded(stage.broker)
                await stage.check(order[-1], number)

    asyncio.run(scenario())


# -- those who wait ------------------------------------------------------------------------------

JOIN = JoinGroupRequest(
    GROUP, 30_000, 30_000, "", None, "consumer", (JoinGroupRequestProtocol("range", b""),)
)


async def answers(broker):
    """As names of error codes, by what was asked."""
    asked = {
        "join": submit(broker, join_group.API, JOIN, 3),
        "sync": submit(broker, sync_group.API, SyncGroupRequest(GROUP, 1, "m"), 3),
        "heartbeat": submit(broker, heartbeat.API, HeartbeatRequest(GROUP, 1, "m"), 3),
    }
    answered = {what: ErrorCode((await one).error_code).name for what, one in asked.items()}
    return answered | {"commit": await commit_offset(broker, 9), "fetch": (await fetch(broker))[0]}


AWAY = dict.fromkeys(("join", "sync", "heartbeat", "commit", "fetch"), "NOT_COORDINATOR")
LOADING = dict.fromkeys(AWAY, "COORDINATOR_LOAD_IN_PROGRESS") | {
    "sync": "REBALANCE_IN_PROGRESS",  # docs/protocol-support.md
    "heartbeat": "NONE",
}


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
def test_what_is_asked_meanwhile_gets_kafkas_answers(order):
    async def scenario():
        async with stage_of("memory", None) as stage:
            assert await commit_offset(stage.broker, 1) == "NONE"
            gate = asyncio.Event()
            calls = []
            for what in order:
                calls.append(stage.call(what, gate))
                await stage.turns(2)
                assert await answers(stage.broker) == (LOADING if what == LOAD else AWAY)
            gate.set()
            await asyncio.gather(*calls)
            await stage.check(order[-1], 1)

    asyncio.run(scenario())


@pytest.mark.parametrize("what", [LOAD, UNLOAD])
def test_members_and_commits_that_wait_are_sent_away_at_once(what):
    async def scenario():
        store = MemoryStore()
        async with broker_on(store) as broker:
            assert await commit_offset(broker, 1) == "NONE"
            store.faults.hold_syncs()
            in_flight = asyncio.ensure_future(commit_offset(broker, 2))
            parked = asyncio.ensure_future(submit(broker, join_group.API, JOIN, 3))
            await asyncio.sleep(0)
            assert not parked.done()
            assert not in_flight.done()
            call = Stage(broker, []).call(what)
            told = await in_flight, ErrorCode((await parked).error_code).name
            store.faults.release_syncs()
            await call
            return told

    assert asyncio.run(scenario()) == ("NOT_COORDINATOR", "NOT_COORDINATOR")


@pytest.mark.parametrize(
    ("error", "served"), [(LogFull, ("NONE", 1)), (AppendFailed, ("NOT_COORDINATOR", None))]
)
def test_a_disk_that_fails_under_a_load_leaves_nothing_half(error, served):
    async def scenario():
        store = MemoryStore()
        async with broker_on(store) as broker:
            assert await commit_offset(broker, 1) == "NONE"
            store.faults.hold_syncs()
            store.faults.fail_next_sync(error)
            in_flight = asyncio.ensure_future(commit_offset(broker, 2))
            await asyncio.sleep(0)
            call = Stage(broker, []).call(LOAD)
            assert await in_flight == "NOT_COORDINATOR"
            store.faults.release_syncs()
            await call
            return await fetch(broker)

    assert asyncio.run(scenario()) == served


# -- the first requests, and the last ------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ((UNLOAD,), "NOT_COORDINATOR"),
        ((LOAD,), "COORDINATOR_LOAD_IN_PROGRESS"),
        ((LOAD, UNLOAD), "NOT_COORDINATOR"),
        ((UNLOAD, LOAD), "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
@pytest.mark.parametrize("turns", range(4))
def test_the_first_request_to_a_partition_does_not_outlive_what_comes_after(turns, order, answer):
    async def scenario():
        async with stage_of("memory", None) as stage:
            first = asyncio.ensure_future(commit_offset(stage.broker, 1))
            await stage.turns(turns)
            gate = asyncio.Event()
            calls = [stage.call(what, gate) for what in order]
            await stage.turns(1)
            assert await first == answer
            gate.set()
            await asyncio.gather(*calls)
            assert (await fetch(stage.broker))[0] == ("NONE" if order[-1] == LOAD else answer)
            assert len(stage.active) == (order[-1] == LOAD)

    asyncio.run(scenario())


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
def test_a_load_about_the_end_of_a_node_serves_nothing(is_late):
    async def scenario():
        async with stage_of("memory", None) as stage:
            assert await commit_offset(stage.broker, 1) == "NONE"
            calls = [] if is_late else [stage.call(LOAD, asyncio.Event()), stage.call(LOAD)]
            await stage.turns(2)
            await stage.broker.groups.stop()
            await asyncio.gather(*calls, *([stage.call(LOAD)] if is_late else []))
            assert await fetch(stage.broker) == ("COORDINATOR_NOT_AVAILABLE", None)
            assert not stage.active

    asyncio.run(scenario())
