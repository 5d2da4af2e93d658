"""What loading does besides: several partitions may be at it, in whichever threads."""

import asyncio
import gc

import pytest

from drumbeat.log.memory import MemoryStore
from drumbeat.log.port import TopicPartition
from drumbeat.runtime.coordinator.loader import UnreadableLog, load
from support.offsets_log import SETTINGS, Interrupted, batch, commit

BATCHES = [batch(*(commit("g", n, partition) for partition in range(6))) for n in range(3)]


def log_of(batches):
    async def write():
        log = await MemoryStore().acquire(TopicPartition("offsets", 0), SETTINGS)
        for data in batches:
            log.append(data, expected=log.end_offset)
        await log.sync()
        return log

    return asyncio.run(write())


def test_the_newest_commit_of_each_partition_is_loaded():
    loaded = load(log_of(BATCHES))
    assert loaded.records == 18
    offsets = loaded.state.offsets["g"]
    assert {offset.committed_offset for offset in offsets.values()} == {2}
    assert [offset.log_offset for offset in offsets.values()] == list(range(12, 18))


def test_garbage_is_looked_for_again_when_the_last_load_ends():
    seen = []

    def load_another():
        load(log_of(BATCHES))
        seen.append(gc.isenabled())

    assert gc.isenabled()
    load(Interrupted(log_of(BATCHES), 1, load_another))
    assert seen == [False]
    assert gc.isenabled()


def test_a_load_that_fails_leaves_the_collector_as_it_was():
    def fail():
        raise UnreadableLog("damaged")

    for was_enabled in (False, True):
        (gc.enable if was_enabled else gc.disable)()
        with pytest.raises(UnreadableLog):
            load(Interrupted(log_of(BATCHES), 1, fail))
        assert gc.isenabled() is was_enabled
