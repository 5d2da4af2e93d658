"""The memory adapter: the contract, and the faults it can play."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from drumbeat.log.errors import AppendFailed, Fenced
from drumbeat.log.memory import MemoryStore
from log.behaviour import LogBehaviour
from log.contract import LogContract
from log.helpers import SETTINGS, TP, append, contents, write


class MemoryHarness:
    @asynccontextmanager
    async def store(self):
        store = MemoryStore()
        yield store
        store.faults.release_syncs()
        await store.close()

    async def crash(self, store):
        store.power_cut()
        return store

    def fail_next_sync(self, store, error):
        store.faults.fail_next_sync(error)

    def hold_syncs(self, store):
        store.faults.hold_syncs()

    def release_syncs(self, store):
        store.faults.release_syncs()

    def corrupt(self, store, topic_partition, offset):
        store.corrupt(topic_partition, offset)


class TestMemory(LogContract, LogBehaviour):
    @pytest.fixture
    def harness(self):
        return MemoryHarness()


@pytest.mark.parametrize(("lands", "expected"), [(False, []), (True, [(0, b"x")])])
def test_an_unknown_outcome_can_be_either(lands, expected):
    async def scenario():
        store = MemoryStore()
        log = await store.acquire(TP, SETTINGS)
        store.faults.fail_next_sync(AppendFailed, lands=lands)
        append(log, b"x")
        with pytest.raises(AppendFailed):
            await log.sync()
        return contents(await store.acquire(TP, SETTINGS))

    assert asyncio.run(scenario()) == expected


def test_a_power_cut_loses_a_sync_in_flight():
    async def scenario():
        store = MemoryStore()
        log = await store.acquire(TP, SETTINGS)
        await write(log, b"synced")
        store.faults.hold_syncs()
        append(log, b"in flight")
        waiting = asyncio.ensure_future(log.sync())
        await asyncio.sleep(0)
        store.power_cut()
        store.faults.release_syncs()
        with pytest.raises(Fenced, match="power cut"):
            await waiting
        return contents(await store.acquire(TP, SETTINGS))

    assert asyncio.run(scenario()) == [(0, b"synced")]
