"""Directories that Apache Kafka wrote: what it leaves beside the log does not confuse us."""

import asyncio
import os
import struct

import pytest

from drumbeat.log.errors import CorruptLog
from drumbeat.log.store import LocalStore
from drumbeat.protocol.record_batch import assign
from log.helpers import SETTINGS, TP, batch, contents, write

VALUES = [b"one", b"two", b"three", b"four"]
TOPIC_ID = "zXNnKPj0TD6WpFPgAGEkWA"


@pytest.fixture
def kafkas(tmp_path):
    """A partition with two segments as a stopped Kafka leaves it, or nearly so."""
    folder = tmp_path / str(TP)
    folder.mkdir()
    for base_offset, values in ((0, VALUES[:2]), (2, VALUES[2:])):
        stem = f"{base_offset:020d}"
        placed = [assign(batch(v), base_offset + n, 4) for n, v in enumerate(values)]
        (folder / f"{stem}.log").write_bytes(b"".join(placed))
        (folder / f"{stem}.index").write_bytes(b"")
        (folder / f"{stem}.timeindex").write_bytes(struct.pack(">qi", 1000, 0))
        (folder / f"{stem}.snapshot").write_bytes(b"\0\1")
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n4 1\n")
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":17}')
    (tmp_path / "meta.properties").write_text("node.id=1\nversion=1\n")
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (tmp_path / name).write_text(f"0\n1\n{TP.topic} {TP.partition} 4\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n0\n")
    return tmp_path


def load(directory):
    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, b"ours")
            return log, contents(log), store.topic_id(TP)

    return asyncio.run(scenario())


def test_a_cleanly_stopped_directory_opens(kafkas):
    log, found, topic_id = load(kafkas)
    assert found == [*enumerate(VALUES), (4, b"ours")]
    assert log.epochs() == [(1, 0), (4, 1), (5, 4)]
    assert topic_id == TOPIC_ID
    assert log.notes == ()


def test_preallocated_indexes_of_a_killed_kafka_are_not_believed(kafkas):
    """Kafka maps its active indexes at full size: zeros follow the entries."""
    (kafkas / ".kafka_cleanshutdown").unlink()
    for suffix, size in ((".index", 10 << 20), (".timeindex", 10_485_756)):
        path = kafkas / str(TP) / f"{2:020d}{suffix}"
        os.truncate(path, size)
    _, found, _ = load(kafkas)
    assert found == [*enumerate(VALUES), (4, b"ours")]
    assert (kafkas / str(TP) / f"{2:020d}.index").stat().st_size < 100


def test_kafkas_start_offset_is_taken_over_and_then_kept_here(kafkas):
    (kafkas / "log-start-offset-checkpoint").write_text(f"0\n1\n{TP.topic} {TP.partition} 3\n")
    log, _, _ = load(kafkas)
    assert log.start_offset == 3
    (kafkas / "log-start-offset-checkpoint").unlink()
    log, _, _ = load(kafkas)
    assert log.start_offset == 3


def test_a_new_partition_inherits_no_start_offset_from_an_older_one(kafkas):
    (kafkas / "log-start-offset-checkpoint").write_text(f"0\n1\n{TP.topic} {TP.partition} 3\n")

    async def scenario():
        async with LocalStore(kafkas) as store:
            await store.delete(TP)
            for _ in range(2):
                log = await store.acquire(TP, SETTINGS)
                for value in VALUES:
                    await write(log, value)
                assert log.start_offset == 0
                await log.release()

    asyncio.run(scenario())


def test_a_start_offset_beyond_the_end_is_reported(kafkas):
    (kafkas / "log-start-offset-checkpoint").write_text(f"0\n1\n{TP.topic} {TP.partition} 5\n")
    with pytest.raises(CorruptLog, match="start offset 5, but the log ends at 4"):
        load(kafkas)


@pytest.mark.parametrize("content", [None, "", "0\n0\n", "0\n1\n1 0\n"])
def test_missing_epochs_are_learnt_from_the_batches(kafkas, content):
    path = kafkas / str(TP) / "leader-epoch-checkpoint"
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    log, _, _ = load(kafkas)
    assert log.epoch == 5
    assert log.epochs()[-1] == (5, 4)


def test_leftovers_stay_and_are_not_read(kafkas):
    folder = kafkas / str(TP)
    leftovers = ["00000000000000000000.log.deleted", "00000000000000000000.log.cleaned", "x.tmp"]
    for name in leftovers:
        (folder / name).write_bytes(b"whatever")
    _, found, _ = load(kafkas)
    assert len(found) == 5
    assert set(leftovers) <= {path.name for path in folder.iterdir()}


def test_an_unfinished_compaction_is_left_to_kafka(kafkas):
    folder = kafkas / str(TP)
    (folder / "00000000000000000000.log.swap").write_bytes(b"")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(CorruptLog, match="never finished"):
        load(kafkas)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_old_message_formats_are_named(kafkas):
    path = kafkas / str(TP) / f"{2:020d}.log"
    data = bytearray(path.read_bytes())
    data[16] = 1
    path.write_bytes(data)
    (kafkas / ".kafka_cleanshutdown").unlink()
    with pytest.raises(CorruptLog, match="message format v1"):
        load(kafkas)
