"""Bugs that loading a log of committed offsets has had in Kafka, each under its name.

KAFKA-19862, and every shape of compaction, are in tests/property/test_compacted_logs.py.
"""

import asyncio
import itertools
import os
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import pytest

from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    OffsetCommitTombstone,
    RecordType,
)
from drumbeat.log.memory import MemoryStore
from drumbeat.log.port import LOAD_CHUNK_BYTES
from drumbeat.log.store import LocalStore
from drumbeat.runtime.coordinator.loader import load
from support.coordinating import PARTITION, broker_on, fetch, loaded, write
from support.offsets_log import DAY_MS, SETTINGS, TIMESTAMP, batch, commit, modern

BATCHES = [batch(commit("g", n), commit("g", n, partition=1)) for n in range(8)]


@asynccontextmanager
async def local_log(directory, settings=SETTINGS):
    async with LocalStore(directory) as store:
        yield await store.acquire(PARTITION, settings)


# -- KAFKA-16030: a load that ends half-way ------------------------------------------------------


class GatedLog:
    """A log whose reading waits, in the loader's thread, for somebody to open the gate."""

    def __init__(self, log, gate):
        self._log = log
        self._gate = gate

    def __getattr__(self, name):
        return getattr(self._log, name)

    def chunks_from(self, offset, **options):
        assert self._gate.wait(30), "nobody opened the gate"
        return self._log.chunks_from(offset, **options)


class GatedStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    async def acquire(self, topic_partition, settings, *, topic_id=None):
        log = await super().acquire(topic_partition, settings, topic_id=topic_id)
        return GatedLog(log, self.gate)


@asynccontextmanager
async def gated_broker(store):
    """Whatever happens in between, the loader's thread is let go."""
    async with broker_on(store) as broker:
        try:
            yield broker
        finally:
            store.gate.set()


@pytest.mark.parametrize("cut", range(len(BATCHES)))
def test_kafka_16030_a_log_that_ends_at_any_batch_is_not_served_in_part(cut):
    async def scenario():
        store = GatedStore()
        log = await store.acquire(PARTITION, SETTINGS)
        await write(log, *BATCHES)
        await log.release()
        store.corrupt(PARTITION, 2 * cut)
        async with gated_broker(store) as broker:
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
        async with gated_broker(store) as broker:
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


# A consumer group that becomes a classic one, goes, and comes back as a consumer group.
_GROUP = RecordType.CONSUMER_GROUP_METADATA
_MEMBER = RecordType.CONSUMER_GROUP_MEMBER_METADATA
_CLASSIC = GroupMetadataRecord("g", "consumer", 3, "range", None, TIMESTAMP, ())
MIGRATIONS = [
    batch(modern(_GROUP, "g"), modern(_MEMBER, "g")),
    batch(commit("g", 1), commit("other", 5)),
    batch(modern(_MEMBER, "g", is_tombstone=True), modern(_GROUP, "g", is_tombstone=True)),
    batch(_CLASSIC),
    batch(commit("g", 2)),
    batch(OffsetCommitTombstone("g", "t1", 0), GroupMetadataTombstone("g")),
    batch(modern(_MEMBER, "g"), modern(_GROUP, "g")),
    batch(commit("g", 3), commit("other", 6)),
]


async def state_of(directory, batches):
    async with local_log(directory) as log:
        await write(log, *batches)
        return load(log).state


@pytest.mark.parametrize("gone", range(len(MIGRATIONS)))
def test_kafka_17306_tombstones_of_what_the_log_does_not_hold_any_more(tmp_path, gone):
    """Whatever part of the beginning is gone, the rest is read, and the other group with it."""
    state = asyncio.run(state_of(tmp_path, MIGRATIONS[gone:]))
    assert state.offsets["g"]["t1", 0].committed_offset == 3
    assert state.offsets["other"]["t1", 0].committed_offset == 6


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_kafka_20254_offsets_that_outlive_their_group_and_meet_the_next_one(tmp_path, order):
    """The tombstone between two lives of an id is gone: offsets of one, records of the other."""
    parts = [batch(commit("g", 1)), batch(modern(_GROUP, "g")), batch(modern(_MEMBER, "g"))]
    state = asyncio.run(state_of(tmp_path, [parts[place] for place in order]))
    assert state.offsets["g"]["t1", 0].committed_offset == 1
    assert "g" in state.groups


@pytest.mark.parametrize("first", ["offsets", "consumer group"])
def test_kafka_21117_a_classic_group_after_what_its_id_was_before(tmp_path, first):
    before = {"offsets": batch(commit("g", 1)), "consumer group": batch(modern(_GROUP, "g"))}
    state = asyncio.run(state_of(tmp_path, [before[first], batch(_CLASSIC), batch(commit("g", 2))]))
    assert state.groups["g"].generation_id == 3
    assert state.groups["g"].protocol_type == "consumer"
    assert state.offsets["g"]["t1", 0].committed_offset == 2


def test_kafka_5600_a_log_of_many_read_buffers_is_applied_to_its_end(tmp_path):
    async def scenario():
        async with local_log(tmp_path, SETTINGS._replace(segment_bytes=1 << 30)) as log:
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
    settings = SETTINGS._replace(segment_bytes=200)
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
    settings = SETTINGS._replace(batch_bytes_max=16 << 20, segment_bytes=1 << 30)

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
        async with local_log(tmp_path, SETTINGS._replace(segment_bytes=1 << 30)) as log:
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
