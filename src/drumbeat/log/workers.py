"""The worker threads of a store, and how their disk errors reach the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple, TypeVar

from drumbeat.log.errors import LogError, LogFull
from drumbeat.log.files import FULL_ERRNOS, Disk

T = TypeVar("T")


class Workers(NamedTuple):
    """What all partitions of a store share: several syncs in flight let the disk combine them."""

    disk: Disk
    executor: Executor

    async def run(self, directory: str, function: Callable[..., T], *args: object) -> T:
        """Call in a worker thread; an OSError comes back as a LogError that names the directory."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.executor, function, *args)
        except OSError as error:
            kind = LogFull if error.errno in FULL_ERRNOS else LogError
            raise kind(f"{directory}: {error}") from error
