"""Batches that no sound producer sends, under a right checksum."""

import struct

from crc32c import crc32c

from drumbeat.protocol.compression import Codec, compress
from drumbeat.protocol.record_batch import HEADER_BYTES, LOG_OVERHEAD
from support.data_topics import batch

LENGTH_AT, CRC_AT, ATTRIBUTES_AT = 8, 17, 21
LAST_OFFSET_DELTA_AT, MAX_TIMESTAMP_AT, RECORD_COUNT_AT = 23, 35, 57

_TWO = batch(b"first", b"second")
TWO_RECORDS = _TWO[HEADER_BYTES:]
FIRST_RECORD = TWO_RECORDS[: TWO_RECORDS[0] // 2 + 1]


def changed(data: bytes, position: int, layout: str, value: int) -> bytes:
    """`data` with one field overwritten and its checksum made right again."""
    result = bytearray(data)
    struct.pack_into(layout, result, position, value)
    struct.pack_into(">I", result, CRC_AT, crc32c(bytes(result[ATTRIBUTES_AT:])))
    return bytes(result)


def holding(section: bytes, codec: Codec = Codec.NONE) -> bytes:
    """A batch that announces two records and holds `section`."""
    compressed = compress(codec, section, None)
    whole = _TWO[:HEADER_BYTES] + compressed
    sized = changed(whole, LENGTH_AT, ">i", len(whole) - LOG_OVERHEAD)
    return changed(sized, ATTRIBUTES_AT, ">h", codec)
