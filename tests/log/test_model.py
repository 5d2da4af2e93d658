"""Random lives of a log against a list: whatever is done to it, it answers as the list does."""

import asyncio
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.log.errors import LogFull
from drumbeat.log.memory import MemoryStore
from drumbeat.log.store import LocalStore
from log.helpers import SMALL, TP, FaultyDisk, append, contents, records

appends = st.tuples(
    st.just("append"),
    st.lists(st.tuples(st.integers(0, 120), st.integers(0, 40)), min_size=1, max_size=3),
)
STEPS = st.lists(
    st.one_of(
        appends,
        appends,
        appends,
        st.tuples(st.just("sync"), st.none()),
        st.tuples(st.just("fail"), st.none()),
        st.tuples(st.just("restart"), st.booleans()),
        st.tuples(st.just("trim"), st.integers(0, 100)),
        st.tuples(st.just("configure"), st.sampled_from([500, 900, 2000])),
    ),
    max_size=25,
)


class Life:
    """A log and the list of (value, timestamp) it should hold; `synced` of them are durable."""

    def __init__(self):
        self.expected = []
        self.synced = 0
        self.start = 0
        self.settings = SMALL._replace(segment_bytes=500)

    async def open(self):
        raise AssertionError("each adapter opens its own way")

    async def append(self, sizes):
        values = [(b"%03d" % (len(self.expected) + n)) * (size // 3) for n, (size, _) in
                  enumerate(sizes)]  # fmt: skip
        times = [timestamp for _, timestamp in sizes]
        base_offset = append(self.log, *values, timestamps=times)
        assert base_offset == len(self.expected)
        self.expected += zip(values, times, strict=True)

    async def sync(self, _):
        assert await self.log.sync() == len(self.expected)
        self.synced = len(self.expected)

    async def fail(self, _):
        if self.synced < len(self.expected):
            self.fail_next_sync()
            with pytest.raises(LogFull):
                await self.log.sync()
            del self.expected[self.synced :]

    async def restart(self, is_clean):
        if is_clean:
            await self.log.release()
            self.synced = len(self.expected)
        else:
            await self.crash()
            del self.expected[self.synced :]
        await self.open()

    async def trim(self, percent):
        offset = self.synced * percent // 100
        self.start = max(self.start, offset)
        assert await self.log.delete_records_before(offset) == self.start

    async def configure(self, segment_bytes):
        self.settings = SMALL._replace(segment_bytes=segment_bytes)
        self.log.configure(self.settings)

    def check(self):
        log = self.log
        assert (log.start_offset, log.synced_offset) == (self.start, self.synced)
        assert log.end_offset == len(self.expected)
        durable = list(enumerate(self.expected[: self.synced]))
        found = [(r.offset, (r.value, r.timestamp)) for r in records(log) if r.offset >= self.start]
        assert found == durable[self.start :]
        for asked in (0, 15, 40):
            late = [(t, n) for n, (_, t) in durable[self.start :] if t >= asked]
            assert log.offset_for_timestamp(asked) == (late[0] if late else None)
        for offset in {self.start, (self.start + self.synced) // 2, self.synced}:
            assert bool(log.read(offset, 1)) == (offset < self.synced)


class LocalLife(Life):
    def __init__(self, path):
        super().__init__()
        self.path = path
        self.copies = 0
        self.disk = FaultyDisk()
        self.store = None

    async def open(self):
        if self.store is None:
            self.store = LocalStore(self.path / str(self.copies), disk=self.disk)
            await self.store.open()
        self.log = await self.store.acquire(TP, self.settings)

    def fail_next_sync(self):
        self.disk.bytes_left = 40

    async def fail(self, nothing):
        await super().fail(nothing)
        self.disk.bytes_left = None

    async def crash(self):
        before, self.copies = self.path / str(self.copies), self.copies + 1
        shutil.copytree(before, self.path / str(self.copies))
        await self.close()
        self.store = None

    async def close(self):
        await self.store.close()
        shutil.rmtree(self.path / str(self.copies - 1), ignore_errors=True)


class MemoryLife(Life):
    def __init__(self):
        super().__init__()
        self.store = MemoryStore()

    async def open(self):
        self.log = await self.store.acquire(TP, self.settings)

    def fail_next_sync(self):
        self.store.faults.fail_next_sync(LogFull)

    async def crash(self):
        self.store.power_cut()

    async def close(self):
        await self.store.close()


async def live(life, steps):
    await life.open()
    for name, argument in steps:
        await getattr(life, name)(argument)
        life.check()
    assert len(contents(life.log)) >= life.synced - life.start
    await life.close()


@given(STEPS)
@settings(max_examples=80)
def test_memory_lives_as_the_model(steps):
    asyncio.run(live(MemoryLife(), steps))


@given(STEPS)
@settings(max_examples=40)
def test_local_lives_as_the_model(tmp_path_factory, steps):
    asyncio.run(live(LocalLife(tmp_path_factory.mktemp("life")), steps))
