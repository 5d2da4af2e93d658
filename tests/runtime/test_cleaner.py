"""The job that compacts in the background: which log it takes, when, and what it does not mind."""

import asyncio
import os
from contextlib import asynccontextmanager

import pytest

from drumbeat.log.errors import CorruptLog
from drumbeat.log.memory import MemoryStore
from drumbeat.log.port import CompactionBudget, LogSettings, TopicPartition
from drumbeat.protocol.records import Record, decode_records, encode_batch
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.cleaner import CPU_SHARE
from drumbeat.runtime.config import load_config, topic_config
from drumbeat.runtime.partitions import log_settings
from drumbeat.runtime.topic_changes import create_automatically
from drumbeat.runtime.topics import CONSUMER_OFFSETS
from drumbeat.server.node import file_storage, memory_storage

QUICK = {
    "log.cleanup.policy": "compact",
    "log.cleaner.backoff.ms": "1",
    "log.cleaner.min.cleanable.ratio": "0.5",
    "log.roll.ms": "1000",
    "num.partitions": "4",
    "offsets.topic.num.partitions": "1",
}


class FixedClock:
    """A clock that stands still until the test moves it."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    monotonic_ms = steady_ms = now_ms


def config_of(settings, data_dir=None):
    options = {"port": "0"} | ({"log.dirs": str(data_dir)} if data_dir else {})
    chosen = [f"{key}={value}" for key, value in {**QUICK, **settings}.items()]
    return load_config(None, chosen, options).config


@asynccontextmanager
async def running(data_dir=None, **settings):
    """A broker whose cleaner only works when it is told to, unless asked for."""
    settings = {"log.cleaner.enable": "false"} | {
        key.replace("_", "."): value for key, value in settings.items()
    }
    config = config_of(settings, data_dir)
    storage = await file_storage(config) if data_dir else memory_storage(config)
    broker = Broker(config, storage, FixedClock())
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


async def partition_of(broker, index=0, name="orders"):
    topic = broker.topics.get(name) or await create_automatically(broker, name)
    return await broker.open_partition(topic, index)


async def write(partition, count, key=b"k", segment_ms=1_000):
    """So many records of one key, each in a segment of its own."""
    log = partition.log
    for _ in range(count):
        timestamp = 1_000 + log.end_offset * 2 * segment_ms
        log.append(
            encode_batch([Record(0, timestamp, key, b"%d" % log.end_offset)]),
            expected=log.end_offset,
        )
        await log.sync()


async def until(condition):
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("not within 20 seconds")


def offsets(partition):
    batches = partition.log.batches_from(partition.log.start_offset)
    return [record.offset for found in batches for record in decode_records(found.data)]


def test_the_dirtiest_log_is_compacted_first():
    async def scenario():
        async with running() as broker:
            partitions = [await partition_of(broker, index) for index in range(3)]
            for partition, count in zip(partitions, (4, 4, 1), strict=True):
                await write(partition, count)
            assert await broker.cleaner.clean_dirtiest()
            assert await broker.cleaner.clean_dirtiest()
            assert not await broker.cleaner.clean_dirtiest(), "an active segment is left alone"
            await write(partitions[0], 9)
            await write(partitions[1], 2)
            assert await broker.cleaner.clean_dirtiest()
            return list(map(offsets, partitions))

    assert asyncio.run(scenario()) == [[11, 12], [2, 3, 4, 5], [0]]


@pytest.mark.parametrize(
    ("settings", "count", "is_due"),
    [
        ({}, 3, True),
        ({"log.cleaner.min.cleanable.ratio": "1"}, 3, False),
        ({"log.cleaner.min.cleanable.ratio": "0.99"}, 3, True),
        ({"log.cleanup.policy": "delete"}, 3, False),
        ({"log.cleanup.policy": "compact,delete"}, 3, True),
        (
            {"log.cleaner.min.cleanable.ratio": "1", "log.cleaner.max.compaction.lag.ms": "1"},
            3,
            True,
        ),
        ({"log.cleaner.min.compaction.lag.ms": str(2**50)}, 3, False),
    ],
)
def test_when_a_log_is_due(settings, count, is_due):
    async def scenario():
        async with running(**settings) as broker:
            partition = await partition_of(broker)
            await write(partition, count)
            return await broker.cleaner.clean_dirtiest()

    assert asyncio.run(scenario()) is is_due


def test_it_runs_by_itself_and_goes_on_for_as_long_as_something_is_dirty():
    async def scenario():
        async with running(log_cleaner_enable="true") as broker:
            partitions = [await partition_of(broker, index) for index in range(4)]
            for partition in partitions:
                await write(partition, 5)
            # The newest segment is never compacted, and one more may have come too late to be
            # worth a second round.
            await until(lambda: all(len(offsets(partition)) <= 3 for partition in partitions))

    asyncio.run(scenario())


def test_a_damaged_log_is_left_alone_and_the_others_are_not(caplog):
    async def scenario():
        async with running() as broker:
            damaged, sound = [await partition_of(broker, index) for index in range(2)]
            await write(damaged, 5)
            await write(sound, 4)
            store = broker.storage.logs
            assert isinstance(store, MemoryStore)
            store.corrupt(TopicPartition("orders", 0), 0)
            while await broker.cleaner.clean_dirtiest():
                pass
            assert offsets(sound) == [2, 3]
            with pytest.raises(CorruptLog):
                offsets(damaged)

    asyncio.run(scenario())
    assert [r.getMessage().split(":")[0] for r in caplog.records] == ["orders-0"]


def damage_magic(segment):
    with segment.open("r+b") as file:
        file.seek(16)
        file.write(b"\x09")


@pytest.mark.parametrize(
    "damage", [damage_magic, lambda segment: os.truncate(segment, 0)], ids=["magic", "truncated"]
)
def test_damage_found_by_looking_for_what_is_due_does_not_end_the_cleaner(tmp_path, caplog, damage):
    """Asked whether it is overdue, a log has to read some of its records."""

    async def scenario():
        async with running(tmp_path, log_cleaner_max_compaction_lag_ms="1") as broker:
            damaged, sound = [await partition_of(broker, index) for index in range(2)]
            await write(damaged, 5)
            await write(sound, 4)
            damage(min((tmp_path / "orders-0").glob("*.log")))
            while await broker.cleaner.clean_dirtiest():
                pass
            assert offsets(sound) == [2, 3]
            assert broker.cleaner.uncleanable_count == 1

    asyncio.run(scenario())
    assert [r.getMessage().split(":")[0] for r in caplog.records] == ["orders-0"]


def test_a_stopping_broker_does_not_wait_for_a_compaction(tmp_path):
    async def scenario():
        settings = {
            "log.cleaner.enable": "true",
            "log.cleaner.io.max.bytes.per.second": "1",
        }
        async with running(tmp_path, **settings) as broker:
            partition = await partition_of(broker)
            value = b"x" * 40_000
            for n in range(3):
                batch = encode_batch([Record(0, 1_000 + 2_000 * n, b"k", value)])
                partition.log.append(batch, expected=n)
                await partition.log.sync()
            await until(lambda: partition.log._upkeep._cleaner.is_busy)

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_committed_offsets_keep_a_history_and_other_topics_do_not(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker:
            for name in (CONSUMER_OFFSETS, "orders"):
                partition = await partition_of(broker, 0, name)
                await write(partition, 5)
            while await broker.cleaner.clean_dirtiest():
                pass

    asyncio.run(scenario())
    assert len(list((tmp_path / f"{CONSUMER_OFFSETS}-0" / "history").iterdir())) == 4
    assert not (tmp_path / "orders-0" / "history").exists()


# -- settings ------------------------------------------------------------------------------------

# broker settings; topic; what the log is told
SETTINGS = [
    ({}, "orders", {"is_compacted": True, "history_retention_ms": 0}),
    ({}, CONSUMER_OFFSETS, {"history_retention_ms": 604_800_000}),
    ({"offsets.history.retention.ms": "-1"}, CONSUMER_OFFSETS, {"history_retention_ms": -1}),
    ({"log.cleanup.policy": "delete"}, "orders", {"is_compacted": False}),
    ({"log.cleaner.delete.retention.ms": "7"}, "orders", {"delete_retention_ms": 7}),
    ({"log.cleaner.min.cleanable.ratio": "0.2"}, "orders", {"min_cleanable_dirty_ratio": 0.2}),
    ({"log.cleaner.min.compaction.lag.ms": "3"}, "orders", {"min_compaction_lag_ms": 3}),
    (
        {"log.cleaner.max.compaction.lag.ms": "5"},
        "orders",
        {"max_compaction_lag_ms": 5, "segment_ms": 5},
    ),
    (
        {"log.cleaner.max.compaction.lag.ms": "5", "log.cleanup.policy": "delete"},
        "orders",
        {"segment_ms": 1000},
    ),
    ({"producer.id.expiration.ms": "9"}, "orders", {"producer_id_expiration_ms": 9}),
]


@pytest.mark.parametrize(("settings", "topic", "told"), SETTINGS)
def test_what_the_log_is_told(settings, topic, told):
    config = config_of(settings)
    found = log_settings(topic, topic_config({}, config), config)
    assert isinstance(found, LogSettings)
    assert {name: getattr(found, name) for name in told} == told


def test_what_a_compaction_may_take():
    async def scenario():
        settings = {
            "log.cleaner.io.max.bytes.per.second": "1000.5",
            "log.cleaner.dedupe.buffer.size": "12345",
        }
        async with running(**settings) as broker:
            return broker.cleaner._budget()

    budget = CompactionBudget(
        cpu_share=CPU_SHARE, bytes_per_second=1000.5, dedupe_buffer_bytes=12345
    )
    assert asyncio.run(scenario()) == budget
