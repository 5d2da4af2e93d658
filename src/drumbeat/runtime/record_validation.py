"""What a producer may append, as Kafka's LogValidator has it: the first thing wrong, by error code.

Records are decompressed only where a rule is about them: a compacted topic needs keys, and a
topic with a compression type of its own is recompressed.
"""

import struct
from typing import NamedTuple

from drumbeat.protocol.compression import Codec, DecompressionError, codec_by_name
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import (
    LOG_OVERHEAD,
    BatchHeader,
    CorruptBatch,
    check_crc,
    read_header,
    with_log_append_time,
)
from drumbeat.protocol.records import BatchOptions, decode_records, encode_batch
from drumbeat.runtime.config import TopicConfig

ZSTD_SINCE_PRODUCE = 7
DECOMPRESSED_BYTES_MAX = 128 << 20
OLD_MAGICS = (0, 1)

_BATCH_START = struct.Struct(">qiib")  # base offset, batch length, leader epoch, magic


class RefusedBatch(Exception):  # noqa: N818 - what happened, not what failed
    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code


class ValidBatch(NamedTuple):
    header: BatchHeader
    data: bytes
    log_append_time_ms: int  # -1 where the producer's timestamps stand


def validate(data: bytes | None, config: TopicConfig, api_version: int, now_ms: int) -> ValidBatch:
    """The batch as it is to be appended; raises RefusedBatch."""
    header = _first_batch(data)
    assert data is not None
    _check_codec(header, api_version)
    _check_single(data, header)
    _check_header(header, config)
    if config.is_compacted or _target_codec(header, config) != header.codec:
        data = _rewritten(data, header, config)
        header = read_header(data)
    if config.message_timestamp_type != "LogAppendTime":
        return ValidBatch(header, data, -1)
    data = with_log_append_time(data, now_ms)
    return ValidBatch(read_header(data), data, now_ms)


def _first_batch(data: bytes | None) -> BatchHeader:
    if data is None or len(data) < _BATCH_START.size:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "a partition without a record batch")
    _, batch_length, _, magic = _BATCH_START.unpack_from(data)
    if magic in OLD_MAGICS:
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD, f"message format v{magic} is not supported, only v2"
        )
    if batch_length > len(data) - LOG_OVERHEAD:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "the record batch is cut off")
    try:
        return read_header(data)
    except CorruptBatch as problem:
        raise RefusedBatch(ErrorCode.CORRUPT_MESSAGE, str(problem)) from None


def _check_codec(header: BatchHeader, api_version: int) -> None:
    if header.codec is Codec.ZSTD and api_version < ZSTD_SINCE_PRODUCE:
        raise RefusedBatch(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7 or newer")


def _check_single(data: bytes, header: BatchHeader) -> None:
    if header.size < len(data):
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "more than one record batch for a partition")
    if header.is_transactional:
        # What Kafka answers to transactional records without a transactional id.
        raise RefusedBatch(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactions are not supported"
        )
    try:
        check_crc(data, 0, header)
    except CorruptBatch as problem:
        raise RefusedBatch(ErrorCode.CORRUPT_MESSAGE, str(problem)) from None


def _check_header(header: BatchHeader, config: TopicConfig) -> None:
    if header.size > config.max_message_bytes:
        raise RefusedBatch(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {header.size} bytes; max.message.bytes is {config.max_message_bytes}",
        )
    if header.base_offset != 0:
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD, f"a base offset of {header.base_offset}; the broker gives it"
        )
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD,
            f"{header.record_count} records with a last offset delta of {header.last_offset_delta}",
        )
    if header.is_control:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD, "a producer id without a sequence number or epoch"
        )


def _target_codec(header: BatchHeader, config: TopicConfig) -> Codec:
    if config.compression_type == "producer":
        return header.codec
    return codec_by_name(config.compression_type)


def _rewritten(data: bytes, header: BatchHeader, config: TopicConfig) -> bytes:
    """The batch after the rules that concern single records."""
    try:
        records = decode_records(data, decompressed_bytes_max=DECOMPRESSED_BYTES_MAX)
    except (CorruptBatch, DecompressionError) as problem:
        raise RefusedBatch(ErrorCode.CORRUPT_MESSAGE, str(problem)) from None
    if config.is_compacted and any(record.key is None for record in records):
        raise RefusedBatch(
            ErrorCode.INVALID_RECORD, "a compacted topic cannot accept a record without a key"
        )
    codec = _target_codec(header, config)
    if codec == header.codec:
        return data
    options = BatchOptions(
        codec=codec,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )
    return encode_batch(records, options)
