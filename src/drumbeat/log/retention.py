"""Which segments a log no longer keeps: Kafka's three rules as functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drumbeat.log.port import LogSettings


class SegmentSummary(NamedTuple):
    """What retention needs to know of a segment."""

    end_offset: int
    size: int
    largest_timestamp: int


def expired_segments(
    segments: Sequence[SegmentSummary],
    settings: LogSettings,
    *,
    now_ms: int,
    start_offset: int,
    synced_offset: int,
) -> int:
    """How many of the oldest segments go; the last may be among them, but never an empty last."""
    removable = _removable(segments, synced_offset)
    gone = _below_start(removable[: len(segments) - 1], start_offset)
    gone += _beyond_size(removable[gone:], segments[gone:], settings.retention_bytes)
    return gone + _beyond_age(removable[gone:], settings.retention_ms, now_ms)


def _removable(segments: Sequence[SegmentSummary], synced_offset: int) -> list[SegmentSummary]:
    kept = [segment for segment in segments if segment.end_offset <= synced_offset]
    if len(kept) == len(segments) and kept and kept[-1].size == 0:
        kept.pop()
    return kept


def _below_start(segments: Sequence[SegmentSummary], start_offset: int) -> int:
    return sum(segment.end_offset <= start_offset for segment in segments)


def _beyond_size(
    removable: Sequence[SegmentSummary], remaining: Sequence[SegmentSummary], bytes_max: int
) -> int:
    if bytes_max < 0:
        return 0
    excess = sum(segment.size for segment in remaining) - bytes_max
    for count, segment in enumerate(removable):
        if excess < segment.size:
            return count
        excess -= segment.size
    return len(removable)


def _beyond_age(removable: Sequence[SegmentSummary], age_ms_max: int, now_ms: int) -> int:
    if age_ms_max < 0:
        return 0
    for count, segment in enumerate(removable):
        if now_ms - segment.largest_timestamp <= age_ms_max:
            return count
    return len(removable)
