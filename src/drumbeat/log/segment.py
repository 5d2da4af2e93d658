"""One segment of a log as readers see it: a .log file of whole batches and its two indexes.

Only what is synced is visible. A closed segment holds no descriptor and no memory: each read opens
the file, which costs a few microseconds and keeps logs of any length cheap. Compaction gives files
new names while they are read, perhaps in other threads: a segment's lock makes the name in memory
and the name on disk change as one.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from drumbeat.log.batches import BadBatch, read_chunks, split_chunks, walk_headers
from drumbeat.log.errors import CorruptLog
from drumbeat.log.file_records import FileRecords
from drumbeat.log.files import Disk, read_exactly
from drumbeat.log.index import OffsetIndex, OffsetPosition, TimeIndex
from drumbeat.log.names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, segment_stem
from drumbeat.log.port import NO_TIMESTAMP, LogBatch, Records, TimestampOffset
from drumbeat.log.survey import SurveyedBatch, read_control_type
from drumbeat.protocol.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    check_crc,
    read_header,
)
from drumbeat.protocol.records import ControlRecordType, Record, decode_records

DAMAGE_ADVICE: Final = (
    "nothing was changed; restore the file from a copy, or move the partition's directory away"
)
# Below this a copy costs less than a descriptor, of which each answer may hold a few hundred.
FILE_RECORDS_BYTES_MIN: Final = 128 << 10
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

    def __init__(self, directory: str, base_offset: int, suffix: str = "") -> None:
        self.base_offset = base_offset
        self.path, *index_paths = _paths(directory, base_offset, suffix)
        self.offset_index = OffsetIndex(index_paths[0], base_offset)
        self.time_index = TimeIndex(index_paths[1], base_offset)
        self.fd: int | None = None  # kept open while the segment grows
        self.is_removed = False  # by retention; who still holds it finds no file
        self._naming = threading.Lock()
        self.extent = Extent(0, base_offset, NO_TIMESTAMP, base_offset)

    @property
    def paths(self) -> tuple[str, str, str]:
        """The log first: without it the indexes mean nothing."""
        return self.path, self.offset_index.path, self.time_index.path

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    # Names

    def rename(self, disk: Disk, suffix: str) -> None:
        """Have the files' names end in another suffix, the log's the last to change."""
        path, *index_paths = _paths(os.path.dirname(self.path), self.base_offset, suffix)
        indexes = (self.offset_index, self.time_index)
        for index, index_path in zip(indexes, index_paths, strict=True):
            with suppress(FileNotFoundError):  # renamed already, before a crash
                disk.rename(index.path, index_path)
            index.path = index_path
        self._move(disk, path)

    def retire(self, disk: Disk, path: str) -> None:
        """Keep the log elsewhere, without indexes: nobody looks anything up there."""
        for index in (self.offset_index, self.time_index):
            disk.remove(index.path)
        self._move(disk, path)
        self.offset_index.path = self.time_index.path = path + INDEX_SUFFIX

    def _move(self, disk: Disk, path: str) -> None:
        with self._naming:
            disk.rename(self.path, path)
            self.path = path

    # Reading

    def largest_timestamp(self) -> int:
        """For retention: where no record has a timestamp, the file's own time, as in Kafka."""
        if self.extent.max_timestamp >= 0:
            return self.extent.max_timestamp
        try:
            return int(os.stat(self.path).st_mtime * 1000)
        except FileNotFoundError:  # rolled, not yet created
            return NO_TIMESTAMP

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool) -> Records | None:
        """Records from the first batch that ends at or after `offset`; None if there is none."""
        with self._descriptor() as fd:
            found = self._locate(fd, offset)
            if found is None:
                return None
            position, header = found
            wanted = max(bytes_max, header.size) if whole_first_batch else bytes_max
            size = min(wanted, self.extent.size - position)
            if size < FILE_RECORDS_BYTES_MIN:
                return read_exactly(fd, size, position)
            return FileRecords(os.dup(fd), position, size)

    def batches(self, offset: int, *, chunk_bytes: int) -> Iterator[LogBatch]:
        """Checked batches from the first that ends at or after `offset` on."""
        end_offset = self.extent.next_offset
        return split_chunks(self.chunks(offset, end_offset, chunk_bytes=chunk_bytes))

    def chunks(self, offset: int, end_offset: int, *, chunk_bytes: int) -> Iterator[bytes]:
        """The same below `end_offset`, where some batch ends, as many at a time as fit a chunk."""
        # A descriptor of its own: the caller may pause here while the segment is closed.
        with reporting_damage(self.path):
            try:
                fd = self._open()
            except FileNotFoundError:
                if self.is_removed:
                    return
                raise
            try:
                start, end = self._position(fd, offset), self._position(fd, end_offset)
                yield from read_chunks(fd, start, end, chunk_bytes=chunk_bytes)
            finally:
                os.close(fd)

    def offset_for_timestamp(self, timestamp: int, start_offset: int) -> TimestampOffset | None:
        """The first record at or after `start_offset` with at least this timestamp."""
        with self._descriptor() as fd:
            from_offset = max(self._offset_before(fd, timestamp), start_offset)
            for position, header in self._walk(fd, from_offset):
                if header.max_timestamp < timestamp:
                    continue
                for record in _records(fd, position, header):
                    if record.timestamp >= timestamp and record.offset >= start_offset:
                        return TimestampOffset(record.timestamp, record.offset)
        return None

    def max_timestamp_record(self) -> TimestampOffset | None:
        """The first record with the largest timestamp of all records in the segment."""
        largest, offset = self.extent.max_timestamp, self.extent.max_timestamp_offset
        found = self._record_at(largest, offset)
        if found is not None:
            return found
        # A batch that compaction has emptied still says which timestamp it had.
        filled = [header.max_timestamp for header in self.headers() if header.record_count]
        return self._record_at(max(filled), self.base_offset) if filled else None

    def _record_at(self, timestamp: int, from_offset: int) -> TimestampOffset | None:
        with self._descriptor() as fd:
            for position, header in self._walk(fd, from_offset):
                if header.max_timestamp != timestamp or not header.record_count:
                    continue
                for record in _records(fd, position, header):
                    if record.timestamp == timestamp:
                        return TimestampOffset(timestamp, record.offset)
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

    def surveyed(self) -> Iterator[SurveyedBatch]:
        """Each header, and how the batch ends a transaction if it does; for any thread."""
        end = self.extent.size
        if not end:
            return  # and perhaps no file yet
        with reporting_damage(self.path), self._opened() as fd:
            for position, header in walk_headers(fd, 0, end):
                is_control = header.is_control
                yield SurveyedBatch(
                    header, _control_type(fd, position, header) if is_control else None
                )

    def _open(self) -> int:
        """The log file under whatever name it has now."""
        with self._naming:
            return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        fd = self._open()
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _descriptor(self) -> Iterator[int]:
        with reporting_damage(self.path):
            if self.fd is not None:
                yield self.fd
            else:
                with self._opened() as fd:
                    yield fd

    def _position(self, fd: int, offset: int) -> int:
        """Where the first batch begins that ends at or after `offset`; the end if there is none."""
        size, next_offset, _, _ = self.extent
        found = self._locate(fd, offset) if offset < next_offset else None
        return size if found is None else found[0]

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
        if self.holds(fd, entry):
            return entry.position
        _tell_mismatch(self.offset_index.path, entry.offset)
        return 0

    def holds(self, fd: int, entry: OffsetPosition) -> bool:
        """Whether a batch begins where an index says, and ends with the offset it says."""
        offset, position = entry
        return 0 <= position < self.extent.size and _ends_at(fd, position, offset)

    def indexed_position(self, fd: int, limit: int) -> int:
        """Where the last indexed batch begins, if that is below the limit; else 0."""
        entry = self.offset_index.last()
        if entry is None or entry.position >= limit or not self.holds(fd, entry):
            return 0
        return entry.position

    def _offset_before(self, fd: int, timestamp: int) -> int:
        """An offset before which no record has a larger timestamp; the first if none is known."""
        entry = self.time_index.lookup(timestamp)
        if entry is None:
            return self.base_offset
        is_staged = self.fd is not None and entry.offset >= self.extent.next_offset
        found = None if is_staged else self._locate(fd, entry.offset)
        if is_staged or (found is not None and found[1].max_timestamp == entry.timestamp):
            return entry.offset
        _tell_mismatch(self.time_index.path, entry.offset)
        return self.base_offset


def _paths(directory: str, base_offset: int, suffix: str) -> list[str]:
    stem = os.path.join(directory, segment_stem(base_offset))
    return [stem + kind + suffix for kind in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX)]


def _tell_mismatch(path: str, offset: int) -> None:
    _logger.warning(
        "%s: the entry for offset %d does not match the log; searching without the index",
        path,
        offset,
    )


def _ends_at(fd: int, position: int, last_offset: int) -> bool:
    """Whether a batch with this last offset begins at the position."""
    try:
        return read_header(read_exactly(fd, HEADER_BYTES, position)).last_offset == last_offset
    except CorruptBatch:
        return False


def _records(fd: int, position: int, header: BatchHeader) -> list[Record]:
    with _locating_damage(position):
        return decode_records(_checked(fd, position, header))


def _control_type(fd: int, position: int, header: BatchHeader) -> ControlRecordType | None:
    with _locating_damage(position):
        return read_control_type(_checked(fd, position, header))


def _checked(fd: int, position: int, header: BatchHeader) -> bytes:
    batch = read_exactly(fd, header.size, position)
    check_crc(batch, 0, header)
    return batch


@contextmanager
def _locating_damage(position: int) -> Iterator[None]:
    try:
        yield
    except CorruptBatch as error:
        raise BadBatch(position, str(error)) from None


class reporting_damage:  # noqa: N801 - a context manager; every fetch enters one
    """Turn what a reader stumbles over into an error that names the file."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, BadBatch):
            raise CorruptLog(self._path, error.position, error.found, DAMAGE_ADVICE) from None
        if isinstance(error, OSError) and error.errno in _DAMAGE_ERRNOS:
            raise CorruptLog(self._path, 0, str(error), DAMAGE_ADVICE) from error
