"""One sync for many partitions: small commits are written twice, and only the second write waits.

A commit goes to its segment without a sync, and to the journal, which all partitions of a store
share; one fdatasync of the journal makes the commits of all of them durable. The journal's blocks
are allocated once and overwritten, so that sync carries no metadata. When the journal is full,
the segments it speaks of are synced and it begins anew. After a crash its entries are written to
their segments again, byte for byte where they belong, before any log is opened.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Final

from drumbeat.log.files import Disk, sync_directory, sync_file
from drumbeat.log.journal_format import (
    BLOCK,
    Entry,
    encode_header,
    encode_round,
    read_generation,
)
from drumbeat.log.writing import write_all

FILE: Final = ".drumbeat-journal"
FILE_BYTES = 32 << 20
_GROWTH: Final = 1 << 20


class Journal:
    """Threads take turns. Only `try_write`, which waits for nothing, is for the event loop."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._turn = threading.Lock()
        self._disk = disk
        self._path = os.path.join(directory, FILE)
        self._fd: int | None = None
        self._generation = 0
        self._end = BLOCK
        self._allocated = 0
        self._unsynced: dict[tuple[str, int], int] = {}  # segment -> our own descriptor of it

    def append(self, entries: Sequence[Entry], descriptors: Sequence[int]) -> None:
        """Make the entries durable; their segments, by descriptor, are synced some time later."""
        with self._turn:
            encoded, size = encode_round(entries, self._generation)
            if self._fd is None or self._end + size > FILE_BYTES:
                self._checkpoint()
                encoded, size = encode_round(entries, self._generation)
            fd = self._opened()
            self._allocate(fd, self._end + size)
            self._write(fd, encoded, size)
            self._note(entries, descriptors)
            sync_file(self._disk, fd)

    def try_write(self, entries: Sequence[Entry], descriptors: Sequence[int]) -> bool:
        """Write the entries to the page cache; `sync` makes them durable.

        False if it takes a worker: the file has to grow or to begin anew, or it is another's turn.
        """
        if not self._turn.acquire(blocking=False):
            return False
        try:
            encoded, size = encode_round(entries, self._generation)
            fd = self._fd
            if fd is None or self._end + size > min(self._allocated, FILE_BYTES):
                return False
            self._write(fd, encoded, size)
            self._note(entries, descriptors)
        except OSError:
            return False  # whoever tries again will tell
        finally:
            self._turn.release()
        return True

    @property
    def descriptor(self) -> int:
        """A sync of it makes durable what `try_write` wrote.

        Nobody's turn: if the journal begins anew meanwhile, the segments were synced before.
        """
        assert self._fd is not None
        return self._fd

    def sync(self) -> None:
        sync_file(self._disk, self.descriptor)

    def _write(self, fd: int, encoded: list[bytes | memoryview], size: int) -> None:
        write_all(self._disk, fd, encoded, self._end)
        self._end += size

    def _note(self, entries: Sequence[Entry], descriptors: Sequence[int]) -> None:
        """Remember which segments have to be synced before the journal may begin anew."""
        unsynced = self._unsynced
        for entry, descriptor in zip(entries, descriptors, strict=True):
            key = entry[:2]
            if key not in unsynced:
                unsynced[key] = os.dup(descriptor)

    def forget(self, directory: str) -> None:
        """Say nothing more of a partition, because it is going to be removed."""
        with self._turn:
            if any(name == directory for name, _ in self._unsynced):
                self._checkpoint()

    def abandon(self) -> None:
        """After a failed sync nobody knows what the file holds, so it must not be replayed.

        What it made durable before is synced where it belongs; the next append begins a new file.
        """
        with self._turn:
            self._sync_segments()
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
            os.unlink(self._path)
            sync_directory(os.path.dirname(self._path))

    def _sync_segments(self) -> None:
        for descriptor in self._unsynced.values():
            sync_file(self._disk, descriptor)
        self._close_descriptors()

    def _checkpoint(self) -> None:
        """Sync every segment the journal speaks of, and begin it anew."""
        self._sync_segments()
        fd = self._opened()
        self._allocate(fd, BLOCK)
        self._generation += 1
        self._end = BLOCK
        write_all(self._disk, fd, [encode_header(self._generation)], 0)
        sync_file(self._disk, fd)

    def close(self) -> None:
        """Leave no entry behind; raises what a failing disk raises."""
        with self._turn:
            try:
                if self._unsynced:
                    self._checkpoint()
            finally:
                self._close_descriptors()
                if self._fd is not None:
                    os.close(self._fd)
                    self._fd = None

    def _close_descriptors(self) -> None:
        for descriptor in self._unsynced.values():
            os.close(descriptor)
        self._unsynced.clear()

    def _opened(self) -> int:
        if self._fd is None:
            self._fd = self._disk.create(self._path)
            sync_directory(os.path.dirname(self._path))
            self._allocated = os.fstat(self._fd).st_size
            self._generation = read_generation(self._fd) or 0
        return self._fd

    def _allocate(self, fd: int, size: int) -> None:
        """Blocks that were written before are overwritten in place; their sync is the cheap one."""
        while self._allocated < size:
            write_all(self._disk, fd, [bytes(_GROWTH)], self._allocated)
            self._allocated += _GROWTH
            sync_file(self._disk, fd)
