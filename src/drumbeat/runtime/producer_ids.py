"""Producer ids: each handed out once in the life of a cluster.

A block of ids is reserved durably before the first of it is used, so that a crash skips ids and
never repeats one.
"""

import asyncio
import os
from typing import Protocol

from drumbeat.log.files import Disk, read_file, write_file_atomically
from drumbeat.runtime.data_files import DataFileError
from drumbeat.runtime.durably import durably

BLOCK = 1000  # as Kafka's controller hands them out
FILE = "producer-ids"


class ProducerIdsError(DataFileError):
    """Which ids are reserved cannot be read."""


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

    def check(self) -> None:
        """Raises ProducerIdsError now, rather than when the first producer comes."""
        self._reserved()

    def _reserved(self) -> int:
        """Ids below this may have been handed out."""
        data = read_file(self._path)
        try:
            return 0 if data is None else int(data)
        except ValueError as problem:
            raise ProducerIdsError(
                f"{self._path}: {problem}; restore it, or write a number into it that is higher "
                "than every producer id in the logs"
            ) from problem

    def _reserve(self) -> None:
        start = self._reserved()
        write_file_atomically(Disk(), self._path, f"{start + BLOCK}\n".encode())
        self._next, self._end = start, start + BLOCK
