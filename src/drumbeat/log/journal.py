"""One sync for many partitions: small commits are written twice, and only the second write waits.

A commit goes to its segment without a sync, and to the journal, which all partitions of a store
share; one fdatasync of the journal makes the commits of all of them durable. The journal's blocks
are allocated once and overwritten, so that sync carries no metadata. When the journal is full,
the segments it speaks of are synced and it begins anew. After a crash its entries are written to
their segments again, byte for byte where they belong, before any log is opened.

Layout: a block with magic, version and generation; then entries, each with a CRC-32C over the
rest of it. An entry counts if its generation is the file's.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import (
    Disk,
    open_for_reading,
    read_exactly,
    sync_directory,
    sync_file,
)
from drumbeat.log.writing import joined, write_all
from drumbeat.protocol.crc import crc32c

FILE: Final = ".drumbeat-journal"
FILE_BYTES = 32 << 20

_BLOCK: Final = 4096
_GROWTH: Final = 1 << 20
_MAGIC: Final = b"DRUMJRNL"
_VERSION: Final = 1
# Magic, version, generation, and the crc of what stands before.
_FILE_HEADER: Final = struct.Struct(">8sIQI")
_CRC: Final = struct.Struct(">I")
# Data size, generation, base offset, position, name size.
_ENTRY_FIELDS: Final = struct.Struct(">IQqqH")
_ENTRY_HEADER: Final = struct.Struct(">IIQqqH")  # the same behind their crc


class Entry(NamedTuple):
    """Bytes that belong into one segment at one position."""

    directory: str  # a partition's, by name only
    base_offset: int
    position: int
    buffers: Sequence[bytes | memoryview]


class Journal:
    """Threads take turns. Only `try_write`, which waits for nothing, is for the event loop."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._turn = threading.Lock()
        self._disk = disk
        self._path = os.path.join(directory, FILE)
        self._fd: int | None = None
        self._generation = 0
        self._end = _BLOCK
        self._allocated = 0
        self._unsynced: dict[tuple[str, int], int] = {}  # segment -> our own descriptor of it

    def append(self, entries: Sequence[Entry], descriptors: Sequence[int]) -> None:
        """Make the entries durable; their segments, by descriptor, are synced some time later."""
        with self._turn:
            encoded = encode_entries(entries, self._generation)
            size = sum(map(len, encoded))
            if self._fd is None or self._end + size > FILE_BYTES:
                self._checkpoint()
                encoded = encode_entries(entries, self._generation)
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
            encoded = encode_entries(entries, self._generation)
            size = sum(map(len, encoded))
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
        write_all(self._disk, fd, joined(encoded, size), self._end)
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
        self._allocate(fd, _BLOCK)
        self._generation += 1
        self._end = _BLOCK
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


def encode_header(generation: int) -> bytes:
    fields = _FILE_HEADER.pack(_MAGIC, _VERSION, generation, 0)[:-4]
    return fields + _CRC.pack(crc32c(fields))


def read_generation(fd: int) -> int | None:
    """None for a file that has never been begun, or whose beginning was cut off."""
    data = read_exactly(fd, _FILE_HEADER.size, 0)
    if len(data) < _FILE_HEADER.size:
        return None
    magic, version, generation, crc = _FILE_HEADER.unpack(data)
    if magic != _MAGIC or version != _VERSION or crc != crc32c(data[:-4]):
        return None
    return int(generation)


def encode_entries(entries: Iterable[Entry], generation: int) -> list[bytes | memoryview]:
    """In parts: the data is not copied."""
    parts: list[bytes | memoryview] = []
    for directory, base_offset, position, buffers in entries:
        name = directory.encode()
        size = sum(map(len, buffers))
        fields = _ENTRY_FIELDS.pack(size, generation, base_offset, position, len(name)) + name
        crc = crc32c(fields)
        for buffer in buffers:
            crc = crc32c(buffer, crc, gil_release_mode=0)
        parts += (_CRC.pack(crc), fields, *buffers)
    return parts


def read_entries(fd: int) -> list[Entry]:
    """All entries of the file's generation, in the order they were made durable."""
    generation = read_generation(fd)
    if generation is None:
        return []
    data = read_exactly(fd, os.fstat(fd).st_size, 0)
    entries, position = [], _BLOCK
    while (found := _read_entry(data, position, generation)) is not None:
        entry, position = found
        entries.append(entry)
    return entries


def _read_entry(data: bytes, position: int, generation: int) -> tuple[Entry, int] | None:
    if position + _ENTRY_HEADER.size > len(data):
        return None
    crc, size, of_generation, base_offset, at, name_size = _ENTRY_HEADER.unpack_from(data, position)
    start = position + _ENTRY_HEADER.size
    end = start + name_size + size
    if of_generation != generation or end > len(data):
        return None
    if crc32c(memoryview(data)[position + 4 : end]) != crc:
        return None
    name = data[start : start + name_size].decode()
    return Entry(name, base_offset, at, (data[start + name_size : end],)), end


def check_header(fd: int, path: str) -> None:
    """Raises CorruptLog for a file that begins with anything but a journal's header, or nothing."""
    beginning = read_exactly(fd, _FILE_HEADER.size, 0)
    if len(beginning) == _FILE_HEADER.size and any(beginning) and read_generation(fd) is None:
        found = "not the beginning of a journal"
        raise CorruptLog(path, 0, found, "restore it, or move it away and lose what it alone holds")


def has_entries(data_directory: str) -> bool:
    path = os.path.join(data_directory, FILE)
    try:
        with open_for_reading(path) as fd:
            check_header(fd, path)
            return bool(read_entries(fd))
    except FileNotFoundError:
        return False


def replay(disk: Disk, data_directory: str) -> int:
    """Write the entries of a crashed process to their segments; returns how many there were."""
    path = os.path.join(data_directory, FILE)
    if not os.path.exists(path):
        return 0
    fd = disk.create(path)
    try:
        check_header(fd, path)
        entries = read_entries(fd)
        _restore(disk, data_directory, entries)
        generation = read_generation(fd) or 0
        write_all(disk, fd, [encode_header(generation + 1)], 0)
        sync_file(disk, fd)
    finally:
        os.close(fd)
    return len(entries)


def _restore(disk: Disk, data_directory: str, entries: Sequence[Entry]) -> None:
    by_segment: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        by_segment.setdefault((entry.directory, entry.base_offset), []).append(entry)
    for (name, base_offset), of_segment in by_segment.items():
        directory = os.path.join(data_directory, name)
        # A segment that has a successor was synced before it got one; or it is deleted.
        if base_offset == _last_segment(directory):
            _restore_segment(disk, os.path.join(directory, f"{base_offset:020d}.log"), of_segment)


def _restore_segment(disk: Disk, path: str, entries: Sequence[Entry]) -> None:
    fd = disk.create(path)
    try:
        for entry in entries:
            size = os.fstat(fd).st_size
            if size < entry.position:
                found = f"the file ends, but the journal continues it at {entry.position}"
                raise CorruptLog(path, size, found, "restore the partition from a backup")
            write_all(disk, fd, entry.buffers, entry.position)
        sync_file(disk, fd)
    finally:
        os.close(fd)


def _last_segment(directory: str) -> int | None:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return None
    bases = [int(name[:20]) for name in names if name[20:] == ".log" and name[:20].isdigit()]
    return max(bases, default=None)
