"""The two sparse indexes of a segment, in Kafka's bytes.

`.index` maps the last offset of a batch to the batch's position, one entry each few kilobytes.
`.timeindex` maps the largest timestamp so far to the last offset of the batch that brought it.
Both are held in memory while the segment grows and written when it is closed. They speed look-ups
up and are never the truth: who uses an entry compares it with the batch it points at.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, Final, NamedTuple

from drumbeat.log.files import open_for_reading
from drumbeat.log.port import NO_TIMESTAMP, TimestampOffset

Entry = tuple[int, int]

RELATIVE_OFFSET_MAX: Final = 2**31 - 1
TIMESTAMP_MAX: Final = 2**63 - 1


class OffsetPosition(NamedTuple):
    offset: int
    position: int


class _Index:
    """Entries in growing order of their first number: in a buffer, or in the file once closed."""

    entry: ClassVar[struct.Struct]

    def __init__(self, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._buffer: bytearray | None = None

    @property
    def size(self) -> int:
        """Bytes held in memory; none once the index is in its file."""
        return 0 if self._buffer is None else len(self._buffer)

    @property
    def count(self) -> int:
        return self.size // self.entry.size

    def data(self) -> bytes:
        return b"" if self._buffer is None else bytes(self._buffer)

    def truncate(self, size: int) -> None:
        if self._buffer is not None:
            del self._buffer[size:]

    def hold(self, data: bytes = b"") -> None:
        """Keep the entries in memory from now on, beginning with these."""
        self._buffer = bytearray(data)

    def leave_to_file(self) -> None:
        """The file is complete: memory is no longer needed."""
        self._buffer = None

    def _floor(self, key: int) -> Entry | None:
        """The last entry whose first number is at most `key`."""
        if self._buffer is not None:
            return _floor(self._in_buffer, self.count, key)
        try:
            with open_for_reading(self.path) as fd:
                count = os.fstat(fd).st_size // self.entry.size
                return _floor(lambda n: self._in_file(fd, n), count, key)
        except FileNotFoundError:
            return None

    def _in_buffer(self, n: int) -> Entry:
        assert self._buffer is not None
        first, second = self.entry.unpack_from(self._buffer, n * self.entry.size)
        return first, second

    def _in_file(self, fd: int, n: int) -> Entry:
        size = self.entry.size
        first, second = self.entry.unpack(os.pread(fd, size, n * size))
        return first, second


class OffsetIndex(_Index):
    entry = struct.Struct(">ii")

    def append(self, last_offset: int, position: int) -> None:
        assert self._buffer is not None
        self._buffer += self.entry.pack(last_offset - self.base_offset, position)

    def lookup(self, offset: int) -> OffsetPosition | None:
        """The last entry at or below the offset."""
        found = self._floor(offset - self.base_offset)
        return None if found is None else OffsetPosition(self.base_offset + found[0], found[1])

    def last(self) -> OffsetPosition | None:
        return self.lookup(self.base_offset + RELATIVE_OFFSET_MAX)

    def is_full(self, bytes_max: int) -> bool:
        return self.count >= bytes_max // self.entry.size


class TimeIndex(_Index):
    entry = struct.Struct(">qi")

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry only if the timestamp is larger than all before."""
        assert self._buffer is not None
        last = self._in_buffer(self.count - 1)[0] if self._buffer else NO_TIMESTAMP
        if timestamp > last:
            self._buffer += self.entry.pack(timestamp, offset - self.base_offset)

    def lookup(self, timestamp: int) -> TimestampOffset | None:
        """The last entry at or below the timestamp."""
        found = self._floor(timestamp)
        return None if found is None else TimestampOffset(found[0], self.base_offset + found[1])

    def last(self) -> TimestampOffset | None:
        return self.lookup(TIMESTAMP_MAX)

    def is_full(self, bytes_max: int) -> bool:
        # One slot is kept for the entry that closes the segment.
        return self.count >= bytes_max // self.entry.size - 1


def _floor(entry_at: Callable[[int], Entry], count: int, key: int) -> Entry | None:
    slot = bisect_right(range(count), key, key=lambda n: entry_at(n)[0]) - 1
    return None if slot < 0 else entry_at(slot)


def offset_entries_problem(data: bytes, log_size: int) -> str | None:
    """Why these bytes cannot be a whole .index of a log of this size; None if they can."""
    if len(data) % OffsetIndex.entry.size:
        return f"{len(data)} bytes is no multiple of {OffsetIndex.entry.size}"
    entries = list(OffsetIndex.entry.iter_unpack(data))
    for (offset, position), (next_offset, next_position) in pairwise(entries):
        if next_offset <= offset or next_position <= position:
            return "entries do not grow"
    if entries and not (entries[0][0] >= 0 and 0 < entries[0][1] <= entries[-1][1] < log_size):
        return "entries point outside the segment"
    return None


def time_entries_problem(data: bytes, relative_offset_max: int) -> str | None:
    """Why these bytes cannot be a whole .timeindex of such a segment; None if they can."""
    if len(data) % TimeIndex.entry.size:
        return f"{len(data)} bytes is no multiple of {TimeIndex.entry.size}"
    entries = list(TimeIndex.entry.iter_unpack(data))
    for (timestamp, offset), (next_timestamp, next_offset) in pairwise(entries):
        if next_timestamp <= timestamp or next_offset <= offset:
            return "entries do not grow"
    if entries and not 0 <= entries[0][1] <= entries[-1][1] <= relative_offset_max:
        return "entries point outside the segment"
    return None
