"""Sets of offsets, as ranges that are in order and neither overlap nor touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drumbeat.pipeline.decode.batches import OffsetRange


def merged(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """The offsets that are in any of the ranges."""
    found: list[OffsetRange] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if found and start <= found[-1].end:
            found[-1] = OffsetRange(found[-1].start, max(end, found[-1].end))
        else:
            found.append(OffsetRange(start, end))
    return tuple(found)


def outside(wanted: OffsetRange, taken: Iterable[OffsetRange]) -> Iterator[OffsetRange]:
    """The offsets of `wanted` that are not in `taken`, which is as `merged` makes it."""
    start = wanted.start
    for range_ in taken:
        if range_.end <= start:
            continue
        if range_.start >= wanted.end:
            break
        if range_.start > start:
            yield OffsetRange(start, range_.start)
        start = range_.end
    if start < wanted.end:
        yield OffsetRange(start, wanted.end)
