"""The records section of a v2 batch, looked at and not kept: what a broker checks of a batch.

As in `record_section`, an inlined loop knows varints of one or two bytes, and whatever it does not
recognise goes to the plain reader. Nothing is made of a record, so this takes a fraction of what
reading it takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drumbeat.protocol.record_batch import BatchHeader, CorruptBatch
from drumbeat.protocol.record_section import (
    RECORD_BYTES_MIN,
    TWO_BYTE_VARINT_MAX,
    read_headers,
    read_record,
)
from drumbeat.protocol.varint import MalformedVarint

if TYPE_CHECKING:
    from mypy_extensions import i64

_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1


def latest_timestamp(data: bytes, position: int, header: BatchHeader) -> int:
    """The largest timestamp of the records from `position` to the end of `data`.

    Raises CorruptBatch unless they are all there, whole, and count up from the base offset.
    """
    count = header.record_count
    if count * RECORD_BYTES_MIN > len(data) - position:
        raise CorruptBatch(f"{count} records declared in {len(data) - position} bytes")
    position, walked, latest = _walk_ordinary(data, position, 0, count, _INT64_MIN)
    while walked < count:
        try:
            row, position = read_record(data, position, header)
        except (MalformedVarint, CorruptBatch) as error:
            raise CorruptBatch(f"record {walked + 1} of {count}: {error}") from error
        if row[0] != header.base_offset + walked:
            raise CorruptBatch(f"record {walked + 1} of {count} has offset {row[0]}")
        latest = max(latest, row[1] - header.base_timestamp)
        position, walked, latest = _walk_ordinary(data, position, walked + 1, count, latest)
    if position != len(data):
        raise CorruptBatch(f"{len(data) - position} bytes after the last record")
    latest_ms = header.base_timestamp + latest
    if not _INT64_MIN <= latest_ms <= _INT64_MAX:
        raise CorruptBatch(f"timestamp {latest_ms} takes more than 64 bits")
    return latest_ms


def _walk_ordinary(
    data: bytes, position: i64, walked: i64, count: i64, latest: i64
) -> tuple[int, int, int]:
    """Past ordinary records: where the first one is that is not, how many were walked by then, and
    the largest timestamp delta. Varints stay in zigzag form, as in `record_section`."""
    length: i64
    timestamp_delta: i64
    offset_delta: i64
    key_length: i64
    value_length: i64
    start, size = position, len(data)
    try:
        while walked < count:
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
            position += key_length >> 1
            value_length, position = data[position], position + 1
            if value_length > 127:
                value_length += (data[position] << 7) - 128
                position += 1
            position += value_length >> 1
            position = read_headers(data, position, end)[1] if data[position] else position + 1
            if (
                position != end
                or end > size
                or offset_delta != walked << 1
                or length & 1
                or (key_length & 1 and key_length > 1)
                or (value_length & 1 and value_length > 1)
                or (length | timestamp_delta | offset_delta | key_length | value_length)
                > TWO_BYTE_VARINT_MAX
            ):
                break
            delta = timestamp_delta >> 1 if not timestamp_delta & 1 else ~(timestamp_delta >> 1)
            latest = max(latest, delta)
            start, walked = position, walked + 1
    except (IndexError, MalformedVarint, CorruptBatch):
        pass  # cut off, or lengths that point outside: for the plain reader to name
    return start, walked, latest
