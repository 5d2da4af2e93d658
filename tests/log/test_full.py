"""No space left: writes are refused, reads go on, nothing acknowledged is lost."""

import asyncio
import errno
import os
import resource
from contextlib import contextmanager

import pytest

from drumbeat.log.errors import AppendFailed, LogFull
from drumbeat.log.store import LocalStore
from log.helpers import SETTINGS, SMALL, TP, FaultyDisk, append, batch, contents, write


@contextmanager
def file_size_limit(size):
    """The system itself refuses larger files; no privilege is needed for this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def files(directory):
    folder = directory / str(TP)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_system_refuses_and_the_log_goes_on_when_it_no_longer_does(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            for number in range(10):
                await write(log, b"%d" % number)
            before = files(tmp_path)
            with file_size_limit(log.size_bytes + 100):
                append(log, b"fits")
                append(log, b"does not fit" * 10)
                with pytest.raises(LogFull, match=r"File too large.*nothing of it remains"):
                    await log.sync()
                assert contents(log) == [(n, b"%d" % n) for n in range(10)]
                assert log.end_offset == 10
                assert files(tmp_path) == before
                assert await write(log, b"fits") == 10
            assert await write(log, b"does not fit" * 10) == 11
        async with LocalStore(tmp_path) as store:
            return [offset for offset, _ in contents(await store.acquire(TP, SETTINGS))]

    assert asyncio.run(scenario()) == list(range(12))


def test_a_disk_that_fills_up_at_any_byte_leaves_no_trace_of_the_commit(tmp_path):
    """The commit rolls twice, so it also fails between data, indexes and new segments."""
    disk = FaultyDisk()
    values = [b"x" * 100, b"y" * 100, b"z" * 100, b"w" * 100, b"v" * 100]
    needed = sum(len(batch(value)) for value in values)

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SMALL._replace(segment_bytes=420))
            await write(log, b"kept")
            before = files(tmp_path)
            for bytes_left in range(0, needed, 13):
                disk.bytes_left = bytes_left
                for value in values:
                    append(log, value)
                with pytest.raises(LogFull):
                    await log.sync()
                assert files(tmp_path) == before or without_indexes(before) == without_indexes(
                    files(tmp_path)
                )
                assert contents(log) == [(0, b"kept")]
                assert (log.end_offset, log.size_bytes) == (1, len(batch(b"kept")))
            disk.bytes_left = None
            for value in values:
                append(log, value)
            await log.sync()
            return contents(log)

    assert asyncio.run(scenario()) == list(enumerate([b"kept", *values]))


def test_refused_commits_leave_no_trace_in_the_indexes(tmp_path):
    """An index built between failures equals one that never saw any."""

    async def scenario(directory, failures):
        disk = FaultyDisk()
        async with LocalStore(directory, disk=disk) as store:
            log = await store.acquire(TP, SETTINGS._replace(index_interval_bytes=100))
            for number in range(20):
                for _ in range(failures):
                    disk.bytes_left = 10
                    for size in (300, 7, 150):
                        append(log, b"x" * size, timestamps=[9999])
                    with pytest.raises(LogFull):
                        await log.sync()
                    disk.bytes_left = None
                await write(log, b"%d" % number * 10, timestamps=[1000 + number])
                assert log.max_timestamp() == (1000 + number, number)
            assert [offset for offset, _ in contents(log)] == list(range(20))
        found = files(directory)
        return {name: data for name, data in found.items() if name.endswith("index")}

    undisturbed = asyncio.run(scenario(tmp_path / "a", 0))
    assert asyncio.run(scenario(tmp_path / "b", 2)) == undisturbed
    assert all(undisturbed.values())


def without_indexes(found):
    return {name: data for name, data in found.items() if not name.endswith("index")}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_every_way_to_be_full_is_full(tmp_path, number):
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SETTINGS)
            disk.write_errors.append(number)
            append(log, b"x")
            with pytest.raises(LogFull, match=os.strerror(number)):
                await log.sync()
            await write(log, b"y")
            return contents(log)

    assert asyncio.run(scenario()) == [(0, b"y")]


def test_no_space_for_a_new_segment(tmp_path):
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SMALL)
            while log.size_bytes < 300:
                await write(log, b"x")
            end_offset = log.end_offset
            # The old segment's two indexes are written first, then the new files are created.
            disk.create_errors.extend([None, None, errno.ENOSPC])
            append(log, b"y" * 100)
            with pytest.raises(LogFull):
                await log.sync()
            assert len(list((tmp_path / str(TP)).glob("*.log"))) == 1
            assert await write(log, b"y" * 100) == end_offset

    asyncio.run(scenario())


def test_no_space_for_the_epoch(tmp_path):
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, b"x")
            await log.release()
            disk.write_errors.append(errno.ENOSPC)
            with pytest.raises(LogFull, match="No space left"):
                await store.acquire(TP, SETTINGS)
            again = await store.acquire(TP, SETTINGS)
            assert again.epoch == log.epoch + 1
            return contents(again)

    assert asyncio.run(scenario()) == [(0, b"x")]


def test_retention_still_frees_space_on_a_full_disk(tmp_path):
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SMALL._replace(retention_ms=1))
            for number in range(20):
                await write(log, b"%d" % number)
            disk.bytes_left = 0
            with pytest.raises(LogFull):
                await log.enforce_retention(10**9)
            disk.bytes_left = None
            assert 0 < log.start_offset < 20
            assert log.size_bytes <= SMALL.segment_bytes
            return contents(log)[-1]

    assert asyncio.run(scenario()) == (19, b"19")


@pytest.mark.parametrize(
    ("queue", "number"),
    [("write_errors", errno.EIO), ("sync_errors", errno.EIO), ("sync_errors", errno.ENOSPC)],
)
def test_any_other_failure_ends_the_handle_and_reads_go_on(tmp_path, queue, number):
    """A failed fsync is never tried again: the kernel may have dropped the pages."""
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, b"kept")
            getattr(disk, queue).append(number)
            append(log, b"lost")
            with pytest.raises(AppendFailed, match="acquire the partition again"):
                await log.sync()
            with pytest.raises(AppendFailed):
                append(log, b"more")
            assert contents(log) == [(0, b"kept")]
            again = await store.acquire(TP, SETTINGS)
            assert await write(again, b"more") == 1
            return contents(again)

    assert asyncio.run(scenario()) == [(0, b"kept"), (1, b"more")]


def test_a_full_disk_that_cannot_even_be_tidied_ends_the_handle(tmp_path):
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SETTINGS)
            disk.write_errors.append(errno.ENOSPC)
            disk.truncate_errors.append(errno.EIO)
            append(log, b"x")
            with pytest.raises(AppendFailed):
                await log.sync()

    asyncio.run(scenario())


def test_a_store_that_lost_a_partition_to_its_disk_is_not_clean(tmp_path):
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SETTINGS)
            disk.sync_errors.append(errno.EIO)
            append(log, b"x")
            with pytest.raises(AppendFailed):
                await log.sync()

    asyncio.run(scenario())
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
