"""The 61-byte header of a v2 record batch, and what can be done without decoding records.

A broker needs no more than this to append, index and serve batches. The base offset and the
leader epoch sit outside the checksum, so stamping them neither reads nor copies the records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from drumbeat.protocol.compression import Codec
from drumbeat.protocol.crc import crc32c
from drumbeat.protocol.varint import Buffer

HEADER_BYTES: Final = 61
LOG_OVERHEAD: Final = 12  # base offset and batch length; the batch length counts what follows
MAGIC: Final = 2
NO_PRODUCER_ID: Final = -1
NO_SEQUENCE: Final = -1

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40

_CODECS: Final = tuple(sorted(Codec))  # by number: calling the enum is slow
_CODEC_MAX: Final = len(_CODECS) - 1
_SEQUENCE_MASK: Final = 0x7FFF_FFFF
_BATCH_LENGTH_MIN: Final = HEADER_BYTES - LOG_OVERHEAD
_BATCH_LENGTH_AT: Final = 8
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
_ATTRIBUTES_AT: Final = 21  # the checksum covers everything from here to the end of the batch
_MAX_TIMESTAMP_AT: Final = 35

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_unpack_header: Final = _HEADER.unpack_from
# Only what tells whether a batch is sound: length, magic, CRC, attributes, last delta, count.
_unpack_outline: Final = struct.Struct(">qiib4xhi8xq14xi").unpack_from  # see `outline_of`
_unpack_soundness: Final = struct.Struct(">8xi4xbIhi30xi").unpack_from
_new: Final = tuple.__new__  # whoever walks a log makes one header per batch
# A checksum takes microseconds. Letting other threads run meanwhile means to fight them afterwards.
_KEEP_GIL: Final = 0
_unpack_producer: Final = struct.Struct(">8xi31xq").unpack_from  # batch length, producer id
_PREFIX: Final = struct.Struct(">qii")  # base offset, batch length, partition leader epoch
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_INT64 = struct.Struct(">q")


class CorruptBatch(ValueError):  # noqa: N818 - named after Kafka's CorruptRecordException
    """Bytes that are not a v2 record batch; the message says what is wrong and where."""


class BatchHeader(NamedTuple):
    """The fixed fields of a batch, in wire order."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        return _CODECS[self.attributes & CODEC_MASK]

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_FLAG)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the base timestamp is when compaction may drop this batch's tombstones."""
        return bool(self.attributes & DELETE_HORIZON_FLAG)

    @property
    def delete_horizon_ms(self) -> int | None:
        return self.base_timestamp if self.has_delete_horizon else None

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record; sequences go from 2**31 - 1 back to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & _SEQUENCE_MASK


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`; the records behind it may be missing."""
    if len(buffer) - position < HEADER_BYTES:
        _check_magic(buffer, position, len(buffer))
        raise CorruptBatch(
            f"{len(buffer) - position} bytes at position {position}; "
            f"a batch header takes {HEADER_BYTES}"
        )
    header = _new(BatchHeader, _unpack_header(buffer, position))
    _, length, _, magic, _, attributes, last_delta, _, _, _, _, _, count = header
    is_sound = magic == MAGIC and length >= _BATCH_LENGTH_MIN and last_delta >= 0 <= count
    if not is_sound or attributes & CODEC_MASK > _CODEC_MAX:
        raise CorruptBatch(f"{_problem(header)} at position {position}")
    return header


# Base offset, partition leader epoch, last offset delta, largest timestamp.
Outline: TypeAlias = tuple[int, int, int, int]


def outline_of(batch: bytes) -> Outline:
    """What whoever appends a whole batch has to know of it; cheaper than `read_header`."""
    if len(batch) >= HEADER_BYTES:
        fields: tuple[int, int, int, int, int, int, int, int] = _unpack_outline(batch)
        base_offset, length, epoch, magic, attributes, last_delta, max_timestamp, count = fields
        is_whole = magic == MAGIC and length + LOG_OVERHEAD == len(batch)
        if is_whole and last_delta >= 0 <= count and attributes & CODEC_MASK <= _CODEC_MAX:
            return base_offset, epoch, last_delta, max_timestamp
    header = read_header(batch)  # or says what is wrong with it
    raise CorruptBatch(f"{len(batch)} bytes given, but the batch says it has {header.size}")


def check_crc(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Compare the batch's CRC-32C with its bytes."""
    end = position + header.size
    if end > len(buffer):
        raise CorruptBatch(
            f"batch of {header.size} bytes at position {position} "
            f"is cut off after {len(buffer) - position}"
        )
    actual = crc32c(memoryview(buffer)[position + _ATTRIBUTES_AT : end], 0, _KEEP_GIL)
    if actual != header.crc:
        raise CorruptBatch(
            f"CRC-32C of the batch at position {position} is {actual:#010x}; "
            f"its header says {header.crc:#010x}"
        )


def sound_end(buffer: bytes) -> int:
    """Where the whole and sound batches end with which `buffer` begins.

    For whoever checks whole logs. The batch behind them is cut off, or `read_header` or `check_crc`
    say what is wrong with it.
    """
    view = memoryview(buffer)
    position, limit = 0, len(buffer)
    # Said to be numbers, or compiled code would compare objects.
    length: int
    magic: int
    attributes: int
    last_delta: int
    count: int
    while limit - position >= HEADER_BYTES:
        length, magic, crc, attributes, last_delta, count = _unpack_soundness(buffer, position)
        end = position + LOG_OVERHEAD + length
        is_sound = magic == MAGIC and length >= _BATCH_LENGTH_MIN and last_delta >= 0 <= count
        if not is_sound or attributes & CODEC_MASK > _CODEC_MAX or end > limit:
            break
        if crc32c(view[position + _ATTRIBUTES_AT : end], 0, _KEEP_GIL) != crc:
            break
        position = end
    return position


def iter_headers(
    buffer: Buffer, position: int = 0, end: int | None = None
) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each complete batch between `position` and `end`.

    An incomplete last batch ends the walk quietly: a fetch response may be cut anywhere.
    """
    limit = len(buffer) if end is None else end
    while limit - position >= HEADER_BYTES:
        header = read_header(buffer, position)
        if position + header.size > limit:
            return
        yield position, header
        position += header.size
    _check_magic(buffer, position, limit)


def iter_producer_headers(batches: bytes) -> Iterator[BatchHeader]:
    """The headers of those batches that have a producer id; all must be whole and sound."""
    position = 0
    while position < len(batches):
        length, producer_id = _unpack_producer(batches, position)
        if producer_id > NO_PRODUCER_ID:
            yield read_header(batches, position)
        position += LOG_OVERHEAD + length


def assigned_prefix(batch: Buffer, base_offset: int, leader_epoch: int) -> bytes:
    """The first 16 bytes of `batch` once it has its place in the log."""
    (batch_length,) = _INT32.unpack_from(batch, _BATCH_LENGTH_AT)
    return _PREFIX.pack(base_offset, batch_length, leader_epoch)


def assign(batch: Buffer, base_offset: int, leader_epoch: int) -> bytes:
    """A copy of `batch` stamped with its place in the log."""
    prefix = assigned_prefix(batch, base_offset, leader_epoch)
    return b"".join((prefix, memoryview(batch)[len(prefix) :]))


def seal(header: BatchHeader, section: Buffer) -> bytes:
    """The batch of `header` and this records section; length and checksum are worked out here."""
    sealed = bytearray(HEADER_BYTES + len(section))
    _HEADER.pack_into(sealed, 0, *header._replace(batch_length=len(sealed) - LOG_OVERHEAD))
    sealed[HEADER_BYTES:] = section
    _UINT32.pack_into(sealed, _CRC_AT, crc32c(memoryview(sealed)[_ATTRIBUTES_AT:]))
    return bytes(sealed)


def with_log_append_time(batch: Buffer, now_ms: int) -> bytes:
    """A copy of `batch` whose records all carry `now_ms`, as message.timestamp.type asks.

    Records keep their deltas to the untouched base timestamp: readers ignore both.
    """
    stamped = bytearray(batch)
    (attributes,) = _INT16.unpack_from(stamped, _ATTRIBUTES_AT)
    _INT16.pack_into(stamped, _ATTRIBUTES_AT, attributes | LOG_APPEND_TIME_FLAG)
    return _stamped(stamped, now_ms)


def with_max_timestamp(batch: Buffer, max_timestamp: int) -> bytes:
    """A copy of `batch` whose header tells the largest timestamp of its records."""
    return _stamped(bytearray(batch), max_timestamp)


def _stamped(batch: bytearray, max_timestamp: int) -> bytes:
    _INT64.pack_into(batch, _MAX_TIMESTAMP_AT, max_timestamp)
    _UINT32.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[_ATTRIBUTES_AT:]))
    return bytes(batch)


def _check_magic(buffer: Buffer, position: int, end: int) -> None:
    """Name the format of what is too short to be a v2 header: v0 messages can be 26 bytes."""
    if end - position > _MAGIC_AT and (problem := _magic_problem(buffer[position + _MAGIC_AT])):
        raise CorruptBatch(f"{problem} at position {position}")


def _problem(header: BatchHeader) -> str:
    if problem := _magic_problem(header.magic):
        return problem
    if header.batch_length < _BATCH_LENGTH_MIN:
        return f"batch length {header.batch_length} below {_BATCH_LENGTH_MIN}"
    if header.last_offset_delta < 0:
        return f"negative last offset delta {header.last_offset_delta}"
    if header.record_count < 0:
        return f"negative record count {header.record_count}"
    return f"unknown compression codec {header.attributes & CODEC_MASK}"


def _magic_problem(magic: int) -> str | None:
    if magic == MAGIC:
        return None
    if magic in (0, 1):
        return f"message format v{magic} is not supported, only v{MAGIC},"
    return f"unknown magic byte {magic}"
