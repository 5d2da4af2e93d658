"""The compaction-replay matrix: every life of groups, under every shape of compaction, loads equal.

Logs are written through both adapters and compacted by them; the coordinator's loader reads them.
The shapes include compaction while the log is being read and tombstones that are already gone.
"""

import asyncio
from contextlib import asynccontextmanager
from itertools import chain

import pytest

from drumbeat.core.state import Group, State
from drumbeat.log import memory_compaction
from drumbeat.log.memory import MemoryStore
from drumbeat.log.port import UNLIMITED_BUDGET, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.runtime.coordinator.loader import load
from support.coordinator import Coordinator
from support.offsets_log import (
    DAY_MS,
    LIVES,
    RECORDED,
    SETTINGS,
    TIMESTAMP,
    Interrupted,
    Pass,
    batch,
    shapes,
    write,
)


@asynccontextmanager
async def memory_logs():
    store = MemoryStore()
    yield lambda number: store.acquire(TopicPartition("offsets", number), SETTINGS)
    await store.close()


def load_live(name):
    """What the coordinator that wrote it holds in memory, and what it wrote."""
    coordinator = Coordinator()
    LIVES[name](coordinator)
    return coordinator.state, [batch(*facts) for facts in coordinator.batches]


async def load_whole(batches):
    async with memory_logs() as logs:
        log = await logs(0)
        await write(log, batches, ())
        return load(log).state


SCENARIOS = {name: load_live(name) for name in LIVES}
SCENARIOS |= {name: (asyncio.run(load_whole(log)), log) for name, log in RECORDED.items()}
NAMES = pytest.mark.parametrize("name", SCENARIOS)


def is_replay(loaded, live):
    """The same, but a simple group without offsets may be missing.

    Its commits alone said that it is there, and compaction leaves none of them. Apache Kafka 4.3.1
    too lists such a group until it is stopped, and after a restart only if its log was not
    compacted.
    """
    sure = {*loaded.groups, *live.offsets, *chain(*live.pending_offsets.values())}
    groups = live.groups.items()
    told = {group_id: group for group_id, group in groups if group_id in sure or group != Group()}
    return loaded == with_groups(live, told)


def with_groups(state, groups):
    return State(groups, state.offsets, state.pending_offsets)


@NAMES
def test_every_shape_of_compaction_loads_as_the_live_state(name):
    live, batches = SCENARIOS[name]

    async def scenario():
        fruitful = 0
        async with memory_logs() as logs:
            for number, shape in enumerate(shapes(len(batches))):
                log = await logs(number)
                fruitful += bool(await write(log, batches, shape))
                assert is_replay(load(log).state, live), f"compacted as {shape}"
        return fruitful

    assert asyncio.run(scenario()) > len(batches) * 3


@NAMES
def test_on_disk_and_after_a_restart_too(name, tmp_path):
    live, batches = SCENARIOS[name]

    async def scenario():
        fruitful = 0
        async with LocalStore(tmp_path) as store:
            for number, shape in enumerate(list(shapes(len(batches)))[::4]):
                partition = TopicPartition("offsets", number)
                log = await store.acquire(partition, SETTINGS)
                fruitful += bool(await write(log, batches, shape))
                assert is_replay(load(log).state, live), f"compacted as {shape}"
                again = await store.acquire(partition, SETTINGS)
                assert is_replay(load(again).state, live), f"{shape}, then opened again"
        return fruitful

    assert asyncio.run(scenario()) > len(batches) / 2


@NAMES
def test_kafka_19862_compacted_while_it_is_being_read(name):
    """At each batch the whole closed part is compacted under the reader, tombstones and all."""
    live, batches = SCENARIOS[name]
    cut = len(batches)

    async def scenario():
        async with memory_logs() as logs:
            for place in range(len(batches) + 3):
                log = await logs(place)
                await write(log, batches, (Pass(cut // 2), Pass(cut // 2 + 1), Pass(cut + 1)))
                partition = log._partition
                partition.cleaned_offset = 0  # all of it is dirty again

                def compact_now(partition=partition):
                    now_ms = TIMESTAMP + 2 * DAY_MS
                    list(memory_compaction.compact(partition, SETTINGS, now_ms, UNLIMITED_BUDGET))

                assert is_replay(load(Interrupted(log, place, compact_now)).state, live)
                assert is_replay(load(log).state, live)

    asyncio.run(scenario())


@NAMES
def test_kafka_19862_on_disk_with_the_loader_in_its_own_thread(name, tmp_path):
    live, batches = SCENARIOS[name]
    cut = len(batches)

    async def scenario():
        loop = asyncio.get_running_loop()
        async with LocalStore(tmp_path) as store:
            for place in range(0, len(batches), 3):
                log = await store.acquire(TopicPartition("offsets", place), SETTINGS)
                await write(log, batches, (Pass(cut // 2), Pass(cut // 2 + 1, DAY_MS)))

                def compact_now(log=log):
                    later_ms = TIMESTAMP + 3 * DAY_MS
                    asyncio.run_coroutine_threadsafe(log.compact(later_ms), loop).result(30)

                await write(log, [], (Pass(0), Pass(1)))
                await asyncio.to_thread(compact_now)
                await write(log, [], (Pass(0), Pass(1)))
                reader = Interrupted(log, place, compact_now)
                assert is_replay((await asyncio.to_thread(load, reader)).state, live)
                assert is_replay(load(log).state, live)

    asyncio.run(scenario())


@NAMES
def test_without_compaction_nothing_is_missing(name):
    live, batches = SCENARIOS[name]
    assert asyncio.run(load_whole(batches)) == live


def test_only_a_simple_group_without_offsets_may_be_missing():
    """And it is, once its commits are gone."""
    live, batches = SCENARIOS["last offsets are deleted"]
    assert live.groups.keys() == {"members", "simple", "back"}
    assert live.offsets.keys() == {"back"}

    async def scenario():
        async with memory_logs() as logs:
            log = await logs(0)
            await write(log, batches, (Pass(len(batches)),))
            return load(log).state

    assert asyncio.run(scenario()).groups.keys() == {"members", "back"}
    without = {name: group for name, group in live.groups.items() if name != "simple"}
    assert is_replay(with_groups(live, without), live)
    for wrong in ({}, {"back": Group()}, without | {"simple": without["members"]}):
        assert not is_replay(with_groups(live, wrong), live)
    assert not is_replay(State(live.groups), live)


def test_the_scenarios_are_worth_it():
    """Each has superseded records, tombstones, and a state that is not empty."""
    for state, batches in SCENARIOS.values():
        assert state.groups
        assert len(batches) > 8
    assert SCENARIOS["transactions among plain commits"][0].pending_offsets
