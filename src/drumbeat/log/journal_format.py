"""The journal's bytes: a header, then rounds of entries that became durable together.

A block with magic, version and generation; then rounds, each with a CRC-32C over the rest of it. A
round counts if its generation is the file's; one that a crash has torn was acknowledged to nobody.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import read_exactly
from drumbeat.log.writing import joined
from drumbeat.protocol.crc import crc32c

BLOCK: Final = 4096  # of the header; rounds begin behind it

_MAGIC: Final = b"DRUMJRNL"
_VERSION: Final = 2
# Magic, version, generation, and the crc of what stands before.
_FILE_HEADER: Final = struct.Struct(">8sIQI")
_CRC: Final = struct.Struct(">I")
# Of a round: size of its entries, generation; both stand behind the crc.
_ROUND_FIELDS: Final = struct.Struct(">IQ")
_ENTRY: Final = struct.Struct(">IqqH")  # size of the data, base offset, position, size of the name
_pack_entry: Final = _ENTRY.pack


class Entry(NamedTuple):
    """Bytes that belong into one segment at one position."""

    directory: str  # a partition's, by name only
    base_offset: int
    position: int
    buffers: Sequence[bytes | memoryview]


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


def encode_round(entries: Iterable[Entry], generation: int) -> tuple[list[bytes | memoryview], int]:
    """In parts, and how many bytes they have; data that is large is not copied."""
    parts: list[bytes | memoryview] = []
    size = 0
    for directory, base_offset, position, buffers in entries:
        name = directory.encode()
        data_size = 0
        for buffer in buffers:
            data_size += len(buffer)
        parts.append(_pack_entry(data_size, base_offset, position, len(name)))
        parts.append(name)
        parts.extend(buffers)
        size += _ENTRY.size + len(name) + data_size
    parts = joined(parts, size)
    fields = _ROUND_FIELDS.pack(size, generation)
    crc = crc32c(fields)
    for part in parts:
        crc = crc32c(part, crc, gil_release_mode=0)
    return [_CRC.pack(crc) + fields, *parts], _CRC.size + _ROUND_FIELDS.size + size


def read_entries(fd: int) -> list[Entry]:
    """All entries of the file's generation, in the order they were made durable."""
    generation = read_generation(fd)
    if generation is None:
        return []
    data = read_exactly(fd, os.fstat(fd).st_size, 0)
    entries: list[Entry] = []
    position = BLOCK
    while (end := _end_of_round(data, position, generation)) is not None:
        entries += _entries_of_round(data, position + _CRC.size + _ROUND_FIELDS.size, end)
        position = end
    return entries


def _end_of_round(data: bytes, position: int, generation: int) -> int | None:
    """None where no whole round of this generation begins."""
    fields_at = position + _CRC.size
    start = fields_at + _ROUND_FIELDS.size
    if start > len(data):
        return None
    (crc,) = _CRC.unpack_from(data, position)
    size, of_generation = _ROUND_FIELDS.unpack_from(data, fields_at)
    end = start + int(size)
    if of_generation != generation or end > len(data):
        return None
    return end if crc32c(memoryview(data)[fields_at:end]) == crc else None


def _entries_of_round(data: bytes, position: int, end: int) -> Iterator[Entry]:
    while position < end:
        size, base_offset, at, name_size = _ENTRY.unpack_from(data, position)
        name_at = position + _ENTRY.size
        data_at = name_at + name_size
        position = data_at + size
        name = data[name_at:data_at].decode()
        yield Entry(name, base_offset, at, (data[data_at:position],))


def check_header(fd: int, path: str) -> None:
    """Raises CorruptLog for a file that begins with anything but a journal's header, or nothing."""
    if read_generation(fd) is not None or _was_never_begun(fd):
        return
    beginning = read_exactly(fd, _FILE_HEADER.size, 0)
    version = _version_of_whole(beginning)
    if version is not None:
        found = f"a journal of version {version}; this program writes version {_VERSION}"
        advice = "stop in order what has written it, then remove the file"
    else:
        found = "not the beginning of a journal"
        advice = "restore it, or move it away and lose what it alone holds"
    raise CorruptLog(path, 0, found, advice)


def _was_never_begun(fd: int) -> bool:
    """Zeros are durable before the first header is written, and no round before that header is.

    So a crash leaves nothing but zeros, or a torn header and zeros behind it.
    """
    data = read_exactly(fd, os.fstat(fd).st_size, 0)
    header = data[: _FILE_HEADER.size]
    is_torn = len(data) >= BLOCK and _version_of_whole(header) is None
    return not data.strip(b"\0") or (is_torn and not data[_FILE_HEADER.size :].strip(b"\0"))


def _version_of_whole(header: bytes) -> int | None:
    if len(header) < _FILE_HEADER.size:
        return None
    magic, version, _, crc = _FILE_HEADER.unpack(header)
    return int(version) if magic == _MAGIC and crc == crc32c(header[:-4]) else None
