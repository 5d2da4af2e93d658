"""Variable-length integers: unsigned (compact types) and zigzag (records).

Readers take a buffer and a position and return the value with the position after it. They refuse
what does not fit the type, where Kafka drops the excess bits: a length that changes in silence
is worse than a closed connection.
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

UINT32_MAX: Final = 2**32 - 1
UINT64_MAX: Final = 2**64 - 1

_UINT32_BYTES_MAX = 5
_UINT64_BYTES_MAX = 10
ONE_BYTE: Final = tuple(bytes((value,)) for value in range(128))


class MalformedVarint(ValueError):  # noqa: N818 - reads as what it is
    """A varint that is cut off, or wider than its type."""


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Unsigned, at most 32 bits."""
    try:
        byte = buffer[position]
    except IndexError:
        raise _truncated(position) from None
    if byte < 128:
        return byte, position + 1
    return _read_long(buffer, position, _UINT32_BYTES_MAX, UINT32_MAX)


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Zigzag, at most 32 bits."""
    try:
        byte = buffer[position]
    except IndexError:
        raise _truncated(position) from None
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, position = _read_long(buffer, position, _UINT32_BYTES_MAX, UINT32_MAX)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """Zigzag, at most 64 bits."""
    try:
        byte = buffer[position]
    except IndexError:
        raise _truncated(position) from None
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, position = _read_long(buffer, position, _UINT64_BYTES_MAX, UINT64_MAX)
    return (value >> 1) ^ -(value & 1), position


def encode_uvarint(value: int) -> bytes:
    """Unsigned, at most 32 bits."""
    if 0 <= value < 128:
        return ONE_BYTE[value]
    return _encode(value, UINT32_MAX)


def encode_varint(value: int) -> bytes:
    """Zigzag, at most 32 bits."""
    if -64 <= value < 64:
        return ONE_BYTE[(value << 1) ^ (value >> 63)]
    return _encode((value << 1) ^ (value >> 63), UINT32_MAX)


def encode_varlong(value: int) -> bytes:
    """Zigzag, at most 64 bits."""
    if -64 <= value < 64:
        return ONE_BYTE[(value << 1) ^ (value >> 63)]
    return _encode((value << 1) ^ (value >> 63), UINT64_MAX)


@cache
def short_varints() -> tuple[bytes, ...]:
    """Zigzag encodings of 0 to 8191, all that take at most two bytes, and of -1 at index -1.

    For encoders that inline the look-up. Made on first use: start-up need not wait for it.
    """
    one_byte = [ONE_BYTE[low] for low in range(0, 128, 2)]
    low_bytes = [bytes((low | 0x80,)) for low in range(0, 128, 2)]
    two_bytes = [low + high for high in ONE_BYTE[1:] for low in low_bytes]
    return (*one_byte, *two_bytes, encode_varint(-1))


def _read_long(buffer: Buffer, position: int, bytes_max: int, value_max: int) -> tuple[int, int]:
    value = shift = 0
    for at in range(position, min(position + bytes_max, len(buffer))):
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 128:
            if value > value_max:
                raise MalformedVarint(f"varint at position {position} exceeds {value_max:#x}")
            return value, at + 1
    if len(buffer) - position < bytes_max:
        raise _truncated(position)
    raise MalformedVarint(f"varint at position {position} is longer than {bytes_max} bytes")


def _encode(value: int, value_max: int) -> bytes:
    if not 0 <= value <= value_max:
        raise ValueError(f"varint value out of range: {value:#x} is not in 0..{value_max:#x}")
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _truncated(position: int) -> MalformedVarint:
    return MalformedVarint(f"varint at position {position} is cut off")
