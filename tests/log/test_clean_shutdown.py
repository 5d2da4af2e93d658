"""The mark of a clean shutdown: who leaves it, who believes it, and what it saves."""

import asyncio
import os
import shutil

import pytest

from drumbeat.log.errors import CorruptLog
from drumbeat.log.names import RECOVERY_POINT
from drumbeat.log.port import TopicPartition
from drumbeat.log.store import LocalStore
from log.helpers import (
    SETTINGS,
    SMALL,
    TP,
    batch,
    contents,
    copy_killed,
    flip,
    segment_files,
    write,
)

OTHER = TopicPartition("other", 0)


async def fill(directory, settings=SMALL, count=30):
    async with LocalStore(directory) as store:
        log = await store.acquire(TP, settings)
        for number in range(count):
            await write(log, b"%d" % number, timestamps=[1000 + number])
        assert not has_mark(directory), "no mark while the store is open"


def has_mark(directory):
    return (directory / ".kafka_cleanshutdown").exists()


def test_a_clean_close_leaves_the_mark(tmp_path):
    asyncio.run(fill(tmp_path))
    assert has_mark(tmp_path)


def test_a_killed_process_leaves_none(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path / "open") as store:
            await store.acquire(TP, SETTINGS)
            shutil.copytree(tmp_path / "open", tmp_path / "killed")

    asyncio.run(scenario())
    assert not has_mark(tmp_path / "killed")


def test_no_mark_while_a_partition_has_not_been_looked_at_since_a_crash(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            await store.acquire(OTHER, SETTINGS)
        os.unlink(tmp_path / ".kafka_cleanshutdown")
        async with LocalStore(tmp_path) as store:
            await store.acquire(TP, SETTINGS)
        assert not has_mark(tmp_path)
        async with LocalStore(tmp_path) as store:
            await store.acquire(TP, SETTINGS)
            await store.acquire(OTHER, SETTINGS)

    asyncio.run(scenario())
    assert has_mark(tmp_path)


def test_a_shared_store_neither_believes_nor_leaves_the_mark(tmp_path):
    asyncio.run(fill(tmp_path))

    async def scenario():
        async with LocalStore(tmp_path, exclusive=False) as store:
            await store.acquire(TP, SMALL)
            assert has_mark(tmp_path)

    asyncio.run(scenario())


def test_a_trusted_log_is_not_scanned_but_its_end_is_checked(tmp_path):
    asyncio.run(fill(tmp_path, SETTINGS))
    log = tmp_path / str(TP) / segment_files(tmp_path / str(TP))[-1]
    flip(log, 100)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            assert (log.end_offset, log.notes) == (30, ())
            with pytest.raises(CorruptLog, match="CRC"):
                contents(log)

    asyncio.run(scenario())


def cut_bytes(count):
    return lambda path: os.truncate(path, path.stat().st_size - count)


def flip_byte(position):
    return lambda path: flip(path, position % path.stat().st_size)


def add(data):
    def damage(path):
        path.write_bytes(path.read_bytes() + data)

    return damage


BATCH_BYTES = len(batch(b"29"))
DAMAGED_ENDS = {
    "one byte missing": cut_bytes(1),
    "most of a batch missing": cut_bytes(BATCH_BYTES - 1),
    "part of two batches missing": cut_bytes(BATCH_BYTES + 1),
    "a flipped bit": flip_byte(-3),
    "a flipped bit in the length": flip_byte(-BATCH_BYTES + 11),
    "zeros behind": add(bytes(4096)),
}
# Whole batches remain, so that nothing but the recovery point can tell.
LOST_ENDS = {
    "a batch missing": cut_bytes(BATCH_BYTES),
    "all batches missing": lambda path: os.truncate(path, 0),
    "the file missing": os.unlink,
}


def last_segment(directory):
    return directory / str(TP) / segment_files(directory / str(TP))[-1]


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_refused(directory, named="byte"):
    """The partition does not open, whoever tries how often, and nothing in it changes."""
    before = files_in(directory / str(TP))

    async def scenario():
        async with LocalStore(directory) as store:
            for _ in range(2):
                with pytest.raises(CorruptLog, match=named) as caught:
                    await store.acquire(TP, SMALL)
            return str(caught.value)

    for _ in range(2):
        message = asyncio.run(scenario())
        assert files_in(directory / str(TP)) == before
    return message


@pytest.mark.parametrize("damage", [*DAMAGED_ENDS, *LOST_ENDS])
def test_what_was_there_at_an_orderly_stop_is_not_cut(tmp_path, damage):
    asyncio.run(fill(tmp_path))
    (DAMAGED_ENDS | LOST_ENDS)[damage](last_segment(tmp_path))
    message = check_refused(tmp_path, last_segment(tmp_path).name)
    assert "restore the file from a copy" in message
    assert f"remove {RECOVERY_POINT}" in message


@pytest.mark.parametrize("damage", sorted({*DAMAGED_ENDS, *LOST_ENDS} - {"zeros behind"}))
def test_nor_is_it_once_a_node_was_killed_that_had_not_opened_it(tmp_path, damage):
    """The mark goes when a node starts, long before the last partition is opened."""
    asyncio.run(fill(tmp_path))
    os.unlink(tmp_path / ".kafka_cleanshutdown")
    (DAMAGED_ENDS | LOST_ENDS)[damage](last_segment(tmp_path))
    check_refused(tmp_path, last_segment(tmp_path).name)


@pytest.mark.parametrize("damage", DAMAGED_ENDS)
def test_a_mark_does_not_hide_a_damaged_end(tmp_path, damage):
    """As Kafka leaves a partition: with the mark, but no recovery point beside the segments."""
    asyncio.run(fill(tmp_path))
    os.unlink(tmp_path / str(TP) / RECOVERY_POINT)
    path = last_segment(tmp_path)
    DAMAGED_ENDS[damage](path)
    check_refused(tmp_path, f"{path.name}, byte [0-9]+: .*yet the last stop was orderly")


def test_a_damaged_end_is_cut_for_whoever_follows_the_advice(tmp_path):
    asyncio.run(fill(tmp_path))
    cut_bytes(1)(last_segment(tmp_path))
    check_refused(tmp_path)
    os.unlink(tmp_path / str(TP) / RECOVERY_POINT)
    os.unlink(tmp_path / ".kafka_cleanshutdown")

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SMALL)
            return log.end_offset, log.notes

    end_offset, notes = asyncio.run(scenario())
    assert end_offset == 29
    assert "torn batch" in notes[0]


def test_what_came_after_the_last_orderly_stop_may_be_torn(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path / "open") as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, b"after")
            copy_killed(tmp_path / "open", tmp_path / "killed")
        cut_bytes(1)(last_segment(tmp_path / "killed"))
        async with LocalStore(tmp_path / "killed") as store:
            log = await store.acquire(TP, SETTINGS)
            return log.end_offset, log.notes

    asyncio.run(fill(tmp_path / "open", SETTINGS))
    end_offset, notes = asyncio.run(scenario())
    assert end_offset == 30
    assert "torn batch" in notes[0]


def test_a_log_of_which_no_segment_is_left_is_not_begun_anew(tmp_path):
    asyncio.run(fill(tmp_path))
    for path in (tmp_path / str(TP)).glob("0*"):
        path.unlink()
    check_refused(tmp_path, f"{RECOVERY_POINT}.* 30, but no segment is left")


@pytest.mark.parametrize("byte", [3, 7])
@pytest.mark.parametrize("entry", [0, -1])
def test_a_mark_does_not_make_wrong_entries_right(tmp_path, byte, entry):
    """An offset or a position that could be true and is not, first or last in the index."""
    dense = SETTINGS._replace(index_interval_bytes=100)
    asyncio.run(fill(tmp_path, dense))
    path = tmp_path / str(TP) / segment_files(tmp_path / str(TP), ".index")[-1]
    flip(path, byte if entry == 0 else path.stat().st_size - 8 + byte)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, dense)
            for offset in range(30):
                assert next(log.batches_from(offset)).header.base_offset == offset

    asyncio.run(scenario())


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"x", b"\0" * 240, b"\x7f" * 24])
def test_a_mark_does_not_make_bad_indexes_good(tmp_path, suffix, content):
    asyncio.run(fill(tmp_path, SETTINGS))
    path = tmp_path / str(TP) / segment_files(tmp_path / str(TP), suffix)[-1]
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            assert contents(log) == [(n, b"%d" % n) for n in range(30)]
            assert log.offset_for_timestamp(1017) == (1017, 17)

    asyncio.run(scenario())


def test_indexes_are_the_same_however_often_the_log_is_closed(tmp_path):
    """Growing in one go or with clean restarts in between: the offset index cannot tell."""

    async def scenario(directory, restarts):
        for first in range(0, 60, 60 // restarts):
            async with LocalStore(directory) as store:
                log = await store.acquire(TP, SMALL)
                for number in range(first, first + 60 // restarts):
                    await write(log, b"%d" % number, timestamps=[1000])
        folder = directory / str(TP)
        return {name: (folder / name).read_bytes() for name in segment_files(folder, "index")}

    once = asyncio.run(scenario(tmp_path / "once", 1))
    assert asyncio.run(scenario(tmp_path / "often", 12)) == once
    assert len(once) > 10
