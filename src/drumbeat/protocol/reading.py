"""What generated decoders call: tagged sections, long lengths, and how bytes are refused.

No length is believed before it is compared with the bytes that are left.
"""

import struct
from typing import Final

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.varint import read_uvarint

TAGS_MAX: Final = 1024
STRING_BYTES_MAX: Final = 2**15 - 1

# What generated code raises on bytes that are too short or not what they claim to be.
MALFORMED: Final = (ProtocolError, IndexError, ValueError, OverflowError, struct.error)


def read_tags(buffer: bytes, position: int, end: int) -> tuple[dict[int, tuple[int, int]], int]:
    """Tagged fields at `position`: {tag: (start, stop)} and where the section ends.

    They are to come in order and once; Kafka does not insist, and takes the last of each.
    """
    count, position = read_uvarint(buffer, position)
    if count > min(TAGS_MAX, end - position):
        raise ProtocolError(f"{count} tagged fields announced")
    tags: dict[int, tuple[int, int]] = {}
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        if size > end - position:
            raise ProtocolError(f"tag {tag} announces {size} bytes, {end - position} are left")
        tags[tag] = (position, position + size)
        position += size
    return tags, position


def read_bytes(buffer: bytes, position: int, end: int) -> tuple[bytes, int]:
    """Compact bytes at `position`, not null, whatever the length of their length."""
    size, position = read_uvarint(buffer, position)
    if size == 0:
        raise ProtocolError("null where the schema has no null")
    stop = position + size - 1
    if stop > end:
        raise too_long(size - 1, end - position)
    return buffer[position:stop], stop


def read_string(buffer: bytes, position: int, end: int) -> tuple[bytes, int]:
    """As `read_bytes`: a string is no longer than Kafka's other versions could say."""
    data, position = read_bytes(buffer, position, end)
    if len(data) > STRING_BYTES_MAX:
        raise ProtocolError(f"a string of {len(data)} bytes")
    return data, position


def too_long(size: int, left: int) -> ProtocolError:
    return ProtocolError(f"{size} bytes announced, {left} are left")


def too_many(count: int, left: int) -> ProtocolError:
    return ProtocolError(f"{count} elements announced, {left} bytes are left")


def malformed(message: str, problem: Exception) -> ProtocolError:
    """What became of decoding `message`, whichever way its bytes were wrong."""
    if isinstance(problem, ProtocolError):
        return ProtocolError(f"{message}: {problem}")
    return ProtocolError(f"{message}: truncated or malformed ({problem})")
