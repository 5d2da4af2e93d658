"""Whether each closed segment ends where the next one begins, so that a lost one is noticed.

A log that was only ever appended to has no gaps, except that its oldest segments go. Compaction
leaves gaps, and so do Kafka's followers of compacted logs; of a folder that Kafka wrote nobody can
tell what it was. Where a gap may be in order a note names it, else it stops the opening.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from drumbeat.log.batches import BadBatch, walk_headers
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import open_for_reading
from drumbeat.log.names import LOG_SUFFIX, segment_stem
from drumbeat.log.segment import DAMAGE_ADVICE, Segment

_GAP_ADVICE: Final = (
    "nothing was changed; restore what is missing from a copy, or, to go on without all that came "
    "before, move the older segments away"
)
_KAFKAS_SUFFIX: Final = ".snapshot"  # Kafka has such files in every partition, and we in none


class Gap(NamedTuple):
    """Offsets that should be in or behind a segment, and are not."""

    segment: Segment
    first: int
    next_base: int

    def __str__(self) -> str:
        missing = f"offsets {self.first} to {self.next_base - 1} are missing"
        return f"{missing} between this file and {_log_name(self.next_base)}"


def check_continuity(
    directory: str, closed: Sequence[Segment], *, compacted_below: int, is_compacted: bool
) -> list[str]:
    """Notes on gaps that compaction may have left; raises CorruptLog for any other."""
    gaps = [gap for gap in _gaps(closed) if gap.next_base > compacted_below]
    if gaps and not (is_compacted or compacted_below or _is_kafkas(directory)):
        segment = gaps[0].segment
        raise CorruptLog(segment.path, segment.extent.size, str(gaps[0]), _GAP_ADVICE)
    return [f"{gap.segment.path}: {gap}, unless compaction removed them" for gap in gaps]


def _gaps(closed: Sequence[Segment]) -> Iterator[Gap]:
    for segment in closed:
        end_offset, next_base = _end_offset(segment), segment.extent.next_offset
        if end_offset is None:
            continue
        if end_offset > next_base:
            found = f"goes on to offset {end_offset - 1}, but {_log_name(next_base)} comes next"
            raise CorruptLog(segment.path, segment.extent.size, found, DAMAGE_ADVICE)
        if end_offset < next_base:
            yield Gap(segment, end_offset, next_base)


def _end_offset(segment: Segment) -> int | None:
    """Where the last batch ends; None if it is damaged, which comes to light when it is read."""
    size = segment.extent.size
    end_offset = segment.base_offset
    try:
        with open_for_reading(segment.path) as fd:
            for _, header in walk_headers(fd, segment.indexed_position(fd, size), size):
                end_offset = header.next_offset
    except BadBatch:
        return None
    return end_offset


def _log_name(base_offset: int) -> str:
    return segment_stem(base_offset) + LOG_SUFFIX


def _is_kafkas(directory: str) -> bool:
    return any(name.endswith(_KAFKAS_SUFFIX) for name in os.listdir(directory))
