"""Whether the data directory can still be used, asked so that a disk that hangs holds nobody up."""

import asyncio
import os
from typing import Final, NamedTuple

PROBE_TIMEOUT_S: Final = 5.0


class DiskStatus(NamedTuple):
    """`problem` says what is wrong; the sizes are known only if nothing is."""

    problem: str | None
    free_bytes: int = 0
    total_bytes: int = 0


class DiskProbe:
    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._looking: asyncio.Task[DiskStatus] | None = None

    async def look(self) -> DiskStatus:
        """A look that has not come back is waited for again: threads must not pile up behind it."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(_look, self._directory))
        await asyncio.wait({self._looking}, timeout=PROBE_TIMEOUT_S)
        if not self._looking.done():
            return DiskStatus(f"the data directory does not answer within {PROBE_TIMEOUT_S:g} s")
        return self._looking.result()

    def stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()


def _look(directory: str) -> DiskStatus:
    try:
        space = os.statvfs(directory)
        os.listdir(directory)
    except OSError as problem:
        return DiskStatus(f"the data directory cannot be read: {problem.strerror}")
    if not os.access(directory, os.W_OK | os.X_OK):
        return DiskStatus("the data directory cannot be written")
    return DiskStatus(None, space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize)
