"""The mark of a clean shutdown: who leaves it, who believes it, and what it saves."""

import asyncio
import os
import shutil

import pytest

from drumbeat.log.errors import CorruptLog
from drumbeat.log.port import TopicPartition
from drumbeat.log.store import LocalStore
from log.helpers import SETTINGS, SMALL, TP, contents, flip, segment_files, write

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


@pytest.mark.parametrize("cut", [1, 30, 77])
def test_a_mark_does_not_hide_a_torn_end(tmp_path, cut):
    asyncio.run(fill(tmp_path, SETTINGS))
    path = tmp_path / str(TP) / segment_files(tmp_path / str(TP))[-1]
    os.truncate(path, path.stat().st_size - cut)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            return log.end_offset, log.notes

    end_offset, notes = asyncio.run(scenario())
    assert end_offset == 29 if cut < 70 else end_offset == 28
    assert "torn batch" in notes[0]


def test_a_mark_does_not_hide_a_spoiled_end(tmp_path):
    asyncio.run(fill(tmp_path, SETTINGS))
    path = tmp_path / str(TP) / segment_files(tmp_path / str(TP))[-1]
    flip(path, path.stat().st_size - 3)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            return log.end_offset, log.notes

    end_offset, notes = asyncio.run(scenario())
    assert end_offset == 29
    assert "CRC" in notes[0]


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
