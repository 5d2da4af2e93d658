"""The records section of a v2 batch, uncompressed: bytes to rows and back.

Reading tries each record in an inlined loop that knows only varints of one or two bytes. Whatever
that does not recognise goes to the plain reader, which is complete and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from drumbeat.protocol.record_batch import BatchHeader, CorruptBatch
from drumbeat.protocol.varint import (
    MalformedVarint,
    encode_varint,
    encode_varlong,
    read_varint,
    read_varlong,
    short_varints,
)

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
# Offset, timestamp, key, value, headers: plain tuples, because a class costs a call per record.
Row: TypeAlias = tuple[int, int, bytes | None, bytes | None, Headers]

RECORD_BYTES_MIN: Final = 7  # length, attributes, two deltas, two lengths, header count
_HEADER_BYTES_MIN = 2  # key length, value length
TWO_BYTE_VARINT_MAX: Final = 0x3FFF
_NO_HEADERS = b"\x00"
# Header keys are text by agreement only. What is not UTF-8 has to survive a rewrite of the batch.
_KEY_ERRORS = "surrogateescape"


def read_rows(data: bytes, position: int, header: BatchHeader) -> list[Row]:
    """All records from `position` to the end of `data`, with absolute offsets and timestamps."""
    size = len(data) - position
    if header.record_count * RECORD_BYTES_MIN > size:
        raise CorruptBatch(f"{header.record_count} records declared in {size} bytes")
    rows: list[Row] = []
    position = _read_ordinary(data, position, header, rows)
    while len(rows) < header.record_count:
        try:
            row, position = read_record(data, position, header)
        except (MalformedVarint, CorruptBatch) as error:
            where = f"record {len(rows) + 1} of {header.record_count}"
            raise CorruptBatch(f"{where}: {error}") from error
        if row[0] <= (rows[-1][0] if rows else header.base_offset - 1):
            raise CorruptBatch(f"record {len(rows) + 1}: offset {row[0]} does not rise")
        rows.append(row)
        position = _read_ordinary(data, position, header, rows)
    if position != len(data):
        raise CorruptBatch(f"{len(data) - position} bytes after the last record")
    return rows


def _read_ordinary(data: bytes, position: int, header: BatchHeader, rows: list[Row]) -> int:
    """Append ordinary records to `rows` and return the position of the first that is not.

    Varints stay in zigzag form here: odd means negative, which only lengths of -1 and timestamps
    may be. A third byte shows as a value above the two-byte maximum.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    previous = 2 * (rows[-1][0] - base_offset) if rows else -1
    start, size = position, len(data)
    try:
        for _ in range(header.record_count - len(rows)):
            length, position = data[position], position + 1
            if length > 127:
                length += (data[position] << 7) - 128
                position += 1
            end = position + (length >> 1)
            # The byte between is the record's attributes, which are unused.
            timestamp_delta, position = data[position + 1], position + 2
            if timestamp_delta > 127:
                timestamp_delta += (data[position] << 7) - 128
                position += 1
            offset_delta, position = data[position], position + 1
            if offset_delta > 127:
                offset_delta += (data[position] << 7) - 128
                position += 1
            key_length, position = data[position], position + 1
            if key_length > 127:
                key_length += (data[position] << 7) - 128
                position += 1
            key_at, position = position, position + (key_length >> 1)
            key = None if key_length == 1 else data[key_at:position]
            value_length, position = data[position], position + 1
            if value_length > 127:
                value_length += (data[position] << 7) - 128
                position += 1
            value_at, position = position, position + (value_length >> 1)
            value = None if value_length == 1 else data[value_at:position]
            headers, position = (
                read_headers(data, position, end) if data[position] else ((), position + 1)
            )
            if (
                position != end
                or end > size
                or offset_delta <= previous
                or (length | offset_delta) & 1
                or (key_length & 1 and key_length > 1)
                or (value_length & 1 and value_length > 1)
                or (length | timestamp_delta | offset_delta | key_length | value_length)
                > TWO_BYTE_VARINT_MAX
            ):
                break
            timestamp = base_timestamp + (timestamp_delta >> 1 ^ -(timestamp_delta & 1))
            rows.append((base_offset + (offset_delta >> 1), timestamp, key, value, headers))
            previous = offset_delta
            start = position
    except (IndexError, MalformedVarint, CorruptBatch):
        pass  # cut off, or lengths that point outside: for the plain reader to name
    return start


def read_record(data: bytes, position: int, header: BatchHeader) -> tuple[Row, int]:
    """One record, and the position behind it; raises CorruptBatch or MalformedVarint."""
    length, position = read_varint(data, position)
    start, end = position, position + length
    if length < 0 or end > len(data):
        raise CorruptBatch(f"length {length} with {len(data) - start} bytes left")
    timestamp_delta, position = read_varlong(data, start + 1)  # after the unused attributes
    offset_delta, position = read_varint(data, position)
    key, position = _read_bytes(data, position, end, "key")
    value, position = _read_bytes(data, position, end, "value")
    headers, position = read_headers(data, position, end)
    if position != end:
        raise CorruptBatch(f"length {length}, but its fields take {position - start}")
    offset = header.base_offset + offset_delta
    return (offset, header.base_timestamp + timestamp_delta, key, value, headers), position


def _read_bytes(data: bytes, position: int, end: int, field: str) -> tuple[bytes | None, int]:
    length, position = read_varint(data, position)
    if length == -1:
        return None, position
    if length < 0 or position + length > end:
        raise CorruptBatch(f"{field} length {length} with {end - position} bytes left")
    return data[position : position + length], position + length


def read_headers(data: bytes, position: int, end: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if not 0 <= count * _HEADER_BYTES_MIN <= end - position:
        raise CorruptBatch(f"header count {count} with {end - position} bytes left")
    headers = []
    for _ in range(count):
        key, position = _read_bytes(data, position, end, "header key")
        if key is None:
            raise CorruptBatch("header key is null")
        value, position = _read_bytes(data, position, end, "header value")
        headers.append((key.decode("utf-8", _KEY_ERRORS), value))
    return tuple(headers), position


def encode_rows(rows: Iterable[Row], base_offset: int, base_timestamp: int) -> bytes:
    """The records section for `rows`."""
    short = short_varints()
    limit = len(short) - 1  # the last entry is that of -1, a null's length
    parts: list[bytes] = []
    previous = -1
    for offset, timestamp, key, value, headers in rows:
        offset_delta = offset - base_offset
        if offset_delta <= previous:
            raise ValueError(f"offset {offset} does not rise within the batch from {base_offset}")
        previous = offset_delta
        delta = timestamp - base_timestamp
        key_length = -1 if key is None else len(key)
        value_length = -1 if value is None else len(value)
        body = b"".join(
            (
                b"\x00",  # attributes, unused
                short[delta] if 0 <= delta < limit else encode_varlong(delta),
                short[offset_delta] if offset_delta < limit else encode_varint(offset_delta),
                short[key_length] if key_length < limit else encode_varint(key_length),
                key or b"",
                short[value_length] if value_length < limit else encode_varint(value_length),
                value or b"",
                _encode_headers(headers) if headers else _NO_HEADERS,
            )
        )
        length = len(body)
        parts += (short[length] if length < limit else encode_varint(length), body)
    return b"".join(parts)


def _encode_headers(headers: Headers) -> bytes:
    short = short_varints()
    limit = len(short) - 1
    parts = [encode_varint(len(headers))]
    for key, value in headers:
        name = key.encode("utf-8", _KEY_ERRORS)
        name_length = len(name)
        value_length = -1 if value is None else len(value)
        parts += (
            short[name_length] if name_length < limit else encode_varint(name_length),
            name,
            short[value_length] if value_length < limit else encode_varint(value_length),
            value or b"",
        )
    return b"".join(parts)
