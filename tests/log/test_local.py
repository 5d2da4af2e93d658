"""The local adapter: the contract."""

import errno
import os
import shutil
import threading
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from drumbeat.log.errors import AppendFailed, LogFull
from drumbeat.log.names import directory_name
from drumbeat.log.store import LocalStore
from log.behaviour import LogBehaviour
from log.contract import LogContract
from log.helpers import FaultyDisk, flip, last_byte_of

ERRORS = {LogFull: ("write_errors", errno.ENOSPC), AppendFailed: ("sync_errors", errno.EIO)}


class GatedDisk(FaultyDisk):
    """Syncs wait, in their worker thread, while the gate is closed."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def sync(self, fd):
        assert self.gate.wait(30), "nobody opened the gate"
        super().sync(fd)


class LocalHarness:
    def __init__(self, path):
        self.path = path
        self.stores = 0
        self.disk = GatedDisk()
        self.stack = AsyncExitStack()

    @asynccontextmanager
    async def store(self):
        async with self.stack:
            yield await self.open()

    async def open(self):
        return await self.stack.enter_async_context(LocalStore(self.directory, disk=self.disk))

    @property
    def directory(self):
        return os.fspath(self.path / str(self.stores))

    async def crash(self, store):
        """Another process would find what is on disk now: a copy of it, opened without a close."""
        before = self.directory
        self.stores += 1
        shutil.copytree(before, self.directory)
        return await self.open()

    def fail_next_sync(self, store, error):
        queue, number = ERRORS[error]
        getattr(self.disk, queue).append(number)

    def hold_syncs(self, store):
        self.disk.gate.clear()

    def release_syncs(self, store):
        self.disk.gate.set()

    def corrupt(self, store, topic_partition, offset):
        directory = os.path.join(self.directory, directory_name(topic_partition))
        path, position = last_byte_of(directory, offset)
        flip(path, position)


class TestLocal(LogContract, LogBehaviour):
    @pytest.fixture
    def harness(self, tmp_path):
        return LocalHarness(tmp_path)
