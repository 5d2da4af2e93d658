"""One segment of a log as readers see it: a .log file of whole batches and its two indexes.

Only what is synced is visible. A closed segment holds no descriptor and no memory: each read opens
the file, which costs a few microseconds and keeps logs of any length cheap.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from drumbeat.log.batches import BadBatch, read_batches, walk_headers
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import open_for_reading, read_exactly
from drumbeat.log.index import OffsetIndex, TimeIndex
from drumbeat.log.names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, segment_stem
from drumbeat.log.port import NO_TIMESTAMP, LogBatch, TimestampOffset
from drumbeat.protocol.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    check_crc,
    read_header,
)
from drumbeat.protocol.records import Record, decode_records

DAMAGE_ADVICE: Final = (
    "nothing was changed; restore the file from a copy, or move the partition's directory away"
)
_DAMAGE_ERRNOS = frozenset({errno.EIO, errno.ENOENT})

_logger = logging.getLogger(__name__)


class Extent(NamedTuple):
    """How far a segment reaches, and its largest timestamp with its batch's last offset."""

    size: int
    next_offset: int
    max_timestamp: int
    max_timestamp_offset: int


class Segment:
    """A segment that can be read."""

    def __init__(self, directory: str, base_offset: int) -> None:
        stem = os.path.join(directory, segment_stem(base_offset))
        self.base_offset = base_offset
        self.path = stem + LOG_SUFFIX
        self.offset_index = OffsetIndex(stem + INDEX_SUFFIX, base_offset)
        self.time_index = TimeIndex(stem + TIME_INDEX_SUFFIX, base_offset)
        self.fd: int | None = None  # kept open while the segment grows
        self.extent = Extent(0, base_offset, NO_TIMESTAMP, base_offset)

    @property
    def paths(self) -> tuple[str, str, str]:
        """The log first: without it the indexes mean nothing."""
        return self.path, self.offset_index.path, self.time_index.path

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def largest_timestamp(self) -> int:
        """For retention: where no record has a timestamp, the file's own time, as in Kafka."""
        if self.extent.max_timestamp >= 0:
            return self.extent.max_timestamp
        try:
            return int(os.stat(self.path).st_mtime * 1000)
        except FileNotFoundError:  # rolled, not yet created
            return NO_TIMESTAMP

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool) -> bytes | None:
        """Bytes from the first batch that ends at or after `offset`; None if there is none."""
        with self._descriptor() as fd:
            found = self._locate(fd, offset)
            if found is None:
                return None
            position, header = found
            size = max(bytes_max, header.size) if whole_first_batch else bytes_max
            return read_exactly(fd, min(size, self.extent.size - position), position)

    def batches(self, offset: int, *, chunk_bytes: int) -> Iterator[LogBatch]:
        """Checked batches from the first that ends at or after `offset` on."""
        end = self.extent.size
        # A descriptor of its own: the caller may pause here while the segment is closed.
        with reporting_damage(self.path), open_for_reading(self.path) as fd:
            found = self._locate(fd, offset)
            if found is not None:
                yield from read_batches(fd, found[0], end, chunk_bytes=chunk_bytes)

    def offset_for_timestamp(self, timestamp: int, start_offset: int) -> TimestampOffset | None:
        """The first record at or after `start_offset` with at least this timestamp."""
        entry = self.time_index.lookup(timestamp)
        from_offset = start_offset if entry is None else max(entry.offset, start_offset)
        with self._descriptor() as fd:
            for position, header in self._walk(fd, from_offset):
                if header.max_timestamp < timestamp:
                    continue
                for record in _records(fd, position, header):
                    if record.timestamp >= timestamp and record.offset >= start_offset:
                        return TimestampOffset(record.timestamp, record.offset)
        return None

    def max_timestamp_record(self) -> TimestampOffset | None:
        """The first record with the segment's largest timestamp."""
        largest = self.extent.max_timestamp
        with self._descriptor() as fd:
            for position, header in self._walk(fd, self.extent.max_timestamp_offset):
                if header.max_timestamp != largest:
                    continue
                for record in _records(fd, position, header):
                    if record.timestamp == largest:
                        return TimestampOffset(largest, record.offset)
        return None

    def batch_ending_at(self, last_offset: int) -> BatchHeader | None:
        """The header of the batch that ends exactly there."""
        with self._descriptor() as fd:
            found = self._locate(fd, last_offset)
        return found[1] if found is not None and found[1].last_offset == last_offset else None

    def headers(self) -> Iterator[BatchHeader]:
        with self._descriptor() as fd:
            for _, header in walk_headers(fd, 0, self.extent.size):
                yield header

    @contextmanager
    def _descriptor(self) -> Iterator[int]:
        with reporting_damage(self.path):
            if self.fd is not None:
                yield self.fd
            else:
                with open_for_reading(self.path) as fd:
                    yield fd

    def _locate(self, fd: int, offset: int) -> tuple[int, BatchHeader] | None:
        for position, header in self._walk(fd, offset):
            if header.last_offset >= offset:
                return position, header
        return None

    def _walk(self, fd: int, offset: int) -> Iterator[tuple[int, BatchHeader]]:
        """Headers from somewhere at or before the batch that holds the offset."""
        return walk_headers(fd, self._walk_from(fd, offset), self.extent.size)

    def _walk_from(self, fd: int, offset: int) -> int:
        entry = self.offset_index.lookup(offset)
        if entry is None:
            return 0
        if self.offset_index.is_in_memory or _ends_at(fd, entry.position, entry.offset):
            return entry.position
        _logger.warning(
            "%s: the entry for offset %d does not match the log; searching without the index",
            self.offset_index.path,
            entry.offset,
        )
        return 0


def _ends_at(fd: int, position: int, last_offset: int) -> bool:
    """Whether a batch with this last offset begins at the position."""
    try:
        return read_header(read_exactly(fd, HEADER_BYTES, position)).last_offset == last_offset
    except CorruptBatch:
        return False


def _records(fd: int, position: int, header: BatchHeader) -> list[Record]:
    batch = read_exactly(fd, header.size, position)
    try:
        check_crc(batch, 0, header)
        return decode_records(batch)
    except CorruptBatch as error:
        raise BadBatch(position, str(error)) from None


@contextmanager
def reporting_damage(path: str) -> Iterator[None]:
    """Turn what a reader stumbles over into an error that names the file."""
    try:
        yield
    except BadBatch as bad:
        raise CorruptLog(path, bad.position, bad.found, DAMAGE_ADVICE) from None
    except OSError as error:
        if error.errno not in _DAMAGE_ERRNOS:
            raise
        raise CorruptLog(path, 0, str(error), DAMAGE_ADVICE) from error
