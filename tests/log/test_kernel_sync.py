"""Syncs without a thread: done and told, refused, failed; on both event loops."""

import asyncio
import errno
import os
import shutil
import threading

import pytest
import uvloop

from drumbeat.log import kernel_sync
from drumbeat.log.commit import SMALL_BYTES_MAX
from drumbeat.log.errors import AppendFailed
from drumbeat.log.files import Disk
from drumbeat.log.journal import FILE
from drumbeat.log.kernel_sync import KernelSync, open_kernel_sync
from drumbeat.log.port import TopicPartition
from drumbeat.log.store import LocalStore
from log.helpers import SETTINGS, FaultyDisk, contents, write

NOT_OPEN = 1_000_000  # a descriptor
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request):
    def run_on_loop(scenario):
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(scenario)

    return run_on_loop


@pytest.fixture
def file(tmp_path):
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


def opened() -> KernelSync:
    kernel = open_kernel_sync(asyncio.get_running_loop())
    assert kernel is not None, "this kernel has AIO"
    return kernel


async def synced(kernel: KernelSync, fd: int) -> OSError | None:
    told = asyncio.get_running_loop().create_future()
    assert kernel.submit([(fd, told.set_result)]) == 1
    return await told


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def sync_threads() -> int:
    return sum(thread.name == "log-sync" for thread in threading.enumerate())


def test_one_sync_after_the_other(run, file):
    async def scenario():
        kernel = opened()
        for number in range(20):
            os.pwrite(file, b"x" * 10_000, number * 10_000)
            assert await synced(kernel, file) is None
        kernel.close()

    run(scenario())


def test_many_syncs_at_a_time_and_no_more_than_the_kernel_was_told_of(run, tmp_path):
    async def scenario():
        kernel = opened()
        descriptors = [
            os.open(tmp_path / f"{number}", os.O_RDWR | os.O_CREAT)
            for number in range(kernel_sync._REQUESTS_MAX + 1)
        ]
        told = [asyncio.get_running_loop().create_future() for _ in descriptors]
        requests = [(fd, done.set_result) for fd, done in zip(descriptors, told, strict=True)]
        assert kernel.submit(requests[:10]) == 10
        assert kernel.submit(requests[10:]) == kernel_sync._REQUESTS_MAX - 10
        assert kernel.submit(requests[-1:]) == 0
        assert not any(await asyncio.gather(*told[:-1]))
        assert await synced(kernel, descriptors[-1]) is None
        kernel.close()
        for fd in descriptors:
            os.close(fd)

    run(scenario())


def test_what_the_kernel_takes_of_several_is_told_and_the_rest_is_not(run, file):
    async def scenario():
        kernel = opened()
        told = [asyncio.get_running_loop().create_future() for _ in range(3)]
        descriptors = (file, NOT_OPEN, file)
        requests = [(fd, done.set_result) for fd, done in zip(descriptors, told, strict=True)]
        assert kernel.submit(requests) == 1
        assert await told[0] is None
        assert await synced(kernel, file) is None
        assert not any(done.done() for done in told[1:])
        kernel.close()

    run(scenario())


def test_syncs_whose_outcome_cannot_be_read_have_failed(run, file):
    async def scenario():
        kernel = opened()
        kernel._calls.results = lambda _context: None
        error = await synced(kernel, file)
        assert error is not None
        assert error.errno == errno.EIO
        kernel.close()

    run(scenario())


def test_the_last_descriptor_may_be_closed_meanwhile(run, tmp_path):
    async def scenario():
        kernel = opened()
        fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
        os.pwrite(fd, bytes(1 << 20), 0)
        waiting = asyncio.ensure_future(synced(kernel, fd))
        await asyncio.sleep(0)
        os.close(fd)
        assert await waiting is None
        kernel.close()

    run(scenario())


def test_nothing_is_left_behind(run, file):
    async def scenario():
        before = open_descriptors()
        kernel = opened()
        assert await synced(kernel, file) is None
        kernel.close()
        assert open_descriptors() == before

    run(scenario())


@pytest.mark.parametrize("path", ["/dev/null", None], ids=["not to be synced", "closed"])
def test_what_cannot_be_synced_is_refused_at_once(run, path):
    async def scenario():
        kernel = opened()
        fd = os.open(path or "/dev/null", os.O_RDWR)
        if path is None:
            os.close(fd)
        assert kernel.submit([(fd, pytest.fail)]) == 0
        if path is not None:
            os.close(fd)
        kernel.close()

    run(scenario())


def test_a_machine_whose_calls_are_not_known_has_none(monkeypatch):
    monkeypatch.setattr(kernel_sync, "_NUMBERS", {})

    async def scenario():
        assert open_kernel_sync(asyncio.get_running_loop()) is None

    asyncio.run(scenario())


def test_a_sandbox_that_forbids_it_has_none(monkeypatch):
    absent = kernel_sync._Numbers(setup=-1, destroy=-1, submit=-1, get_events=-1)
    monkeypatch.setattr(kernel_sync, "_NUMBERS", {os.uname().machine: absent})

    async def scenario():
        assert open_kernel_sync(asyncio.get_running_loop()) is None

    asyncio.run(scenario())


# -- in a store ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("disk", "threads"), [(Disk, 0), (FaultyDisk, 1)])
def test_a_disk_that_syncs_its_own_way_is_asked_each_time(run, tmp_path, disk, threads):
    async def scenario():
        before = sync_threads()
        async with LocalStore(tmp_path, disk=disk()) as store:
            log = await store.acquire(FIRST, SETTINGS)
            for number in range(3):
                assert await write(log, b"kept") == number
            assert sync_threads() == before + threads

    run(scenario())


class FailingKernel:
    """Says of the next sync that it failed."""

    def __init__(self, loop):
        self.loop = loop

    def submit(self, requests):
        for _, done in requests:
            self.loop.call_soon(done, OSError(errno.EIO, "no disk"))
        return len(requests)

    def close(self):
        pass


class RefusingKernel(FailingKernel):
    def submit(self, requests):
        return 0


def test_a_failed_sync_ends_the_round_and_not_the_store(run, tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            first, second = [await store.acquire(tp, SETTINGS) for tp in (FIRST, SECOND)]
            assert [await write(log, b"kept") for log in (first, first, second)] == [0, 1, 0]
            working = store._rounds._kernel_sync
            store._rounds._kernel_sync = FailingKernel(asyncio.get_running_loop())
            with pytest.raises(AppendFailed, match="sync failed: no disk"):
                await write(first, b"lost")
            store._rounds._kernel_sync = working
            assert await write(second, b"later") == 1
            again = await store.acquire(FIRST, SETTINGS)
            assert await write(again, b"more") == 2
            shutil.copytree(tmp_path, f"{tmp_path}-crashed")
        async with LocalStore(f"{tmp_path}-crashed") as store:
            log = await store.acquire(FIRST, SETTINGS)
            assert contents(log) == [(0, b"kept"), (1, b"kept"), (2, b"more")]

    run(scenario())


def test_a_kernel_that_refuses_leaves_it_to_a_thread(run, tmp_path):
    async def scenario():
        before = sync_threads()
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(FIRST, SETTINGS)
            for _ in range(2):
                await write(log, b"kept")
            working = store._rounds._kernel_sync
            store._rounds._kernel_sync = RefusingKernel(asyncio.get_running_loop())
            assert await write(log, b"kept too") == 2
            assert sync_threads() == before + 1
            store._rounds._kernel_sync = working

    run(scenario())


# -- commits that no journal carries ---------------------------------------------------------------

MEDIUM = b"m" * SMALL_BYTES_MAX


def journal_bytes(directory) -> bytes:
    return (directory / FILE).read_bytes()


def test_a_medium_commit_is_synced_where_it_belongs_without_a_thread(run, tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(FIRST, SETTINGS)
            await write(log, b"small")
            before = sync_threads()
            store._rounds.workers = store._rounds.workers._replace(executor=None)  # nobody is asked
            for number in range(1, 4):
                assert await write(log, MEDIUM) == number
            assert sync_threads() == before
            assert MEDIUM[:100] not in journal_bytes(tmp_path)
            store._rounds.workers = store._workers
            shutil.copytree(tmp_path, f"{tmp_path}-crashed")
        async with LocalStore(f"{tmp_path}-crashed") as store:
            log = await store.acquire(FIRST, SETTINGS)
            assert [len(value) for _, value in contents(log)] == [5, *[len(MEDIUM)] * 3]

    run(scenario())


def test_a_failed_sync_of_a_medium_commit_takes_it_back(run, tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            first, second = [await store.acquire(tp, SETTINGS) for tp in (FIRST, SECOND)]
            assert [await write(log, b"kept") for log in (first, second)] == [0, 0]
            working = store._rounds._kernel_sync
            store._rounds._kernel_sync = FailingKernel(asyncio.get_running_loop())
            with pytest.raises(AppendFailed, match="sync failed: no disk"):
                await write(first, MEDIUM)
            store._rounds._kernel_sync = working
            assert await write(second, MEDIUM) == 1
            again = await store.acquire(FIRST, SETTINGS)
            assert contents(again) == [(0, b"kept")]
            assert await write(again, MEDIUM) == 1

    run(scenario())


def test_a_kernel_that_refuses_leaves_a_medium_commit_to_a_worker(run, tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(FIRST, SETTINGS)
            await write(log, b"small")
            working = store._rounds._kernel_sync
            store._rounds._kernel_sync = RefusingKernel(asyncio.get_running_loop())
            assert await write(log, MEDIUM) == 1
            store._rounds._kernel_sync = working
            assert contents(log) == [(0, b"small"), (1, MEDIUM)]

    run(scenario())
