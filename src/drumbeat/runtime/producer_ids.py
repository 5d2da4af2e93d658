"""Producer ids: each handed out once in the life of a cluster.

A block of ids is reserved durably before the first of it is used, so that a crash skips ids and
never repeats one.
"""

import asyncio
import os
from typing import Protocol

from drumbeat.log.files import Disk, read_file, write_file_atomically
from drumbeat.runtime.durably import durably

BLOCK = 1000  # as Kafka's controller hands them out
FILE = "producer-ids"


class ProducerIds(Protocol):
    async def next_id(self) -> int: ...


class MemoryProducerIds:
    def __init__(self) -> None:
        self._next = 0

    async def next_id(self) -> int:
        self._next += 1
        return self._next - 1


class FileProducerIds:
    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(data_dir, FILE)
        self._next = 0
        self._end = 0
        self._reserving = asyncio.Lock()

    async def next_id(self) -> int:
        async with self._reserving:
            if self._next == self._end:
                await durably(self._reserve)
            self._next += 1
            return self._next - 1

    def _reserve(self) -> None:
        start = int(read_file(self._path) or b"0")
        write_file_atomically(Disk(), self._path, f"{start + BLOCK}\n".encode())
        self._next, self._end = start, start + BLOCK
