"""Fetched batches to rows as Spark's own Kafka source has them, many records at once.

Markers of transactions are no rows; nor are, for read_committed, records of transactions that were
aborted. Keys and values are copied once, by Arrow, from where the batches hold them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from drumbeat.client.errors import CorruptRecordError
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.decode.arena import Arena, Flags, Ints
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.decode.errors import BadBatch
from drumbeat.pipeline.decode.headers import Batches, walk
from drumbeat.pipeline.decode.record_headers import index_headers
from drumbeat.pipeline.decode.records import RecordIndex, index_records
from drumbeat.pipeline.decode.sections import ROWS_MAX, Sections, sections
from drumbeat.pipeline.sources.fetching import Fetched
from drumbeat.protocol.apis.fetch import AbortedTransaction
from drumbeat.protocol.record_batch import CONTROL_FLAG, LOG_APPEND_TIME_FLAG, TRANSACTIONAL_FLAG
from drumbeat.protocol.records import ControlRecordType, control_record_type, decode_records

ROWS: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])
HEADERS: Final = pa.field("headers", pa.list_(pa.field("element", _HEADER)))
ROWS_WITH_HEADERS: Final = ROWS.append(HEADERS)

SPARK_SCHEMA: Final = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, "
    "timestamp TIMESTAMP, timestampType INT"
)
SPARK_SCHEMA_WITH_HEADERS: Final = (
    f"{SPARK_SCHEMA}, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_MICROSECONDS: Final = 1_000  # of a millisecond
_INT32_MAX: Final = 2**31 - 1


def record_rows(
    fetched: Fetched, tp: TopicPartition, wanted: OffsetRange, *, includes_headers: bool
) -> Iterator[pa.RecordBatch]:
    """The wanted records, at most ROWS_MAX at a time; a CorruptRecordError behind the last sound
    one if something is damaged.
    """
    arena = Arena.of(fetched.records)
    walked = walk(arena)
    batches = walked.batches
    is_wanted = (batches.last_offsets >= wanted.start) & (batches.ints("base_offset") < wanted.end)
    is_wanted &= _is_visible(arena, batches, fetched.aborted)
    for portion in sections(arena, batches.part(is_wanted)):
        indexed = index_records(portion)
        index = _within(indexed.records, portion.batches, wanted)
        for first in range(0, len(index.batch), ROWS_MAX):
            some = index.part(slice(first, first + ROWS_MAX))
            yield _rows(tp, portion, some, includes_headers)
        if indexed.bad is not None:
            raise _corrupt(tp, indexed.bad)
    if walked.bad is not None:
        raise _corrupt(tp, walked.bad)


def _corrupt(tp: TopicPartition, bad: BadBatch) -> CorruptRecordError:
    return CorruptRecordError(f"{tp}: a fetched batch cannot be read: {bad.found}")


def _within(index: RecordIndex, batches: Batches, wanted: OffsetRange) -> RecordIndex:
    offsets = batches.ints("base_offset")[index.batch] + index.offset_delta
    is_wanted = (offsets >= wanted.start) & (offsets < wanted.end)
    return index if is_wanted.all() else index.part(is_wanted)


# -- transactions ----------------------------------------------------------------------------------


def _is_visible(arena: Arena, batches: Batches, aborted: tuple[AbortedTransaction, ...]) -> Flags:
    """Which batches hold records for readers."""
    attributes = batches.ints("attributes")
    is_control = (attributes & CONTROL_FLAG) != 0
    is_visible: Flags = ~is_control
    if not aborted:
        return is_visible
    coming = deque(sorted(aborted, key=lambda one: one.first_offset))
    void: set[int] = set()  # producers whose transaction is one of the aborted, at this point
    last_offsets, producers = batches.last_offsets, batches.ints("producer_id")
    for place in np.flatnonzero(attributes & TRANSACTIONAL_FLAG).tolist():
        while coming and coming[0].first_offset <= last_offsets[place]:
            void.add(coming.popleft().producer_id)
        producer_id = int(producers[place])
        if is_control[place]:
            if _is_abort(arena, batches, place):
                void.discard(producer_id)
        elif producer_id in void:
            is_visible[place] = False
    return is_visible


def _is_abort(arena: Arena, batches: Batches, place: int) -> bool:
    position = int(batches.positions[place])
    markers = decode_records(arena.bytes(position, position + int(batches.sizes[place])))
    return any(control_record_type(marker) is ControlRecordType.ABORT for marker in markers)


# -- columns ---------------------------------------------------------------------------------------


def _rows(
    tp: TopicPartition, portion: Sections, index: RecordIndex, includes_headers: bool
) -> pa.RecordBatch:
    batches, arena, batch, count = portion.batches, portion.arena, index.batch, len(index.batch)
    has_append_time = (batches.ints("attributes") & LOG_APPEND_TIME_FLAG) != 0
    created = batches.ints("base_timestamp")[batch] + index.timestamp_delta
    appended = batches.ints("max_timestamp")[batch]
    times = np.where(has_append_time[batch], appended, created) * _MICROSECONDS
    columns = [
        _byte_strings(arena, index.key_start, index.key_length),
        _byte_strings(arena, index.value_start, index.value_length),
        pa.repeat(pa.scalar(tp.topic), count),
        pa.repeat(pa.scalar(tp.partition, pa.int32()), count),
        pa.array(batches.ints("base_offset")[batch] + index.offset_delta),
        pa.array(times).cast(ROWS.field("timestamp").type),
        pa.array(has_append_time[batch].astype(np.int32)),
    ]
    if not includes_headers:
        return pa.RecordBatch.from_arrays(columns, schema=ROWS)
    return pa.RecordBatch.from_arrays([*columns, _headers(arena, index)], schema=ROWS_WITH_HEADERS)


def _byte_strings(arena: Arena, starts: Ints, lengths: Ints) -> pa.Array:
    """What stands at `starts`, which rise; null where the length is negative.

    For Arrow, the arena is a row of strings already: what is wanted, and what lies between. It then
    takes every other one, each with one copy.
    """
    count, is_large = len(starts), arena.size > _INT32_MAX
    bounds = np.zeros(2 * count + 1, np.int64 if is_large else np.int32)
    bounds[1::2] = starts
    bounds[2::2] = starts + np.maximum(lengths, 0)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(arena.data)]
    kind = pa.large_binary() if is_large else pa.binary()
    strings = pa.Array.from_buffers(kind, 2 * count, buffers)
    is_null = lengths < 0
    places = pa.array(np.arange(1, 2 * count, 2), mask=is_null if is_null.any() else None)
    return strings.take(places).cast(pa.binary())


def _headers(arena: Arena, index: RecordIndex) -> pa.Array:
    """Null for records without headers, as with Spark's own source."""
    positions = index.value_start + np.maximum(index.value_length, 0)
    anywhere = np.full(len(positions), arena.size)  # their ends were checked with the records
    found, _ = index_headers(arena, positions, anywhere)
    keys = _texts(_byte_strings(arena, found.key_start, found.key_length))
    values = _byte_strings(arena, found.value_start, found.value_length)
    counts = np.bincount(found.record, minlength=len(positions))
    bounds = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(_HEADER))
    return pa.ListArray.from_arrays(
        pa.array(bounds), pairs, type=HEADERS.type, mask=pa.array(counts == 0)
    )


def _texts(strings: pa.Array) -> pa.Array:
    """What is not UTF-8 gets replacement characters, as Java's clients do it."""
    try:
        return strings.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [string.decode(errors="replace") for string in strings.to_pylist()]
        return pa.array(texts, pa.string())
