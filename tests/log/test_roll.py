"""When a log begins a new segment: size, age, full indexes, offsets too far apart."""

import asyncio
import os

import pytest

from drumbeat.log.files import Disk
from drumbeat.log.port import LogSettings
from drumbeat.log.store import LocalStore
from drumbeat.protocol.records import Record, encode_batch
from log.helpers import SETTINGS, TP, batch, contents, segment_files, write

SIZE = len(batch(b"x" * 30))


def bases(directory):
    return [int(name[:20]) for name in segment_files(directory / str(TP))]


def fill(directory, settings, timestamps):
    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, settings)
            for timestamp in timestamps:
                await write(log, b"x" * 30, timestamps=[timestamp])
            assert len(contents(log)) == len(timestamps)

    asyncio.run(scenario())
    return bases(directory)


@pytest.mark.parametrize(
    ("segment_bytes", "expected"),
    [(10 * SIZE, [0]), (4 * SIZE, [0, 4]), (4 * SIZE - 1, [0, 3, 6]), (SIZE, list(range(8)))],
)
def test_roll_by_size(tmp_path, segment_bytes, expected):
    settings = SETTINGS._replace(segment_bytes=segment_bytes)
    assert fill(tmp_path, settings, [1] * 8) == expected


@pytest.mark.parametrize(
    ("timestamps", "expected"),
    [
        ([0, 50, 100, 101, 150, 201, 202], [0, 3, 6]),  # counted from the segment's first batch
        ([100, 0, 200, 201], [0, 3]),
        ([-1, 1000, 5000], [0]),  # no timestamp to count from
    ],
)
def test_roll_by_age(tmp_path, timestamps, expected):
    assert fill(tmp_path, SETTINGS._replace(segment_ms=100), timestamps) == expected


@pytest.mark.parametrize(
    ("index_bytes", "expected"), [(24, [0, 2, 4, 6]), (36, [0, 3, 6]), (800, [0])]
)
def test_roll_when_an_index_is_full(tmp_path, index_bytes, expected):
    """Each batch but a segment's first gets an entry; 24 bytes hold two, one slot kept free."""
    settings = LogSettings(index_interval_bytes=1, segment_index_bytes=index_bytes)
    assert fill(tmp_path, settings, range(1, 9)) == expected


def test_roll_when_offsets_are_too_far_apart_for_an_index(tmp_path):
    far = 2**31 - 2
    wide = encode_batch([Record(0, 1, None, b"a"), Record(far, 1, None, b"b")])

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, b"0")
            assert log.append(wide, expected=1) == 1
            assert log.append(batch(b"next"), expected=far + 2) == far + 2
            await log.sync()
            return contents(log)

    found = asyncio.run(scenario())
    assert [offset for offset, _ in found] == [0, 1, far + 1, far + 2]
    assert bases(tmp_path) == [0, far + 2]


def test_several_rolls_in_one_sync_and_then_a_restart(tmp_path):
    settings = SETTINGS._replace(segment_bytes=2 * SIZE)

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, settings)
            for number in range(9):
                log.append(batch(b"%30d" % number), expected=number)
            await log.sync()
            first = contents(log)
            await log.release()
            assert contents(await store.acquire(TP, settings)) == first
            return first

    assert asyncio.run(scenario()) == [(n, b"%30d" % n) for n in range(9)]
    assert bases(tmp_path) == [0, 2, 4, 6, 8]


class RecordingDisk(Disk):
    """Knows which files were written and not synced since, and what was created meanwhile."""

    def __init__(self):
        self.unsynced = set()
        self.created_too_early = []

    def create(self, path, *, flags=0):
        logs = {name for name in self.unsynced if name.endswith(".log")}
        if path.endswith(".log") and logs:
            self.created_too_early.append((path, logs))
        return super().create(path, flags=flags)

    def write(self, fd, buffers, position):
        self.unsynced.add(os.readlink(f"/proc/self/fd/{fd}"))
        return super().write(fd, buffers, position)

    def sync(self, fd):
        super().sync(fd)
        self.unsynced.discard(os.readlink(f"/proc/self/fd/{fd}"))


@pytest.mark.parametrize("per_sync", [1, 3, 10])
def test_a_segment_is_durable_before_its_successor_exists(tmp_path, per_sync):
    """Also where the commit that ends it brings it nothing new, and a journal held the rest."""
    disk = RecordingDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, SETTINGS._replace(segment_bytes=4 * SIZE))
            for number in range(40):
                log.append(batch(b"x" * 30), expected=number)
                if number % per_sync == 0:
                    await log.sync()

    asyncio.run(scenario())
    assert len(bases(tmp_path)) == 10
    assert disk.created_too_early == []


def test_new_settings_take_effect_with_the_next_batch(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, b"a")
            await write(log, b"b")
            log.configure(SETTINGS._replace(segment_bytes=SIZE))
            assert log.settings.segment_bytes == SIZE
            await write(log, b"c")
            await write(log, b"d")

    asyncio.run(scenario())
    assert bases(tmp_path) == [0, 2, 3]
