"""Record batches in a file: walking their headers, reading them checked, looking for stray ones.

Everything reads in chunks, so that memory does not grow with the file; a batch larger than a chunk
is read alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from drumbeat.log.files import read_exactly
from drumbeat.log.port import LogBatch
from drumbeat.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC,
    BatchHeader,
    CorruptBatch,
    check_crc,
    iter_headers,
    read_header,
    sound_end,
)

SCAN_CHUNK_BYTES: Final = 1 << 20
_WALK_CHUNK_BYTES = 8 << 10  # about two index intervals
_MAGIC_AT = 16


class BadBatch(Exception):  # noqa: N818 - carries a finding to whoever knows what it means
    """No batch begins at this position."""

    def __init__(self, position: int, found: str) -> None:
        super().__init__(found)
        self.position = position
        self.found = found


def walk_headers(fd: int, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch up to `end`, reading little of what lies between."""
    while position < end:
        chunk = _chunk(fd, min(_WALK_CHUNK_BYTES, end - position), position)
        at = 0
        while at == 0 or at + HEADER_BYTES <= len(chunk):
            header = _header(chunk, at, position)
            if position + at + header.size > end:
                raise BadBatch(position + at, _cut_off(header, end - position - at))
            yield position + at, header
            at += header.size
        position += at


def _chunk(fd: int, size: int, position: int) -> bytes:
    chunk = read_exactly(fd, size, position)
    if len(chunk) < size:
        raise BadBatch(position, f"the file ends {size - len(chunk)} bytes early")
    return chunk


def _header(chunk: bytes, at: int, position: int) -> BatchHeader:
    try:
        return read_header(chunk, at)
    except CorruptBatch as error:
        raise BadBatch(position + at, str(error)) from None


def read_batches(
    fd: int, position: int, end: int, *, chunk_bytes: int = SCAN_CHUNK_BYTES
) -> Iterator[LogBatch]:
    """Each batch from `position` to `end`, its checksum compared; raises BadBatch at the first
    byte that does not begin a whole and sound one."""
    return split_chunks(read_chunks(fd, position, end, chunk_bytes=chunk_bytes))


def read_chunks(
    fd: int, position: int, end: int, *, chunk_bytes: int = SCAN_CHUNK_BYTES
) -> Iterator[bytes]:
    """The same batches, as many at a time as a chunk holds."""
    size = chunk_bytes
    while position < end:
        chunk = _chunk(fd, min(size, end - position), position)
        sound_bytes = sound_end(chunk)
        if sound_bytes:
            yield chunk[:sound_bytes]
            size = chunk_bytes
        else:
            size = _size_of_first(chunk, position, end)
        position += sound_bytes


def split_chunks(chunks: Iterable[bytes]) -> Iterator[LogBatch]:
    """The batches of chunks that hold whole ones."""
    for chunk in chunks:
        view = memoryview(chunk)
        for at, header in iter_headers(chunk):
            yield LogBatch(header, view[at : at + header.size])


def _size_of_first(chunk: bytes, position: int, end: int) -> int:
    """The size of a batch that is larger than the chunk; raises BadBatch if it is not sound."""
    header = _header(chunk, 0, position)
    if position + header.size > end:
        raise BadBatch(position, _cut_off(header, end - position))
    if header.size > len(chunk):
        return header.size
    try:
        check_crc(chunk, 0, header)
    except CorruptBatch as error:
        raise BadBatch(position, str(error)) from None
    raise AssertionError("a sound batch was taken for another")


def _cut_off(header: BatchHeader, available: int) -> str:
    return f"a batch of {header.size} bytes ends after {available}"


def find_batch_after(fd: int, position: int, end: int, next_offset: int) -> int | None:
    """The position of a sound batch beyond `position` that could continue the log, if any.

    This tells a torn tail, behind which nothing was ever written, from damage in the middle.
    """
    pattern = _candidate_pattern(next_offset)
    overlap = _MAGIC_AT
    start = position + 1
    while start + HEADER_BYTES <= end:
        chunk = read_exactly(fd, min(SCAN_CHUNK_BYTES + overlap, end - start), start)
        for match in pattern.finditer(chunk):
            if _is_batch(fd, start + match.start(), end, next_offset):
                return start + match.start()
        start += max(len(chunk) - overlap, 1)
    return None


def _candidate_pattern(next_offset: int) -> re.Pattern[bytes]:
    """Overlapping matches of a plausible base offset with the magic byte at its place."""
    high = {(next_offset >> 32).to_bytes(4, "big"), ((next_offset >> 32) + 1).to_bytes(4, "big")}
    alternatives = b"|".join(re.escape(prefix) for prefix in sorted(high))
    gap = b".{%d}" % (_MAGIC_AT - 4)
    return re.compile(b"(?=(?:%s)%s%s)" % (alternatives, gap, re.escape(bytes([MAGIC]))), re.DOTALL)


def _is_batch(fd: int, position: int, end: int, next_offset: int) -> bool:
    try:
        header = read_header(read_exactly(fd, min(HEADER_BYTES, end - position), position))
        if header.base_offset < next_offset or position + header.size > end:
            return False
        check_crc(read_exactly(fd, header.size, position), 0, header)
    except CorruptBatch:
        return False
    return True
