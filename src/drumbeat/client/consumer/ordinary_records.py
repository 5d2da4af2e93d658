"""The fast way from the bytes of a batch to ConsumerRecords: one loop, one object per record.

It knows ordinary batches only: no gaps between offsets, no headers, timestamps that do not go back,
fields up to 8 KB. Then offsets need not be read, nor the lengths of records. Of any other batch it
returns nothing, and the complete reader of `protocol.records` has it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from drumbeat.client.values import ConsumerRecord, TimestampType
from drumbeat.protocol.record_batch import HEADER_BYTES, BatchHeader
from drumbeat.protocol.record_section import Headers

# How many bytes an offset delta takes in zigzag form, and below which delta.
_OFFSET_WIDTHS: Final = ((1, 1 << 6), (2, 1 << 13), (3, 1 << 20))
_COUNT_MAX: Final = _OFFSET_WIDTHS[-1][1]
# A zigzag varint that is not negative and takes at most two bytes has none of these bits.
_NOT_ORDINARY: Final = ~0x3FFE
_NO_HEADERS: Final[Headers] = ()


class Origin(NamedTuple):
    """What all records of a batch have in common."""

    topic: str
    partition: int
    timestamp_type: TimestampType
    leader_epoch: int


def read_ordinary(
    data: bytes, position: int, header: BatchHeader, origin: Origin
) -> list[ConsumerRecord] | None:
    """All records of the batch at `position`, which is not compressed; None if not ordinary."""
    count = header.record_count
    if header.last_offset_delta + 1 != count or count > _COUNT_MAX:
        return None
    records: list[ConsumerRecord] = []
    at = position + HEADER_BYTES
    for width, limit in _OFFSET_WIDTHS:
        first, stop = len(records), min(count, limit)
        if first < stop and at >= 0:
            offsets = range(header.base_offset + first, header.base_offset + stop)
            try:
                at = _read_run(data, at, header.base_timestamp, (offsets, width, origin), records)
            except IndexError:
                return None
    # Whatever was taken for something that it is not does not end where the batch ends.
    return records if at == position + header.size else None


def _read_run(
    data: bytes,
    position: int,
    base_timestamp: int,
    run: tuple[range, int, Origin],
    records: list[ConsumerRecord],
) -> int:
    """Append the records whose offset deltas have the same width.

    Returns the position after them, or -1 to give up. Varints stay in zigzag form; what is wrong
    with one shows in `seen`.
    """
    offsets, width, (topic, partition, timestamp_type, leader_epoch) = run
    after_offset = width + 1
    append, new, record_type = records.append, tuple.__new__, ConsumerRecord
    seen = 0
    for offset in offsets:
        # Length (one or two bytes, not needed), attributes (unused), timestamp delta.
        position += 3 if data[position] > 127 else 2
        timestamp_delta = data[position]
        if timestamp_delta > 127:
            position += 1
            timestamp_delta += (data[position] << 7) - 128
        seen |= timestamp_delta
        position += after_offset
        size = data[position]
        position += 1
        if size == 1:
            key, key_size = None, -1
        else:
            if size > 127:
                size += (data[position] << 7) - 128
                seen |= size
                position += 1
            start, key_size = position, size >> 1
            position += key_size
            key = data[start:position]
        size = data[position]
        position += 1
        if size == 1:
            value, value_size = None, -1
        else:
            if size > 127:
                size += (data[position] << 7) - 128
                seen |= size
                position += 1
            start, value_size = position, size >> 1
            position += value_size
            value = data[start:position]
        if data[position]:
            return -1  # headers
        position += 1
        append(
            new(
                record_type,
                (
                    topic,
                    partition,
                    offset,
                    base_timestamp + (timestamp_delta >> 1),
                    timestamp_type,
                    key,
                    value,
                    _NO_HEADERS,
                    leader_epoch,
                    key_size,
                    value_size,
                ),
            )
        )
    return -1 if seen & _NOT_ORDINARY else position
