"""Room for segments that grow fast: taken ahead, never seen by readers, given back."""

import asyncio
import errno
import os

import pytest

from drumbeat.log import room
from drumbeat.log.commit import SMALL_BYTES_MAX
from drumbeat.log.files import Disk
from drumbeat.log.port import LogSettings
from drumbeat.log.store import LocalStore
from log.helpers import SETTINGS, TP, contents, segment_files, write

MEDIUM = b"m" * (2 * SMALL_BYTES_MAX)
LARGE = b"l" * (2 << 20)  # too large for the event loop to write
ROOMY = LogSettings(batch_bytes_max=4 << 20)
ROLLING = LogSettings(segment_bytes=len(MEDIUM) * 3)  # with their headers two of them fit
BLOCK_BYTES = 512  # in which `st_blocks` counts
SLACK_BYTES = 64 << 10  # blocks that a file system may take for itself


def size_of(path) -> int:
    return os.stat(path).st_size


def spare_bytes(path) -> int:
    """What a file takes of the disk beyond its size."""
    return os.stat(path).st_blocks * BLOCK_BYTES - size_of(path)


@pytest.fixture
def directory(tmp_path):
    with open(tmp_path / "probe", "wb") as file:
        file.write(MEDIUM)
        file.flush()
        segment = type("Probe", (), {"room_end": 0})
        room.make_room(segment, file.fileno(), len(MEDIUM), 2 * len(MEDIUM))
    if spare_bytes(tmp_path / "probe") < len(MEDIUM):
        pytest.skip("this file system gives no room ahead")
    os.unlink(tmp_path / "probe")
    return tmp_path


def segments(directory) -> list[str]:
    partition = directory / str(TP)
    return [os.path.join(partition, name) for name in segment_files(partition)]


@pytest.mark.parametrize("value", [MEDIUM, LARGE], ids=["medium", "large"])
def test_a_growing_segment_has_room_until_the_log_is_closed(directory, value):
    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, ROOMY)
            for _ in range(4):
                await write(log, value)
            (path,) = segments(directory)
            assert len(value) < spare_bytes(path) <= room.ROOM_BYTES_MAX + SLACK_BYTES
            assert size_of(path) == log.size_bytes
        assert spare_bytes(path) < SLACK_BYTES
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, SETTINGS)
            assert [found for _, found in contents(log)] == [value] * 4

    asyncio.run(scenario())


def test_small_commits_take_none(directory):
    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, SETTINGS)
            for _ in range(50):
                await write(log, b"small")
            (path,) = segments(directory)
            assert spare_bytes(path) < SLACK_BYTES

    asyncio.run(scenario())


def test_a_segment_that_is_full_gives_it_back(directory):
    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, ROLLING)
            for _ in range(5):
                await write(log, MEDIUM)
            *full, growing = segments(directory)
            assert len(full) == 2
            assert all(spare_bytes(path) < SLACK_BYTES for path in full)
            assert spare_bytes(growing) > len(MEDIUM)

    asyncio.run(scenario())


class NoRoom:
    """As where the file system has no such thing, or no space."""

    def __call__(self, *_arguments: int) -> int:
        return -1


@pytest.mark.parametrize("fallocate", [None, NoRoom()], ids=["unknown", "refused"])
def test_without_room_everything_is_written_all_the_same(tmp_path, monkeypatch, fallocate):
    monkeypatch.setattr(room, "_fallocate", lambda: fallocate)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            for _ in range(3):
                await write(log, MEDIUM)
            assert [found for _, found in contents(log)] == [MEDIUM] * 3

    asyncio.run(scenario())


class KeepingDisk(Disk):
    """Does not let go of what it has given."""

    def truncate(self, fd: int, size: int) -> None:
        raise OSError(errno.EIO, "no")


def test_room_that_cannot_be_given_back_is_left(directory):
    async def scenario():
        async with LocalStore(directory, disk=KeepingDisk()) as store:
            log = await store.acquire(TP, SETTINGS)
            for _ in range(2):
                await write(log, MEDIUM)
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, SETTINGS)
            assert [found for _, found in contents(log)] == [MEDIUM] * 2

    asyncio.run(scenario())
