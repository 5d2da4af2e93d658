"""Bugs that others had when a log changed hands or its disk failed, each under its name."""

import asyncio
import itertools
from contextlib import asynccontextmanager

import pytest

from drumbeat.log.errors import AppendFailed, Fenced, LogFull
from drumbeat.log.memory import MemoryStore
from drumbeat.log.store import LocalStore
from drumbeat.runtime.coordinator.loader import load
from support.coordinating import PARTITION, broker_on, commit_offset, fetch, loaded, write
from support.offsets_log import SETTINGS, batch, commit


@asynccontextmanager
async def store_of(kind, directory):
    async with LocalStore(directory) if kind == "local" else nothing_to_open() as store:
        yield store


@asynccontextmanager
async def nothing_to_open():
    store = MemoryStore()
    yield store
    await store.close()


def committed(log):
    state = load(log).state
    return state.offsets["g"]["t1", 0].committed_offset


# -- KAFKA-20634: acknowledged by somebody who has just lost the log ----------------------------


@pytest.mark.parametrize(
    "taken_first", [True, False], ids=["taken, then synced", "synced, then taken"]
)
def test_kafka_20634_what_is_acknowledged_is_in_the_next_owners_log(taken_first):
    async def scenario():
        store = MemoryStore()
        async with broker_on(store) as broker:
            assert await commit_offset(broker, 1) == "NONE"
            store.faults.hold_syncs()
            in_flight = asyncio.ensure_future(commit_offset(broker, 2))
            await asyncio.sleep(0)
            if not taken_first:
                store.faults.release_syncs()
            taking = asyncio.ensure_future(store.acquire(PARTITION, SETTINGS))
            await asyncio.sleep(0)
            store.faults.release_syncs()
            return await in_flight, committed(await taking)

    answer, found = asyncio.run(scenario())
    assert found == 2 if answer == "NONE" else found in (1, 2)
    assert answer in ("NONE", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")


def test_kafka_20634_one_who_lost_the_log_acknowledges_nothing_more():
    async def scenario():
        store = MemoryStore()
        async with broker_on(store) as broker:
            assert await commit_offset(broker, 1) == "NONE"
            taken = await store.acquire(PARTITION, SETTINGS)
            answers = [await commit_offset(broker, offset) for offset in (2, 3)]
            return answers, committed(taken)

    answers, found = asyncio.run(scenario())
    assert answers == ["NOT_COORDINATOR"] * 2
    assert found == 1


# -- KAFKA-10614, KAFKA-16118, KAFKA-19274: elected and resigned in another order -----------------


async def resign(old, _new):
    await old.release()


async def write_late(old, _new):
    with pytest.raises(Fenced):
        await write(old, batch(commit("g", 99)))


async def look_late(old, _new):
    with pytest.raises(Fenced):
        await old.confirm()


async def write_as_owner(_old, new):
    await write(new, batch(commit("g", committed(new) + 1)))


EVENTS = (resign, write_late, look_late, write_as_owner)


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_kafka_10614_a_resignation_that_comes_late_takes_nothing_from_the_next_owner(
    kind, tmp_path
):
    async def scenario():
        async with store_of(kind, tmp_path) as store:
            new = await store.acquire(PARTITION, SETTINGS)
            await write(new, batch(commit("g", 0)))
            for number, order in enumerate(itertools.permutations(EVENTS), 1):
                old, new = new, await store.acquire(PARTITION, SETTINGS)
                for event in order:
                    await event(old, new)
                await new.confirm()
                assert committed(new) == number, [event.__name__ for event in order]

    asyncio.run(scenario())


# -- Redpanda 25533 and 10669: lost and regained in between --------------------------------------


@pytest.mark.parametrize("is_back", [False, True], ids=["lost", "lost and free again"])
def test_redpanda_25533_what_was_true_before_the_log_was_lost_is_not_served_after(is_back):
    """Not even to those who only read, for whom no write could fail."""

    async def scenario():
        store = MemoryStore()
        async with broker_on(store) as broker:
            assert await commit_offset(broker, 1) == "NONE"
            other = await store.acquire(PARTITION, SETTINGS)
            await write(other, batch(commit("g", 5)))
            if is_back:
                await other.release()
            return await fetch(broker)

    assert asyncio.run(scenario()) == ("NOT_COORDINATOR", None)


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_redpanda_10669_the_same_owner_again_finds_the_same_state(kind, tmp_path):
    async def scenario():
        async with store_of(kind, tmp_path) as store:
            log = await store.acquire(PARTITION, SETTINGS)
            await write(log, batch(commit("g", 1), commit("g", 2, partition=1)))
            before = load(log).state
            for _ in range(5):
                log = await store.acquire(PARTITION, SETTINGS)
                assert load(log).state == before

    asyncio.run(scenario())


# -- SeaweedFS: acknowledged although it was not stored ------------------------------------------


@pytest.mark.parametrize(
    ("error", "lands"), [(LogFull, False), (AppendFailed, False), (AppendFailed, True)]
)
def test_seaweedfs_a_commit_whose_write_failed_is_not_acknowledged(error, lands):
    async def scenario():
        store = MemoryStore()
        async with broker_on(store) as broker:
            assert await commit_offset(broker, 1) == "NONE"
            store.faults.fail_next_sync(error, lands=lands)
            answer = await commit_offset(broker, 2)
            await loaded(broker)
            return answer, await fetch(broker)

    answer, found = asyncio.run(scenario())
    assert answer == "COORDINATOR_NOT_AVAILABLE"
    # A full disk has dropped it; after anything else nobody knows, so nobody is told.
    assert found == (("NONE", 1) if error is LogFull else ("NOT_COORDINATOR", None))


def test_a_node_that_regains_a_partition_loads_what_others_wrote():
    async def scenario():
        store = MemoryStore()
        other = await store.acquire(PARTITION, SETTINGS)
        await write(other, batch(commit("g", 5)))
        await other.release()
        async with broker_on(store) as broker:
            await loaded(broker)
            return await fetch(broker)

    assert asyncio.run(scenario()) == ("NONE", 5)
