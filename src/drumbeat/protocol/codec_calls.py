"""What compiled codecs call, where `decoding` and `encoding` write it out in line.

mypyc passes machine integers and returns tuples without making objects of them, and has no use
for `struct`: shifting an int32 together costs it less than the call. Outside of compiled code
nothing comes by here but tests.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.reading import STRING_BYTES_MAX, too_long
from drumbeat.protocol.varint import encode_uvarint, read_uvarint

if TYPE_CHECKING:
    from mypy_extensions import i64

_UUID_BYTES: Final = 16

_unpack_float64: Final = struct.Struct(">d").unpack_from


def read_bool(buffer: bytes, position: i64) -> bool:
    return buffer[position] != 0


def read_int8(buffer: bytes, position: i64) -> i64:
    value: i64 = buffer[position]
    return value - 0x100 if value >= 0x80 else value


def read_uint8(buffer: bytes, position: i64) -> i64:
    value: i64 = buffer[position]
    return value


def read_int16(buffer: bytes, position: i64) -> i64:
    value = read_uint16(buffer, position)
    return value - 0x1_0000 if value >= 0x8000 else value


def read_uint16(buffer: bytes, position: i64) -> i64:
    high: i64 = buffer[position]
    low: i64 = buffer[position + 1]
    return high << 8 | low


def read_int32(buffer: bytes, position: i64) -> i64:
    return read_int16(buffer, position) << 16 | read_uint16(buffer, position + 2)


def read_uint32(buffer: bytes, position: i64) -> i64:
    return read_uint16(buffer, position) << 16 | read_uint16(buffer, position + 2)


def read_int64(buffer: bytes, position: i64) -> i64:
    return read_int32(buffer, position) << 32 | read_uint32(buffer, position + 4)


def read_float64(buffer: bytes, position: i64) -> float:
    value: float = _unpack_float64(buffer, position)[0]
    return value


def read_uuid(buffer: bytes, position: i64) -> bytes:
    if position + _UUID_BYTES > len(buffer):
        raise too_long(_UUID_BYTES, len(buffer) - position)
    return buffer[position : position + _UUID_BYTES]


def read_size(buffer: bytes, position: i64) -> tuple[i64, i64]:
    """A compact length or count, -1 for null, and where it ends."""
    first: i64 = buffer[position]
    if first < 128:
        return first - 1, position + 1
    size, after = read_uvarint(buffer, position)
    return size - 1, after


def take_string(buffer: bytes, position: i64, size: i64, name: str) -> str:
    if size == 0:
        return ""  # as the metadata of most commits
    if size > STRING_BYTES_MAX:
        raise ProtocolError(f"a string of {size} bytes")
    return take_bytes(buffer, position, size, name).decode()


def take_bytes(buffer: bytes, position: i64, size: i64, name: str) -> bytes:
    if size < 0:
        raise ProtocolError(f"{name} is null")
    stop = position + size
    if not position <= stop <= len(buffer):
        raise too_long(size, len(buffer) - position)
    return buffer[position:stop]


def add_string(out: list[Any], text: str) -> None:
    """A compact string, not null."""
    data = text.encode()
    out.append(encode_uvarint(len(data) + 1))
    out.append(data)
