"""What the log's tests share: batches to append, ways to look at a log, a disk that fails."""

import errno
import os
import shutil
from collections import deque

from drumbeat.log.files import Disk
from drumbeat.log.journal import FILE as JOURNAL
from drumbeat.log.port import LogSettings, PartitionLog, TopicPartition
from drumbeat.protocol.record_batch import iter_headers
from drumbeat.protocol.records import BatchOptions, Record, decode_records, encode_batch

TP = TopicPartition("orders", 3)
SETTINGS = LogSettings()
SMALL = LogSettings(segment_bytes=400, index_interval_bytes=100)


def batch(*values: bytes, timestamps=(), codec=0) -> bytes:
    """A batch as a producer sends it: base offset 0, no leader epoch."""
    times = timestamps or [1000] * len(values)
    records = [Record(n, times[n], None, value) for n, value in enumerate(values)]
    return encode_batch(records, BatchOptions(codec=codec))


def append(log: PartitionLog, *values: bytes, timestamps=()) -> int:
    return log.append(batch(*values, timestamps=timestamps), expected=log.end_offset)


async def write(log: PartitionLog, *values: bytes, timestamps=()) -> int:
    """Append one batch and make it durable; returns its base offset."""
    base_offset = append(log, *values, timestamps=timestamps)
    await log.sync()
    return base_offset


def records(log: PartitionLog, offset: int | None = None) -> list[Record]:
    start = log.start_offset if offset is None else offset
    return [record for found in log.batches_from(start) for record in decode_records(found.data)]


def contents(log: PartitionLog) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in records(log)]


def segment_files(directory, suffix: str = ".log") -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.endswith(suffix))


def last_byte_of(directory, offset):
    """The file and the last byte of the batch that holds the offset."""
    for name in sorted(os.listdir(directory), reverse=True):
        if name.endswith(".log") and int(name[:20]) <= offset:
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                data = file.read()
            for position, header in iter_headers(data):
                if header.last_offset >= offset:
                    return path, position + header.size - 1
    raise AssertionError(f"no batch holds {offset}")


def copy_killed(source, target):
    """What a killed process leaves, without its journal: that would mend what a test breaks."""
    return shutil.copytree(source, target, ignore=shutil.ignore_patterns(JOURNAL))


def flip(path, position: int, bits: int = 1) -> None:
    """Change bits of one byte of a file."""
    with open(path, "r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ bits]))


class FaultyDisk(Disk):
    """A disk whose next operations fail or fall short, as told."""

    def __init__(self) -> None:
        self.write_errors: deque[int | None] = deque()
        self.sync_errors: deque[int | None] = deque()
        self.create_errors: deque[int | None] = deque()
        self.truncate_errors: deque[int | None] = deque()
        self.bytes_per_write: int | None = None
        self.bytes_left: int | None = None  # free space, if it is limited
        self.syncs = 0
        self.writes = 0

    def write(self, fd, buffers, position):
        self.writes += 1
        _fail(self.write_errors)
        if self.bytes_per_write is not None or self.bytes_left is not None:
            buffers = [b"".join(buffers)[: self._bytes_taken()]]
        written = super().write(fd, buffers, position)
        if self.bytes_left is not None:
            self.bytes_left -= written
        return written

    def _bytes_taken(self) -> int | None:
        if self.bytes_left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        limits = [n for n in (self.bytes_per_write, self.bytes_left) if n is not None]
        return min(limits)

    def create(self, path, *, flags=0):
        _fail(self.create_errors)
        return super().create(path, flags=flags)

    def truncate(self, fd, size):
        _fail(self.truncate_errors)
        super().truncate(fd, size)

    def sync(self, fd):
        self.syncs += 1
        _fail(self.sync_errors)
        super().sync(fd)


def _fail(errors: deque[int | None]) -> None:
    number = errors.popleft() if errors else None
    if number is not None:
        raise OSError(number, os.strerror(number))
