"""Record batches as producers send them, sound and unsound, and as consumers read them back."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD,
    BatchHeader,
    CorruptBatch,
    iter_headers,
)
from drumbeat.protocol.records import BatchOptions, Record, decode_records, encode_batch
from interop.oracle.vocabulary import Word

# Recent, so that retention leaves it alone, and the same for both brokers; but not now, so that
# what a producer has said and what a broker's clock has said can be told apart.
HOUR_MS = 3_600_000
Sign: TypeAlias = Callable[[int], Any]  # of what each broker numbers in its own way
START_MS = int(time.time()) * 1000 - HOUR_MS


class Batch(Word):
    PLAIN = "two records"
    ONE = "one record"
    GZIP = Codec.GZIP
    SNAPPY = Codec.SNAPPY
    LZ4 = Codec.LZ4
    ZSTD = Codec.ZSTD
    KEYLESS = "a record without a key"
    TOMBSTONE = "a record without a value"
    HEADERS = "a record with headers"
    LATER = "a record of the day after tomorrow"
    LARGE = "more than a topic takes by default"
    WRONG_CRC = "a damaged batch"
    CUT = "half a batch"
    OLD = "a message of the format before"
    CONTROL = "a marker that only brokers write"
    TWO = "two batches"
    FOLLOWED = "a batch and half of another"
    ZEROS = "zeros where a batch should be"
    EMPTY = "no bytes"
    WRONG_COUNT = "a header that announces more records"
    MISSING = "a record less than announced"
    MISSING_GZIP = "a compressed record less than announced"
    TRAILING = "bytes behind the last record"
    UNPACKABLE = "records that cannot be decompressed"
    WRONG_LENGTH = "a record that is longer than it says"
    WRONG_TIME = "a header with a timestamp that no record has"
    WRONG_TIME_LZ4 = "the same before compressed records"
    TRANSACTIONAL = "a transactional batch without a transaction"
    NEGATIVE_OFFSETS = "a batch whose first offset is not 0"


class Sequence(Word):
    """What an idempotent producer says about itself, to a partition."""

    NONE = "nothing: it is not idempotent"
    NEXT = "the sequence that is due"
    SAME = "the batch before once more"
    GAP = "a sequence too far"
    OLD_EPOCH = "an epoch below its own"
    NEW_EPOCH = "an epoch above its own, from sequence 0"
    NEW_EPOCH_LATE = "an epoch above its own, not from 0"
    STRANGER = "an id that no broker has given out"


def encoded(batch: Batch, at_s: int = 0, options: BatchOptions | None = None) -> bytes:
    """The batch; its records are `at_s` seconds after the beginning."""
    chosen = options or BatchOptions()
    make = _SPECIAL.get(batch)
    if make is not None:
        return make(at_s, chosen)
    if isinstance(batch.value, Codec):
        chosen = chosen._replace(codec=batch.value)
    return encode_batch(_records(batch, at_s), chosen)


def _records(batch: Batch, at_s: int) -> list[Record]:
    at_ms = START_MS + 1000 * at_s
    first = Record(0, at_ms, b"key", b"value")
    return {
        Batch.ONE: [first],
        Batch.KEYLESS: [first._replace(key=None)],
        Batch.TOMBSTONE: [first._replace(value=None)],
        Batch.HEADERS: [first._replace(headers=(("a", b"b"), ("a", None)))],
        Batch.LATER: [first._replace(timestamp=at_ms + 48 * HOUR_MS)],
        Batch.LARGE: [first._replace(value=b"v" * 1_100_000)],
        Batch.CONTROL: [first._replace(key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")],
    }.get(batch, [first, Record(1, at_ms + 500, None, b"second")])


def _plain(at_s: int, options: BatchOptions) -> bytes:
    return encode_batch(_records(Batch.PLAIN, at_s), options)


def _patched(data: bytes, position: int, patch: bytes) -> bytes:
    return data[:position] + patch + data[position + len(patch) :]


_SPECIAL: dict[Batch, Callable[[int, BatchOptions], bytes]] = {
    Batch.EMPTY: lambda _at, _options: b"",
    Batch.TWO: lambda at, options: _plain(at, options) + _plain(at + 1, options),
    Batch.FOLLOWED: lambda at, options: _plain(at, options) + _plain(at + 1, options)[:40],
    Batch.ZEROS: lambda _at, _options: bytes(61),
    Batch.CUT: lambda at, options: _plain(at, options)[:40],
    Batch.WRONG_CRC: lambda at, options: _patched(_plain(at, options), 17, b"\1\2\3\4"),
    Batch.OLD: lambda at, options: _patched(_plain(at, options), 16, b"\1"),
    Batch.CONTROL: lambda at, options: encode_batch(
        _records(Batch.CONTROL, at), options._replace(is_control=True, is_transactional=True)
    ),
    Batch.TRANSACTIONAL: lambda at, options: _plain(at, options._replace(is_transactional=True)),
    Batch.NEGATIVE_OFFSETS: lambda at, options: _patched(_plain(at, options), 0, b"\xff" * 8),
    Batch.WRONG_COUNT: lambda at, options: _with_count(_plain(at, options), 3),
    Batch.MISSING: lambda at, options: _with_count(_one(at, options), 2, last_offset_delta=1),
    Batch.MISSING_GZIP: lambda at, options: _with_count(
        _one(at, options._replace(codec=Codec.GZIP)), 2, last_offset_delta=1
    ),
    Batch.TRAILING: lambda at, options: _sealed(_plain(at, options) + bytes(3)),
    Batch.UNPACKABLE: lambda at, options: _as_if_compressed(_plain(at, options)),
    Batch.WRONG_LENGTH: lambda at, options: _with_shorter_record(_plain(at, options)),
    Batch.WRONG_TIME: lambda at, options: _with_max_timestamp(_plain(at, options), at),
    Batch.WRONG_TIME_LZ4: lambda at, options: _with_max_timestamp(
        _plain(at, options._replace(codec=Codec.LZ4)), at
    ),
}


def _one(at_s: int, options: BatchOptions) -> bytes:
    return encode_batch(_records(Batch.ONE, at_s), options)


def _with_count(data: bytes, count: int, *, last_offset_delta: int | None = None) -> bytes:
    counted = _patched(data, 57, count.to_bytes(4, "big"))
    if last_offset_delta is not None:
        counted = _patched(counted, 23, last_offset_delta.to_bytes(4, "big"))
    return _sealed(counted)


def _as_if_compressed(data: bytes) -> bytes:
    return _sealed(_patched(data, 22, bytes([data[22] | Codec.LZ4])))


def _with_shorter_record(data: bytes) -> bytes:
    return _sealed(_patched(data, HEADER_BYTES, bytes([data[HEADER_BYTES] - 2])))


def _with_max_timestamp(data: bytes, at_s: int) -> bytes:
    """Half a minute after the records."""
    return _sealed(_patched(data, 35, (START_MS + 1000 * at_s + 30_000).to_bytes(8, "big")))


def _sealed(data: bytes) -> bytes:
    """With the length and the checksum that belong to it."""
    from crc32c import crc32c

    sized = _patched(data, 8, (len(data) - LOG_OVERHEAD).to_bytes(4, "big"))
    return _patched(sized, 17, crc32c(sized[21:]).to_bytes(4, "big"))


def time_sign(timestamp: int) -> Any:
    """What a producer said, from the beginning; what a broker's clock said is like any other."""
    since_ms = timestamp - START_MS
    if HOUR_MS // 2 < since_ms < 2 * HOUR_MS:
        return "<now>"
    return f"<start {since_ms:+} ms>" if abs(since_ms) < 100 * HOUR_MS else timestamp


# -- reading -------------------------------------------------------------------------------------


def normal_batches(data: bytes | None, producer_sign: Sign, epoch_sign: Sign) -> Any:
    """Every whole batch of a fetched chunk: what its header says, and its records.

    Brokers may cut the last batch, and compress anew in their own way.
    """
    if data is None:
        return None
    try:
        return [
            _normal_batch(data[position : position + header.size], header)
            | {
                "producer_id": producer_sign(header.producer_id),
                "partition_leader_epoch": epoch_sign(header.partition_leader_epoch),
            }
            for position, header in iter_headers(data)
        ]
    except CorruptBatch as problem:
        return f"unreadable: {problem}"


def _normal_batch(data: bytes, header: BatchHeader) -> dict[str, Any]:
    fields: dict[str, Any] = header._asdict()
    for name in ("crc", "batch_length"):
        del fields[name]
    for name in ("base_timestamp", "max_timestamp"):
        fields[name] = time_sign(fields[name])
    fields["records"] = [
        tuple(record._replace(timestamp=time_sign(record.timestamp)))
        for record in decode_records(data)
    ]
    return fields
