"""What a producer may append, as Kafka's LogValidator has it: the first thing wrong, by error code.

Every record is looked at, because one that cannot be read keeps every consumer of its partition
from going on. Records are kept for a second look only where a rule is about them: a compacted
topic needs keys, timestamps may lie too far off, and a topic with a compression type of its own is
recompressed.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from drumbeat.protocol.compression import Codec, codec_by_name
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import (
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    CorruptBatch,
    check_crc,
    read_header,
    with_log_append_time,
    with_max_timestamp,
)
from drumbeat.protocol.records import (
    BatchOptions,
    Record,
    decode_records,
    encode_batch,
    latest_timestamp_of,
)
from drumbeat.runtime.config import TopicConfig

ZSTD_SINCE_PRODUCE: Final = 7
# Decompression holds up every other client, so a small batch may not grow without limit: 32 times
# what a topic takes by default. Kafka has no such limit.
DECOMPRESSED_BYTES_MAX: Final = 32 << 20
OLD_MAGIC_MAX: Final = 1

LOG_APPEND_TIME: Final = "LogAppendTime"
NO_TIMESTAMP: Final = -1
NO_LIMIT: Final = 2**63 - 1

# Every batch comes by here; in compiled code a global that is not Final is looked up each time.
_unpack_length: Final = struct.Struct(">8xi").unpack_from  # behind the base offset
_BATCH_LENGTH_MIN: Final = 14  # of the shortest message there ever was
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 21
_ZSTD: Final = Codec.ZSTD
_new: Final = tuple.__new__  # a NamedTuple's constructor takes longer


class RefusedBatch(Exception):  # noqa: N818 - what happened, not what failed
    def __init__(
        self,
        error_code: ErrorCode,
        message: str,
        record_errors: tuple[tuple[int, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.record_errors = record_errors  # which records of the batch, and why


class ValidBatch(NamedTuple):
    header: BatchHeader
    data: bytes
    log_append_time_ms: int  # -1 where the producer's timestamps stand


def is_transactional(data: bytes | None) -> bool:
    """Raises RefusedBatch where that cannot be told, because it is no batch that begins here."""
    return (
        data is not None
        and _size_at(data, 0) is not None
        and len(data) > _ATTRIBUTES_AT + 1
        and data[_MAGIC_AT] == MAGIC
        and bool(data[_ATTRIBUTES_AT + 1] & TRANSACTIONAL_FLAG)
    )


def check_request(data: bytes | None, api_version: int) -> BatchHeader:
    """What a request may carry for a partition, whatever topic it is for; raises RefusedBatch."""
    size = None if data is None else _size_at(data, 0)
    if data is None or size is None:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "a partition without a whole record batch")
    if data[_MAGIC_AT] <= OLD_MAGIC_MAX:
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD, f"message format v{data[_MAGIC_AT]} is not supported, only v2"
        )
    try:
        header = read_header(data)
    except CorruptBatch as problem:
        raise RefusedBatch(ErrorCode.CORRUPT_MESSAGE, str(problem)) from None
    if header.codec is _ZSTD and api_version < ZSTD_SINCE_PRODUCE:
        raise RefusedBatch(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7 or newer")
    if size < len(data) and _size_at(data, size) is not None:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "more than one record batch for a partition")
    return header


def _size_at(data: bytes, position: int) -> int | None:
    """The size of the batch that begins there; None if it is cut off, or there is none."""
    left = len(data) - position
    if left < LOG_OVERHEAD:
        return None
    batch_length: int = _unpack_length(data, position)[0]
    if batch_length < _BATCH_LENGTH_MIN:
        raise RefusedBatch(ErrorCode.CORRUPT_MESSAGE, f"a batch length of {batch_length}")
    if left <= _MAGIC_AT:
        return None
    if data[position + _MAGIC_AT] > MAGIC:
        raise RefusedBatch(ErrorCode.CORRUPT_MESSAGE, "an unknown message format")
    size = LOG_OVERHEAD + batch_length
    return size if size <= left else None


def validate(data: bytes, header: BatchHeader, config: TopicConfig, now_ms: int) -> ValidBatch:
    """The batch as it is to be appended; raises RefusedBatch."""
    _check_whole(data, header, config)
    _check_header(header)
    latest_ms = _check_readable(data, header)
    if latest_ms != header.max_timestamp:
        data = with_max_timestamp(data, latest_ms)
        header = read_header(data)
    if _looks_at_records(header, config, now_ms):
        data = _rewritten(data, header, config, now_ms)
        header = read_header(data)
    if config.message_timestamp_type != LOG_APPEND_TIME:
        return _new(ValidBatch, (header, data, -1))
    data = with_log_append_time(data, now_ms)
    return ValidBatch(read_header(data), data, now_ms)


def _check_whole(data: bytes, header: BatchHeader, config: TopicConfig) -> None:
    if header.base_offset != 0:
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD, f"a base offset of {header.base_offset}; the broker gives it"
        )
    if header.size > config.max_message_bytes:
        raise RefusedBatch(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {header.size} bytes; max.message.bytes is {config.max_message_bytes}",
        )
    try:
        check_crc(data, 0, header)
    except CorruptBatch as problem:
        raise RefusedBatch(ErrorCode.CORRUPT_MESSAGE, str(problem)) from None


def _check_header(header: BatchHeader) -> None:
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD,
            f"{header.record_count} records with a last offset delta of {header.last_offset_delta}",
        )
    if header.is_control:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "a producer id without a sequence number")


def _check_readable(data: bytes, header: BatchHeader) -> int:
    """The largest timestamp of its records, whatever the header says."""
    try:
        return latest_timestamp_of(data, header, decompressed_bytes_max=DECOMPRESSED_BYTES_MAX)
    except CorruptBatch as problem:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, str(problem)) from None


def _looks_at_records(header: BatchHeader, config: TopicConfig, now_ms: int) -> bool:
    """Whether a rule is about single records, or the batch is to be compressed anew."""
    return (
        config.is_compacted
        or _target_codec(header, config) != header.codec
        or header.is_log_append_time
        or header.max_timestamp - now_ms > config.message_timestamp_after_max_ms
        or config.message_timestamp_before_max_ms < NO_LIMIT
    )


def _target_codec(header: BatchHeader, config: TopicConfig) -> Codec:
    if config.compression_type == "producer":
        return header.codec
    return codec_by_name(config.compression_type)


def _rewritten(data: bytes, header: BatchHeader, config: TopicConfig, now_ms: int) -> bytes:
    """The batch after the rules that concern single records."""
    records = decode_records(data, decompressed_bytes_max=DECOMPRESSED_BYTES_MAX)
    _check_records(records, header, config, now_ms)
    codec = _target_codec(header, config)
    if codec == header.codec:
        return data
    if header.producer_id >= 0 > header.producer_epoch:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "a producer id without an epoch")
    options = BatchOptions(
        codec=codec,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )
    return encode_batch(records, options)


def _check_records(
    records: Sequence[Record], header: BatchHeader, config: TopicConfig, now_ms: int
) -> None:
    keyless, untimely = [], []
    for index, record in enumerate(records):
        if config.is_compacted and record.key is None:
            keyless.append((index, "a compacted topic cannot accept a record without a key"))
        elif problem := _timestamp_problem(record.timestamp, header, config, now_ms):
            untimely.append((index, problem))
    if untimely:
        refused = tuple(sorted(keyless + untimely))
        raise RefusedBatch(ErrorCode.INVALID_TIMESTAMP, untimely[0][1], refused)
    if keyless:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, keyless[0][1], tuple(keyless))


def _timestamp_problem(
    timestamp: int, header: BatchHeader, config: TopicConfig, now_ms: int
) -> str | None:
    if config.message_timestamp_type == LOG_APPEND_TIME or timestamp == NO_TIMESTAMP:
        is_wrong_type = header.is_log_append_time
        return "a producer may not set LogAppendTime" if is_wrong_type else None
    age_ms = now_ms - timestamp
    if age_ms > config.message_timestamp_before_max_ms:
        limit_ms = config.message_timestamp_before_max_ms
        return f"timestamp {timestamp}: message.timestamp.before.max.ms is {limit_ms}"
    if -age_ms > config.message_timestamp_after_max_ms:
        return (
            f"timestamp {timestamp} is {-age_ms} ms ahead; message.timestamp.after.max.ms forbids"
        )
    return None
