"""Where a partition ended in the past, from what its segments say about time.

A time index tells which offset was there when a timestamp was the newest. Where its entries are
further apart than asked for, and where a growing segment has none yet, headers of batches say the
rest; records are never read. Timestamps are the producers', unless the topic has them set at the
append, so an end is as true as their clocks: who needs a fact takes a sample of the present.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from drumbeat.log.batches import BadBatch, find_batch_after, walk_headers
from drumbeat.log.files import open_for_reading, read_exactly
from drumbeat.log.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    parse_segment_name,
    segment_stem,
)
from drumbeat.pipeline.sources.offsets_log import Between, PastEnd
from drumbeat.protocol.record_batch import BatchHeader

STRETCHES_MAX: Final = 2_048  # of time, each with two ends at most, between two samples
WALK_BYTES_MAX: Final = 1 << 20  # without an index; a longer stretch is only probed
PROBES: Final = 256
PROBE_BYTES: Final = 64 << 10  # in which a batch should begin
_CHUNK_ENTRIES: Final = 8_192
_ENDLESS_MS: Final = 2**62
_TIME_ENTRY: Final = np.dtype([("key", ">i8"), ("offset", ">i4")])
_OFFSET_ENTRY: Final = np.dtype([("key", ">i4"), ("position", ">i4")])

Entries = npt.NDArray[Any]


def past_ends(directory: str, asked: Between, every_ms: int) -> list[PastEnd]:
    """In the order of time, about one for each `every_ms`; neither time nor end ever goes back."""
    found: list[PastEnd] = []
    with suppress(FileNotFoundError, PermissionError):  # deleted meanwhile, or not ours to read
        segments = list(_segments(directory, asked))
        every_ms = _spacing(segments, asked, every_ms)
        for segment in segments:
            found += segment.steps(every_ms)
    return _thinned(_rising(found, asked), every_ms)


def _segments(directory: str, asked: Between) -> Iterator[_Segment]:
    """Those with records that came after the first sample."""
    with os.scandir(directory) as entries:
        bases = sorted(
            base for entry in entries if (base := parse_segment_name(entry.name)) is not None
        )
    for base, behind in pairwise([*bases, asked.end]):
        if asked.start < behind and base < asked.end:
            yield _Segment(os.path.join(directory, segment_stem(base)), base, behind)


def _spacing(segments: list[_Segment], asked: Between, every_ms: int) -> int:
    """Wider than asked for where records came for so long that there would be too many ends."""
    first = (step.at_ms for segment in segments[:1] for step in segment.first_steps())
    last = (step.at_ms for segment in segments[-1:] for step in segment.steps(_ENDLESS_MS))
    begin_ms = max(asked.from_ms, min(first, default=0))
    end_ms = max((at_ms for at_ms in last if at_ms < asked.until_ms), default=begin_ms)
    return max(every_ms, (end_ms - begin_ms) // STRETCHES_MAX, 1)


@dataclass(frozen=True, slots=True)
class _Segment:
    stem: str
    base_offset: int
    behind: int  # the offset behind its last one

    def first_steps(self) -> list[PastEnd]:
        with open_for_reading(self.stem + LOG_SUFFIX) as fd:
            return list(_walked(fd, 0, os.fstat(fd).st_size, count=1))

    def steps(self, every_ms: int) -> Iterator[PastEnd]:
        """In no order: what the index says, and headers where that is not enough."""
        entries = _entries(self.stem + TIME_INDEX_SUFFIX, _TIME_ENTRY)
        times, offsets = entries["key"].astype(np.int64), entries["offset"].astype(np.int64)
        is_inside = self.base_offset + offsets < self.behind
        times, offsets = times[is_inside], offsets[is_inside]
        is_last = np.ones(len(times), np.bool_)
        is_last[:-1] = np.diff(times // every_ms) > 0
        for at_ms, offset in zip(times[is_last].tolist(), offsets[is_last].tolist(), strict=True):
            yield PastEnd(at_ms, self.base_offset + offset + 1, at_ms)
        with open_for_reading(self.stem + LOG_SUFFIX) as fd:
            for start, stop in self._untold(times, offsets, every_ms, os.fstat(fd).st_size):
                yield from self._told_by_headers(fd, start, stop)

    def _untold(
        self, times: Entries, offsets: Entries, every_ms: int, size: int
    ) -> Iterator[tuple[int, int]]:
        """Stretches of the file, from batch to batch, in which entries are too far apart."""
        marks = _entries(self.stem + INDEX_SUFFIX, _OFFSET_ENTRY)
        keys = marks["key"].astype(np.int64)
        positions = np.concatenate(([0], marks["position"].astype(np.int64), [size]))
        far = np.flatnonzero(np.diff(times) > every_ms)
        # Before the first entry and behind the last one nothing is told at all.
        from_offsets = np.concatenate(([-1], offsets[far], offsets[-1:]))
        to_offsets = np.concatenate((offsets[:1], offsets[far + 1], [np.iinfo(np.int64).max]))
        starts = positions[np.searchsorted(keys, from_offsets[: len(to_offsets)], "right")]
        stops = positions[np.searchsorted(keys, to_offsets, "right") + 1]
        reached = 0
        for start, stop in zip(starts.tolist(), np.minimum(stops, size).tolist(), strict=True):
            if max(start, reached) < stop:
                yield max(start, reached), stop
            reached = max(reached, stop)

    def _told_by_headers(self, fd: int, start: int, stop: int) -> Iterator[PastEnd]:
        if stop - start <= WALK_BYTES_MAX:
            yield from _walked(fd, start, stop)
            return
        for number in range(PROBES):
            at = start + (stop - start) * number // PROBES
            near = find_batch_after(fd, at - 1, min(at + PROBE_BYTES, stop), self.base_offset)
            if near is not None:
                yield from _walked(fd, near, stop, count=1)


def _walked(fd: int, start: int, stop: int, count: int | None = None) -> Iterator[PastEnd]:
    """What so many headers say, up to the first that is damaged, or being written."""
    with suppress(BadBatch):
        for number, (_, header) in enumerate(walk_headers(fd, start, stop), 1):
            yield from _steps_of(header)
            if number == count:
                return


def _steps_of(header: BatchHeader) -> Iterator[PastEnd]:
    """Where the log ended until the batch came, and from then on."""
    is_create_time = not (header.has_delete_horizon or header.is_log_append_time)
    came_ms = header.base_timestamp if is_create_time else header.max_timestamp
    if came_ms > 0:
        yield PastEnd(came_ms - 1, header.base_offset, None)
        yield PastEnd(max(header.max_timestamp, came_ms), header.next_offset, header.max_timestamp)


def _entries(path: str, dtype: np.dtype[Any]) -> Entries:
    """As far as they grow: a file that is in use ends with zeros, and has 10 MB of them."""
    parts = [np.empty(0, dtype)]
    with suppress(FileNotFoundError), open_for_reading(path) as fd:
        while True:
            done = sum(map(len, parts)) * dtype.itemsize
            data = read_exactly(fd, _CHUNK_ENTRIES * dtype.itemsize, done)
            part = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
            before = parts[-1]["key"][-1:].astype(np.int64) if len(parts) > 1 else np.array([0])
            grows = np.diff(np.concatenate((before, part["key"].astype(np.int64)))) > 0
            count = len(part) if grows.all() else int(np.argmin(grows))
            parts.append(part[:count])
            if count < _CHUNK_ENTRIES:
                return np.concatenate(parts)
    return parts[0]


def _rising(found: Iterable[PastEnd], asked: Between) -> list[PastEnd]:
    """Without what a clock that is behind, or ahead of the present, has stamped."""
    steps: list[PastEnd] = []
    for step in sorted(found, key=lambda step: (step.log_end, step.at_ms)):
        is_wanted = asked.from_ms < step.at_ms < asked.until_ms
        if not (is_wanted and asked.start <= step.log_end <= asked.end):
            continue
        if steps and step.at_ms == steps[-1].at_ms:
            steps[-1] = step
        elif not steps or step.at_ms > steps[-1].at_ms:
            steps.append(step)
    return steps


def _thinned(steps: list[PastEnd], every_ms: int) -> list[PastEnd]:
    """The last of each stretch of time, and the end of a pause: nothing came until then."""
    kept: list[PastEnd] = []
    for step, following in zip_longest(steps, steps[1:]):
        is_last = following is None or following.at_ms // every_ms > step.at_ms // every_ms
        is_pause = step.max_ts is None and (not kept or step.at_ms - kept[-1].at_ms > every_ms)
        if is_last or is_pause:
            kept.append(step)
    return kept
