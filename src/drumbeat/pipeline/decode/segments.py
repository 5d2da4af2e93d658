"""A segment file to Arrow."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from drumbeat.log.files import open_for_reading
from drumbeat.pipeline.decode.batches import OffsetRange, decode_walked
from drumbeat.pipeline.decode.errors import CorruptSegment
from drumbeat.pipeline.decode.listing import SegmentFile, open_segment
from drumbeat.pipeline.decode.stretches import read_stretches
from drumbeat.pipeline.decode.table import PLAIN, Origin


def decode_segment(
    segment: str | SegmentFile,
    *,
    cluster_id: str,
    log_partition: int,
    start_offset: int | None = None,
    end_offset: int | None = None,
    schema: pa.Schema = PLAIN,
) -> Iterator[pa.RecordBatch]:
    """Rows of `log_records`, at most ROWS_MAX at a time, of the records within the offsets.

    A path is read as it is. A SegmentFile limits the offsets to its own, and is found again if
    compaction has moved it since it was listed; SegmentGone if it is nowhere. A torn tail is left
    out. Other damage is a CorruptSegment, raised after everything before it was yielded.
    With the schema CODED instead of PLAIN, text comes as Arrow dictionaries.
    """
    origin = Origin(cluster_id, log_partition)
    wanted = OffsetRange.of(start_offset, end_offset)
    if isinstance(segment, str):
        with open_for_reading(segment) as fd:
            yield from _decode(fd, segment, origin, wanted, schema)
        return
    own = OffsetRange(segment.start_offset, segment.end_offset)
    with open_segment(segment) as fd:
        yield from _decode(fd, segment.path, origin, wanted.within(own), schema)


def _decode(
    fd: int, path: str, origin: Origin, wanted: OffsetRange, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for stretch in read_stretches(fd):
        bad = yield from decode_walked(origin, stretch.arena, stretch.batches, wanted, schema)
        bad = bad or stretch.bad
        if bad is not None:
            raise CorruptSegment(path, stretch.position + bad.position, bad.found)
        if stretch.batches.last_offsets[-1] + 1 >= wanted.end:
            return
