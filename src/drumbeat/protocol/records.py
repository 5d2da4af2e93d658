"""Records and whole v2 batches: decoding, encoding, compression, transaction markers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from itertools import repeat
from operator import itemgetter
from typing import Final, NamedTuple

from drumbeat.protocol.compression import Codec, DecompressionError, compress, decompress
from drumbeat.protocol.crc import crc32c
from drumbeat.protocol.record_batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    CorruptBatch,
    read_header,
)
from drumbeat.protocol.record_section import Headers, Row, encode_rows, read_rows
from drumbeat.protocol.record_walk import latest_timestamp
from drumbeat.protocol.varint import Buffer

DECOMPRESSED_BYTES_MAX: Final = 128 * 1024 * 1024

_INT32_MAX: Final = 2**31 - 1
_NO_CODEC: Final = Codec.NONE  # an enum's member takes longer to find than to compare
_TIMESTAMP = itemgetter(1)

# Bound once, because finding the method takes half as long as calling it.
_pack_prefix: Final = struct.Struct(">qiibI").pack  # what the checksum leaves out, and the checksum
_pack_checked: Final = struct.Struct(">hiqq14si").pack  # attributes to record count
_pack_producer: Final = struct.Struct(">qhi").pack  # of these: id, epoch and sequence
_crc32c: Final = crc32c
_CONTROL_KEY = struct.Struct(">hh")  # version, type
_END_TXN_MARKER = struct.Struct(">hi")  # version, coordinator epoch


class Record(NamedTuple):
    """One record as a consumer sees it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class BatchOptions(NamedTuple):
    """What a batch says besides its records; the defaults are a plain producer's."""

    codec: Codec = Codec.NONE
    base_offset: int | None = None  # the first record's offset unless given
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    is_log_append_time: bool = False
    compression_level: int | None = None

    @property
    def attributes(self) -> int:
        codec, _, _, _, _, _, is_transactional, is_control, is_log_append_time, _ = self
        return (
            codec
            | LOG_APPEND_TIME_FLAG * is_log_append_time
            | TRANSACTIONAL_FLAG * is_transactional
            | CONTROL_FLAG * is_control
        )


class Envelope:
    """The header of batches with the same options, prepared for who makes many of them."""

    __slots__ = ("_attributes", "_codec", "_leader_epoch", "_producer", "options")

    def __init__(self, options: BatchOptions) -> None:
        self.options = options
        self._codec = options.codec
        self._attributes = options.attributes
        self._leader_epoch = options.partition_leader_epoch
        self._producer: bytes = _pack_producer(
            options.producer_id, options.producer_epoch, options.base_sequence
        )

    def enclose(
        self,
        section: bytes,
        base_offset: int,
        last_offset_delta: int,
        base_timestamp: int,
        max_timestamp: int,
        count: int,
    ) -> bytes:
        """The batch of a section of `count` records."""
        if self._codec is not _NO_CODEC:
            section = compress(self._codec, section, self.options.compression_level)
        size = HEADER_BYTES - LOG_OVERHEAD + len(section)
        # fmt: off
        header: bytes = _pack_checked(
            self._attributes, last_offset_delta, base_timestamp, max_timestamp,
            self._producer, count,
        )
        # fmt: on
        checked = header + section
        prefix: bytes = _pack_prefix(base_offset, size, self._leader_epoch, MAGIC, _crc32c(checked))
        return prefix + checked


class ControlRecordType(IntEnum):
    """Which transaction marker a control record is."""

    ABORT = 0
    COMMIT = 1


PLAIN: Final = BatchOptions()


def decode_records(
    batch: Buffer, *, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> list[Record]:
    """The records of one batch, whose checksum the caller has seen to."""
    header = read_header(batch)
    rows = decode_rows(batch, header, decompressed_bytes_max=decompressed_bytes_max)
    if header.is_log_append_time:
        return [Record(row[0], header.max_timestamp, *row[2:]) for row in rows]
    return list(map(tuple.__new__, repeat(Record), rows))


def decode_rows(
    batch: Buffer, header: BatchHeader, *, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> list[Row]:
    """The records of a batch whose header is known, as plain tuples in the order of Record.

    For readers of whole logs: timestamps are the producers' even where the broker set its own.
    """
    if len(batch) != header.size:
        raise CorruptBatch(f"{len(batch)} bytes given for a batch of {header.size}")
    if header.attributes & CODEC_MASK:
        rows = read_rows(_decompressed(batch, header, decompressed_bytes_max), 0, header)
    else:
        rows = read_rows(bytes(batch), HEADER_BYTES, header)
    if rows and rows[-1][0] > header.last_offset:
        raise CorruptBatch(f"record at offset {rows[-1][0]} in a batch up to {header.last_offset}")
    return rows


def latest_timestamp_of(batch: bytes, header: BatchHeader, *, decompressed_bytes_max: int) -> int:
    """The largest timestamp of a batch's records; CorruptBatch if one of them cannot be read."""
    if header.attributes & CODEC_MASK:
        section = _decompressed(batch, header, decompressed_bytes_max)
        return latest_timestamp(section, 0, header)
    return latest_timestamp(batch, HEADER_BYTES, header)


def encode_batch(records: Sequence[Row], options: BatchOptions = PLAIN) -> bytes:
    """A batch of `records` (or rows of their fields), whose offsets rise but may have gaps."""
    if not records:
        raise ValueError("a record batch takes at least one record")
    first_offset, base_timestamp = records[0][:2]
    base_offset = first_offset if options.base_offset is None else options.base_offset
    last_offset_delta = records[-1][0] - base_offset
    if last_offset_delta > _INT32_MAX:
        raise ValueError(f"offsets of a batch span {last_offset_delta}; limit is {_INT32_MAX}")
    section = encode_rows(records, base_offset, base_timestamp)
    max_timestamp = max(map(_TIMESTAMP, records))
    return Envelope(options).enclose(
        section, base_offset, last_offset_delta, base_timestamp, max_timestamp, len(records)
    )


def encode_control_batch(
    control_type: ControlRecordType,
    *,
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
) -> bytes:
    """The marker that ends a producer's transaction in a partition."""
    key = _CONTROL_KEY.pack(0, control_type)
    value = _END_TXN_MARKER.pack(0, coordinator_epoch)
    options = BatchOptions(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
    return encode_batch([Record(base_offset, timestamp, key, value)], options)


def control_record_type(record: Record) -> ControlRecordType | None:
    """Which marker a record of a control batch is; None for a type this code does not know."""
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise CorruptBatch(f"control record at offset {record.offset} has key {record.key!r}")
    # Versions only ever add fields, so a newer one is read like version 0, as Kafka does.
    _, type_id = _CONTROL_KEY.unpack_from(record.key)
    return _CONTROL_TYPES.get(type_id)


_CONTROL_TYPES = {int(control_type): control_type for control_type in ControlRecordType}


def _decompressed(batch: Buffer, header: BatchHeader, bytes_max: int) -> bytes:
    section = memoryview(batch)[HEADER_BYTES:]
    if not section and not header.record_count:
        return b""  # compaction leaves such batches to remember a producer's sequence
    try:
        return decompress(header.codec, section, bytes_max=bytes_max)
    except DecompressionError as error:
        raise CorruptBatch(f"records cannot be decompressed: {error}") from error
