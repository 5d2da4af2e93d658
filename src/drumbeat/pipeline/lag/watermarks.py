"""The samples of where partitions ended, by topic and partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.lag.samples import PACE_MS, Ends, Method, SampleColumns, Samples
from drumbeat.pipeline.tables.builder import NONE, Ints, int_column

HIGH_WATERMARK: Final = "high_watermark"
LSO: Final = "lso"
SAMPLED: Final = Method.SAMPLED.label
TIME_INDEX: Final = "time_index"  # the source of samples that records themselves tell

_LOW_BITS: Final = 32


class Sample(NamedTuple):
    sampled_at: int
    log_start: int
    lso: int | None
    high_watermark: int
    max_ts: int | None = None


class End(NamedTuple):
    """Where a partition ended, how that is known, and how many records it may be off."""

    offset: int
    log_start: int
    method: str
    error_bound: int | None  # None: nobody knows


class WatermarkSeries:
    """The samples of one partition in the order of time."""

    def __init__(self, samples: Samples, number: int) -> None:
        self._samples, self._number = samples, number
        self._first, self._last = samples.starts[number : number + 2].tolist()

    def __len__(self) -> int:
        return int(self._last - self._first)

    @property
    def newest(self) -> Sample | None:
        return self._sample(self._last - 1) if len(self) else None

    @property
    def newest_ms(self) -> int:
        return 0 if self.newest is None else self.newest.sampled_at

    @property
    def is_paced(self) -> bool:
        """Whether no later sample changes what is known about times before the newest one."""
        life_start = self._samples.life_starts[self._last - 1]
        return self.newest_ms - int(self._samples.columns.times[life_start]) >= PACE_MS

    def restarts(self) -> list[tuple[Sample, Sample]]:
        """Pairs of samples between which the end went back."""
        lives = np.unique(self._samples.life_starts[self._first : self._last])
        return [(self._sample(at - 1), self._sample(at)) for at in lives[1:].tolist()]

    def at(self, at_ms: int, kind: str = HIGH_WATERMARK) -> End | None:
        """Where the partition ended; None if nobody ever asked."""
        number, time = np.array([self._number]), np.array([at_ms])
        return _single(self._samples.ends(number, time, np.array([kind == LSO])))

    def _sample(self, at: int) -> Sample:
        at_ms, log_start, lso, end, max_ts, _ = (int(c[at]) for c in self._samples.columns)
        return Sample(at_ms, log_start, lso, end, None if max_ts == NONE else max_ts)


def _single(ends: Ends) -> End | None:
    offset, log_start, method, bound = (int(column[0]) for column in ends)
    if method == Method.NONE:
        return None
    return End(offset, log_start, Method(method).label, None if bound == NONE else bound)


class Watermarks(Mapping[tuple[str, int], WatermarkSeries]):
    """Series by topic and partition; an empty one where nobody sampled.

    `asked` are those that rows depend on.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        gathered = [_Part.of(batch) for batch in batches if len(batch)]
        topics: dict[str, int] = {}
        places = [part.places(topics) for part in gathered]
        found, series = np.unique(_joined(places), return_inverse=True)
        columns = (
            _joined(column) for column in zip(*(part.columns for part in gathered), strict=True)
        )
        self.samples = Samples(
            series, SampleColumns(*columns) if gathered else _NOTHING, len(found)
        )
        names = list(topics)
        self._numbers = {
            (names[place >> _LOW_BITS], place & (1 << _LOW_BITS) - 1): number
            for number, place in enumerate(found.tolist())
        }
        self.newest_ms = int(self.samples.columns.times[:-1].max(initial=0))
        self.asked: set[tuple[str, int]] = set()

    def __getitem__(self, place: tuple[str, int]) -> WatermarkSeries:
        return WatermarkSeries(self.samples, self.number_of(place))

    def number_of(self, place: tuple[str, int]) -> int:
        """That of the series among the samples."""
        self.asked.add(place)
        return self._numbers.get(place, len(self._numbers))

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


_NOTHING: Final = SampleColumns(*(np.empty(0, np.int64) for _ in SampleColumns._fields))


class _Part(NamedTuple):
    """One batch of `watermarks`."""

    topics: pa.DictionaryArray
    partitions: Ints
    columns: SampleColumns

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> _Part:
        high_watermarks = int_column(batch, "high_watermark")
        lso = batch.column("lso")
        has_lso = lso.is_valid().to_numpy(zero_copy_only=False)
        columns = SampleColumns(
            int_column(batch, "sampled_at"),
            int_column(batch, "log_start"),
            np.where(has_lso, int_column(batch, "lso"), high_watermarks),
            high_watermarks,
            int_column(batch, "max_ts"),
            pc.equal(batch.column("source"), TIME_INDEX).cast(pa.int64()).to_numpy(),
        )
        return cls(
            batch.column("topic").dictionary_encode(), int_column(batch, "partition"), columns
        )

    def places(self, topics: dict[str, int]) -> Ints:
        """Topic and partition as one number; `topics` numbers their names."""
        names = self.topics.dictionary.to_pylist()
        numbers = np.array([topics.setdefault(name, len(topics)) for name in names], np.int64)
        places: Ints = (numbers[self.topics.indices.to_numpy()] << _LOW_BITS) | self.partitions
        return places


def _joined(columns: Iterable[Any]) -> Ints:
    return np.concatenate((np.empty(0, np.int64), *columns)).astype(np.int64)
