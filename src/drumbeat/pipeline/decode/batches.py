"""Batches in memory to Arrow: what a fetch brought, or a stretch of a segment."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from drumbeat.pipeline.decode.arena import Arena
from drumbeat.pipeline.decode.errors import BadBatch, CorruptSegment
from drumbeat.pipeline.decode.headers import Batches, walk
from drumbeat.pipeline.decode.records import RecordIndex, index_records
from drumbeat.pipeline.decode.sections import ROWS_MAX, sections
from drumbeat.pipeline.decode.table import PLAIN, Origin, record_batch
from drumbeat.protocol.varint import Buffer

_OFFSET_MAX: Final = 2**63 - 1


class OffsetRange(NamedTuple):
    """From `start` up to but not including `end`."""

    start: int
    end: int

    @classmethod
    def of(cls, start_offset: int | None, end_offset: int | None) -> OffsetRange:
        """None means everything on that side."""
        return cls(
            0 if start_offset is None else start_offset,
            _OFFSET_MAX if end_offset is None else end_offset,
        )

    def within(self, other: OffsetRange) -> OffsetRange:
        return OffsetRange(max(self.start, other.start), min(self.end, other.end))


def decode_batches(
    buffer: Buffer,
    *,
    cluster_id: str,
    log_partition: int,
    start_offset: int | None = None,
    end_offset: int | None = None,
    source: str = "batches in memory",
) -> Iterator[pa.RecordBatch]:
    """Rows of `log_records`, at most ROWS_MAX at a time, of the records within the offsets.

    A last batch that is cut off is left out: a fetch response may end anywhere. Damage is a
    CorruptSegment, raised after everything before it was yielded; `source` is how it names the
    buffer.
    """
    arena = Arena.of(buffer)
    walked = walk(arena)
    origin = Origin(cluster_id, log_partition)
    wanted = OffsetRange.of(start_offset, end_offset)
    bad = yield from decode_walked(origin, arena, walked.batches, wanted)
    bad = bad or walked.bad
    if bad is not None:
        raise CorruptSegment(source, bad.position, bad.found)


def decode_walked(
    origin: Origin,
    arena: Arena,
    batches: Batches,
    wanted: OffsetRange,
    schema: pa.Schema = PLAIN,
) -> Generator[pa.RecordBatch, None, BadBatch | None]:
    """The wanted records of these batches; ends at, and returns, the first that is not sound."""
    is_wanted = (batches.last_offsets >= wanted.start) & (batches.ints("base_offset") < wanted.end)
    if not is_wanted.all():
        batches = batches.part(is_wanted)
    for portion in sections(arena, batches):
        indexed = index_records(portion)
        index = _within(indexed.records, portion.batches, wanted)
        if index.batch.size:
            yield from _split(record_batch(origin, portion.arena, portion.batches, index, schema))
        if indexed.bad is not None:
            return indexed.bad
    return None


def _within(index: RecordIndex, batches: Batches, wanted: OffsetRange) -> RecordIndex:
    offsets = batches.ints("base_offset")[index.batch] + index.offset_delta
    is_wanted = (offsets >= wanted.start) & (offsets < wanted.end)
    return index if is_wanted.all() else index.part(is_wanted)


def _split(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for first in range(0, rows.num_rows, ROWS_MAX):
        yield rows.slice(first, ROWS_MAX)
