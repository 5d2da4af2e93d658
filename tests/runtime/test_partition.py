"""A partition knows its producers when it has to: what the log says of them, and no more."""

import asyncio

import pytest

from drumbeat.log.errors import LogFull
from drumbeat.log.memory import MemoryStore
from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import read_header
from drumbeat.runtime.config import load_config, topic_config
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.record_validation import RefusedBatch, ValidBatch
from drumbeat.runtime.topics import CONSUMER_OFFSETS, GROUP_EVENTS
from support.data_topics import batch, sequenced

CONFIG = topic_config({}, load_config(None).config)
TOPICS = ["orders", CONSUMER_OFFSETS, GROUP_EVENTS]


class CountingLog:
    """A log that counts who reads it from its start."""

    def __init__(self, log):
        self._log = log
        self.readings = 0

    def __getattr__(self, name):
        return getattr(self._log, name)

    def chunks_from(self, offset, **options):
        self.readings += 1
        return self._log.chunks_from(offset, **options)


async def open_partition(store: MemoryStore, topic: str) -> Partition:
    log = await store.acquire(TopicPartition(topic, 0), LogSettings())
    return Partition(CountingLog(log), CONFIG)


async def append(partition: Partition, data: bytes) -> int:
    """The base offset, once the batch is on disk."""
    appended = partition.append(ValidBatch(read_header(data), data, -1))
    synced = asyncio.get_running_loop().create_future()
    partition.when_synced(
        appended.end_offset,
        lambda problem: synced.set_exception(problem) if problem else synced.set_result(None),
    )
    await synced
    return appended.base_offset


def idempotent(sequence: int) -> bytes:
    return sequenced(7, 0, sequence, b"%d" % sequence)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_restart_forgets_no_sequence(topic):
    async def scenario():
        store = MemoryStore()
        before = await open_partition(store, topic)
        for sequence in range(3):
            assert await append(before, idempotent(sequence)) == 2 * sequence
            await append(before, batch(b"of nobody"))
        after = await open_partition(store, topic)
        with pytest.raises(RefusedBatch) as refused:
            await append(after, idempotent(9))
        return refused.value.error_code, [await append(after, idempotent(n)) for n in (2, 1, 3)]

    assert asyncio.run(scenario()) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, [4, 2, 6])


@pytest.mark.parametrize(
    ("topic", "readings"), [("orders", 1), (CONSUMER_OFFSETS, 0), (GROUP_EVENTS, 0)]
)
def test_internal_topics_are_not_read_for_producers_that_they_do_not_have(topic, readings):
    async def scenario():
        partition = await open_partition(MemoryStore(), topic)
        for number in range(3):
            await append(partition, batch(b"%d" % number))
        counted = [partition.log.readings]
        for sequence in range(3):
            await append(partition, idempotent(sequence))
        return [*counted, partition.log.readings]

    assert asyncio.run(scenario()) == [readings, 1]


@pytest.mark.parametrize("topic", TOPICS)
def test_sequences_that_a_full_disk_did_not_keep_are_asked_for_again(topic):
    async def scenario():
        store = MemoryStore()
        partition = await open_partition(store, topic)
        await append(partition, idempotent(0))
        store.faults.fail_next_sync(LogFull)
        with pytest.raises(LogFull):
            await append(partition, idempotent(1))
        with pytest.raises(RefusedBatch):
            await append(partition, idempotent(2))
        return [await append(partition, idempotent(n)) for n in (0, 1, 2, 1)]

    assert asyncio.run(scenario()) == [0, 1, 2, 1]


def test_a_failed_sync_makes_nobody_wait_while_the_log_is_read():
    async def scenario():
        store = MemoryStore()
        partition = await open_partition(store, "orders")
        await append(partition, batch(b"kept"))
        store.faults.fail_next_sync(LogFull)
        with pytest.raises(LogFull):
            await append(partition, batch(b"lost"))
        await append(partition, batch(b"again"))
        return partition.log.readings

    assert asyncio.run(scenario()) == 1
