"""Bugs that loading a log of committed offsets has had in Kafka, each under its name.

Compaction's own (KAFKA-17306, 19862, 20254, 21117) are in tests/property/test_compacted_logs.py.
"""

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    OffsetCommitTombstone,
)
from drumbeat.log.memory import MemoryPartitionLog, MemoryStore
from drumbeat.log.port import LOAD_CHUNK_BYTES, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.protocol.apis import APIS
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.clock import SystemClock
from drumbeat.runtime.config import load_config
from drumbeat.runtime.coordinator.loader import load
from drumbeat.runtime.requests import Deferred, Request
from drumbeat.runtime.topic_changes import create_automatically
from drumbeat.runtime.topics import CONSUMER_OFFSETS
from drumbeat.server.node import memory_storage
from support.offsets_log import DAY_MS, SETTINGS, TIMESTAMP, batch, commit

PARTITION = TopicPartition(CONSUMER_OFFSETS, 0)
BATCHES = [batch(commit("g", n), commit("g", n, partition=1)) for n in range(8)]
OFFSET_FETCH = next(api for api in APIS.values() if api.request is OffsetFetchRequest)


async def write(log, *batches):
    for data in batches:
        log.append(data, expected=log.end_offset)
    await log.sync()


@asynccontextmanager
async def local_log(directory, settings=SETTINGS):
    async with LocalStore(directory) as store:
        yield await store.acquire(PARTITION, settings)


# -- KAFKA-16030: a load that ends half-way ------------------------------------------------------


class GatedLog(MemoryPartitionLog):
    """Reading waits, in the loader's thread, for somebody to open the gate."""

    gate: threading.Event

    def batches_from(self, offset, **options):
        assert self.gate.wait(30), "nobody opened the gate"
        return super().batches_from(offset, **options)


class GatedStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    async def acquire(self, topic_partition, settings, *, topic_id=None):
        log = await super().acquire(topic_partition, settings, topic_id=topic_id)
        log.__class__, log.gate = GatedLog, self.gate
        return log


@asynccontextmanager
async def broker_on(store):
    config = load_config(None, ["offsets.topic.num.partitions=1"], {"port": "0"}).config
    broker = Broker(config, memory_storage(config)._replace(logs=store), SystemClock())
    broker.topics.load()
    await create_automatically(broker, CONSUMER_OFFSETS)
    await broker.start()
    try:
        yield broker
    finally:
        store.gate.set()
        await broker.stop()


async def fetch(broker):
    """Error code and committed offset of t1-0, as the node answers at this moment."""
    topic = OffsetFetchRequestTopics("t1", partition_indexes=(0,))
    body = OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=(topic,)),))
    request = Request(OFFSET_FETCH.key, 8, "client", "127.0.0.1")
    answer = broker.groups.submit(request, body, "g")
    if isinstance(answer, Deferred):
        answer = await answer.wait()
    (group,) = answer.groups
    if group.error_code:
        return ErrorCode(group.error_code).name, None
    return "NONE", group.topics[0].partitions[0].committed_offset


async def loaded(broker):
    await asyncio.gather(*broker.groups._loading.values())


@pytest.mark.parametrize("cut", range(len(BATCHES)))
def test_kafka_16030_a_log_that_ends_at_any_batch_is_not_served_in_part(cut):
    async def scenario():
        store = GatedStore()
        log = await store.acquire(PARTITION, SETTINGS)
        await write(log, *BATCHES)
        await log.release()
        store.corrupt(PARTITION, 2 * cut)
        async with broker_on(store) as broker:
            answers = [await fetch(broker)]
            await loaded(broker)
            return [*answers, await fetch(broker), await fetch(broker)]

    loading, *failed = asyncio.run(scenario())
    assert loading in [("COORDINATOR_LOAD_IN_PROGRESS", None), ("NOT_COORDINATOR", None)]
    assert failed == [("NOT_COORDINATOR", None)] * 2


def test_kafka_16030_while_a_log_is_read_nobody_gets_half_of_it():
    async def scenario():
        store = GatedStore()
        log = await store.acquire(PARTITION, SETTINGS)
        await write(log, *BATCHES)
        await log.release()
        store.gate.clear()
        async with broker_on(store) as broker:
            loading = [await fetch(broker) for _ in range(3)]
            store.gate.set()
            await loaded(broker)
            return loading, await fetch(broker)

    loading, served = asyncio.run(scenario())
    assert loading == [("COORDINATOR_LOAD_IN_PROGRESS", None)] * 3
    assert served == ("NONE", 7)


# -- what a log may look like --------------------------------------------------------------------


def test_kafka_4704_a_deleted_group_whose_id_only_stores_offsets_now(tmp_path):
    member = MemberMetadata("m", None, "cl", "/h", 1, 1, b"", b"")
    group = GroupMetadataRecord("g", "consumer", 1, "range", "m", TIMESTAMP, (member,))
    removal = [OffsetCommitTombstone("g", "t1", 0), GroupMetadataTombstone("g")]

    async def scenario():
        async with local_log(tmp_path) as log:
            await write(log, batch(group), batch(commit("g", 1)), batch(*removal))
            await write(log, batch(commit("g", 42)))
        async with local_log(tmp_path) as log:
            return load(log).state

    state = asyncio.run(scenario())
    assert state.offsets["g"]["t1", 0].committed_offset == 42
    assert state.groups["g"].protocol_type == ""
    assert not state.groups["g"].members


def test_kafka_5600_a_log_of_many_read_buffers_is_applied_to_its_end(tmp_path):
    async def scenario():
        async with local_log(tmp_path, replace(SETTINGS, segment_bytes=1 << 30)) as log:
            number = 0
            while log.end_offset == 0 or log.size_bytes < 3.5 * LOAD_CHUNK_BYTES:
                number += 1
                commits = [commit("g", number, partition) for partition in range(20)]
                await write(log, batch(*[one._replace(metadata="x" * 4000) for one in commits]))
            return load(log), number

    (state, records, unknown), last = asyncio.run(scenario())
    assert records == 20 * last
    assert unknown == 0
    found = {offset.committed_offset for offset in state.offsets["g"].values()}
    assert found == {last}


def test_kafka_9065_a_gap_before_an_empty_active_segment_does_not_make_a_load_wait(tmp_path):
    """Everything at the end of the closed part is gone, and nothing follows it yet."""
    settings = replace(SETTINGS, segment_bytes=200)
    tombstones = [batch(OffsetCommitTombstone("g", "t1", 0))] * 6

    async def scenario():
        async with local_log(tmp_path, settings) as log:
            await write(log, batch(commit("g", 1)), batch(commit("h", 2)), *tombstones)
            await log.compact(TIMESTAMP)
            await write(log, *tombstones)
            end_offset = log.end_offset
        folder = tmp_path / str(PARTITION)
        for suffix in (".log", ".index", ".timeindex"):
            (folder / f"{end_offset:020}{suffix}").touch()
        async with local_log(tmp_path, settings) as log:
            await log.compact(TIMESTAMP + DAY_MS)
        (folder / "cleaner-offset-checkpoint").unlink()  # then the same is compacted once more
        async with local_log(tmp_path, settings) as log:
            await log.compact(TIMESTAMP + 2 * DAY_MS)
            assert log.end_offset == end_offset
            *_, last = log.batches_from(0)
            assert last.header.next_offset == end_offset
            await write(log, batch(commit("g", 9)))
            return load(log)

    state, records, _ = asyncio.run(scenario())
    assert state.offsets["h"]["t1", 0].committed_offset == 2
    assert state.offsets["g"]["t1", 0].committed_offset == 9
    assert records == 2, "the tombstones are gone"


@pytest.mark.parametrize("place", ["first", "between others", "last"])
def test_kafka_7286_a_record_larger_than_the_read_buffer(tmp_path, place):
    subscription = os.urandom(6 << 20)
    assert len(subscription) > 5 * LOAD_CHUNK_BYTES
    member = MemberMetadata("m", None, "cl", "/h", 1, 1, subscription, b"")
    large = batch(GroupMetadataRecord("big", "consumer", 1, "range", "m", TIMESTAMP, (member,)))
    before = {"first": [], "between others": BATCHES, "last": BATCHES}[place]
    after = {"first": BATCHES, "between others": BATCHES, "last": []}[place]
    settings = replace(SETTINGS, batch_bytes_max=16 << 20, segment_bytes=1 << 30)

    async def scenario():
        async with local_log(tmp_path, settings) as log:
            await write(log, *before, large, *after)
        async with local_log(tmp_path, settings) as log:
            return load(log).state

    state = asyncio.run(scenario())
    assert state.groups["big"].members["m"].subscription == subscription
    assert state.offsets["g"]["t1", 0].committed_offset == 7


LOAD_AND_MEASURE = """
import asyncio, resource, sys
from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.runtime.coordinator.loader import load

async def main():
    async with LocalStore(sys.argv[1]) as store:
        log = await store.acquire(TopicPartition("__consumer_offsets", 0), LogSettings())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        loaded = load(log)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(loaded.records, after - before)

asyncio.run(main())
"""


def test_kafka_19716_memory_is_bounded_by_what_lives_and_not_by_the_log(tmp_path):
    """150,000 commits to 1,000 partitions: megabytes of log, a fraction of that in memory."""
    again_and_again = batch(*[commit("g", 1, partition=p) for p in range(1000)])

    async def scenario():
        async with local_log(tmp_path, replace(SETTINGS, segment_bytes=1 << 30)) as log:
            for _ in range(150):
                log.append(again_and_again, expected=log.end_offset)
            await log.sync()
            return log.size_bytes

    log_bytes = asyncio.run(scenario())
    command = [sys.executable, "-c", LOAD_AND_MEASURE, tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    records, growth_kib = map(int, result.stdout.split())
    assert records == 150_000
    assert growth_kib << 10 < log_bytes / 2
