"""Where a partition ended at any time, from samples of where it ended at some times.

Between two samples the end is interpolated, and the true one is between theirs: that is the error
bound. When the end goes back, the topic was created anew (or lost records), and nothing that was
sampled before says anything about the records after: the series is cut there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

import pyarrow as pa

EXTRAPOLATED_MS_MAX: Final = 600_000

HIGH_WATERMARK: Final = "high_watermark"
LSO: Final = "lso"
SAMPLED: Final = "sampled"
INTERPOLATED: Final = "interpolated"
EXTRAPOLATED: Final = "extrapolated"
HELD: Final = "held"  # no sample on one side: the nearest one is taken
NONE: Final = "none"
RECORD_TIMESTAMP: Final = "record_timestamp"
ZERO: Final = "zero"


_SAMPLED_AT: Final = attrgetter("sampled_at")


class Sample(NamedTuple):
    sampled_at: int
    log_start: int
    lso: int | None
    high_watermark: int
    max_ts: int | None = None

    def end(self, kind: str) -> int:
        return self.lso if kind == LSO and self.lso is not None else self.high_watermark


class End(NamedTuple):
    """Where a partition ended, how that is known, and how many records it may be off."""

    offset: int
    log_start: int
    method: str
    error_bound: int | None  # None: nobody knows


class Appended(NamedTuple):
    """When a record was appended, and how that is known."""

    at_ms: float
    method: str


class WatermarkSeries:
    """The samples of one partition in the order of time."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = sorted(samples, key=_SAMPLED_AT)
        self._times = [sample.sampled_at for sample in self._samples]
        self._ends = [sample.high_watermark for sample in self._samples]
        self._life_starts = _life_starts(self._ends)

    def __len__(self) -> int:
        return len(self._samples)

    def times_between(self, from_ms: int, until_ms: int) -> list[int]:
        """When it was sampled, from the one time on and before the other."""
        first, last = bisect_left(self._times, from_ms), bisect_left(self._times, until_ms)
        return self._times[first:last]

    def polled(self, at_ms: int, count: int) -> list[int]:
        """The last `count` high watermarks that a poller had seen by then, oldest first."""
        last = bisect_right(self._times, at_ms)
        return [sample.high_watermark for sample in self._samples[max(0, last - count) : last]]

    def restarts(self) -> list[tuple[Sample, Sample]]:
        """Pairs of samples between which the end went back."""
        return [(self._samples[at - 1], self._samples[at]) for at in self._life_starts[1:]]

    def at(self, at_ms: int, kind: str = HIGH_WATERMARK) -> End | None:
        """Where the partition ended; None if nobody ever asked."""
        if not self._samples:
            return None
        after = bisect_left(self._times, at_ms)
        if after < len(self._times) and self._times[after] == at_ms:
            # Of two samples at one time the later one is the newer fact.
            sample = self._samples[bisect_right(self._times, at_ms) - 1]
            return End(sample.end(kind), sample.log_start, SAMPLED, 0)
        if after in (0, len(self._times)):
            sample = self._samples[0 if after == 0 else -1]
            return End(sample.end(kind), sample.log_start, HELD, None)
        return _between(self._samples[after - 1], self._samples[after], at_ms, kind)

    def appended(self, offset: int, at_ms: int) -> Appended | None:
        """When the record at `offset` was appended, as seen from the life that `at_ms` is in."""
        first, last = self._life(at_ms)
        after = bisect_right(self._ends, offset, first, last)  # the first sample that has it
        if after == last:
            return None
        found = self._samples[after]
        if found.high_watermark == offset + 1 and found.max_ts is not None:
            return Appended(found.max_ts, RECORD_TIMESTAMP)
        if after > first:
            return Appended(_reached(self._samples[after - 1], found, offset + 1), INTERPOLATED)
        return _extrapolated(self._samples[first], self._samples[last - 1], offset + 1)

    def _life(self, at_ms: int) -> tuple[int, int]:
        """The first sample of the life that `at_ms` is in, and the one after its last."""
        known = max(0, bisect_right(self._times, at_ms) - 1)
        life = bisect_right(self._life_starts, known)
        following = self._life_starts[life : life + 1] or [len(self._samples)]
        return self._life_starts[life - 1], following[0]


class Watermarks(Mapping[tuple[str, int], WatermarkSeries]):
    """Series by topic and partition; an empty one where nobody sampled."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        gathered: dict[tuple[str, int], list[Sample]] = {}
        for batch in batches:
            for place, sample in _samples_of(batch):
                gathered.setdefault(place, []).append(sample)
        self._series = {place: WatermarkSeries(samples) for place, samples in gathered.items()}
        every = (sample.sampled_at for samples in gathered.values() for sample in samples)
        self.newest_ms = max(every, default=0)

    def __getitem__(self, place: tuple[str, int]) -> WatermarkSeries:
        return self._series.get(place, _NO_SAMPLES)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)


def _samples_of(batch: pa.RecordBatch) -> Iterator[tuple[tuple[str, int], Sample]]:
    places = zip(*(batch.column(name).to_pylist() for name in ("topic", "partition")), strict=True)
    columns = (batch.column(name).to_pylist() for name in Sample._fields)
    return zip(places, map(Sample._make, zip(*columns, strict=True)), strict=True)


def _life_starts(ends: list[int]) -> list[int]:
    return [0, *(at for at in range(1, len(ends)) if ends[at] < ends[at - 1])]


def _between(before: Sample, after: Sample, at_ms: int, kind: str) -> End:
    low, high = before.end(kind), after.end(kind)
    if high < low:
        return End(low, before.log_start, HELD, None)
    passed = (at_ms - before.sampled_at) / (after.sampled_at - before.sampled_at)
    offset = low + round((high - low) * passed)
    return End(offset, before.log_start, INTERPOLATED, max(offset - low, high - offset))


def _reached(before: Sample, after: Sample, end: int) -> float:
    share = (end - before.high_watermark) / (after.high_watermark - before.high_watermark)
    return before.sampled_at + share * (after.sampled_at - before.sampled_at)


def _extrapolated(first: Sample, last: Sample, end: int) -> Appended | None:
    """Back from the first sample, at the pace of all of them, but not far."""
    grown = last.high_watermark - first.high_watermark
    if grown == 0:
        return None
    pace = grown / (last.sampled_at - first.sampled_at)
    back_ms = min((first.high_watermark - end) / pace, EXTRAPOLATED_MS_MAX)
    return Appended(first.sampled_at - back_ms, EXTRAPOLATED)


_NO_SAMPLES: Final = WatermarkSeries(())
