"""Builds `group_activity_daily`: what each group costs the offsets topic, day by day."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.findings.rule import DAY_MS, rows_of
from drumbeat.pipeline.schemas import GROUP_ACTIVITY_DAILY
from drumbeat.pipeline.tables.builder import (
    Bools,
    Ints,
    LogPartition,
    TableBatch,
    batch_of_rows,
    bool_column,
    int_column,
)

_BINS_PER_DOUBLING: Final = 36  # the middle of a bin is within 1 % of all values in it
_EXACT_BELOW: Final = 64
_BIN_BITS: Final = 12  # more bins than the largest number of milliseconds needs

_COUNTS: Final = ("commits", "noop_commits", "tombstones", "bytes", "rebalances", "downtime_ms")


class Histogram:
    """Counts of durations by size: bounded, mergeable, exact below 64 ms, then within 1 %."""

    def __init__(self) -> None:
        self._bins: Counter[int] = Counter()

    def add(self, number: int, count: int) -> None:
        """So many durations of a bin, as `bins_of` numbers them."""
        self._bins[number] += count

    def percentile(self, percent: int) -> int | None:
        """The nearest rank; None if nothing was added."""
        rank = math.ceil(self._bins.total() * percent / 100)
        for number in sorted(self._bins):
            rank -= self._bins[number]
            if rank <= 0:
                return _middle(number)
        return None


def bins_of(durations_ms: Ints) -> Ints:
    values = np.maximum(durations_ms, 0)
    scaled = np.floor(np.log2(np.maximum(values, 1) / _EXACT_BELOW) * _BINS_PER_DOUBLING)
    bins = np.where(values < _EXACT_BELOW, values, _EXACT_BELOW + np.maximum(scaled, 0))
    return bins.astype(np.int64)


def _middle(number: int) -> int:
    if number < _EXACT_BELOW:
        return number
    return round(_EXACT_BELOW * 2 ** ((number - _EXACT_BELOW + 0.5) / _BINS_PER_DOUBLING))


class GroupActivity:
    """Fed with batches of `log_records`, `offset_commits` and `rebalances`."""

    tables: Final = frozenset({"log_records", "offset_commits", "rebalances"})

    def __init__(self, source: LogPartition) -> None:
        self._source = source
        self._counts: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        self._intervals: defaultdict[tuple[str, int], Histogram] = defaultdict(Histogram)

    def feed(self, table: str, batch: pa.RecordBatch) -> None:
        feeds = {
            "log_records": self._records,
            "offset_commits": self._commits,
            "rebalances": self._rebalances,
        }
        feeds[table](batch)

    def finish(self) -> Iterator[TableBatch]:
        """One row per group and day."""
        totals: Counter[int] = Counter()
        for (_, day), counts in self._counts.items():
            totals[day] += counts["bytes"]
        rows = (
            {
                "group_id": group_id,
                "day": _day_name(day),
                "share_of_partition": counts["bytes"] / max(totals[day], 1),
                **{name: counts[name] for name in _COUNTS},
                **self._percentiles(group_id, day),
            }
            for (group_id, day), counts in self._counts.items()
        )
        yield from batch_of_rows(GROUP_ACTIVITY_DAILY, self._source, rows)

    def _percentiles(self, group_id: str, day: int) -> dict[str, int | None]:
        intervals = self._intervals.get((group_id, day), Histogram())
        return {f"commit_interval_p{p}_ms": intervals.percentile(p) for p in (50, 95)}

    def _records(self, batch: pa.RecordBatch) -> None:
        days = _GroupDays(batch)
        keys, values = (int_column(batch, name) for name in ("key_bytes", "value_bytes"))
        is_commit = batch.column("committed_offset").is_valid().to_numpy(zero_copy_only=False)
        self._add(days, "bytes", np.maximum(keys, 0) + np.maximum(values, 0))
        self._add(days, "tombstones", bool_column(batch, "is_tombstone"))
        self._add(days, "commits", is_commit)

    def _commits(self, batch: pa.RecordBatch) -> None:
        days = _GroupDays(batch)
        self._add(days, "noop_commits", _are_noops(batch.column("direction")))
        intervals = batch.column("interval_ms")
        is_commit = batch.column("committed_offset").is_valid()  # a tombstone is none
        is_spaced = pc.and_(is_commit, intervals.is_valid()).to_numpy(zero_copy_only=False)
        numbers = days.numbers[is_spaced] << _BIN_BITS
        numbers |= bins_of(int_column(batch, "interval_ms")[is_spaced])
        found, counts = np.unique(numbers, return_counts=True)
        for number, count in zip(found.tolist(), counts.tolist(), strict=True):
            day = days.names[number >> _BIN_BITS]
            self._intervals[day].add(number & (1 << _BIN_BITS) - 1, count)

    def _rebalances(self, batch: pa.RecordBatch) -> None:
        for group_id, end_ts, duration_ms in rows_of(batch, "group_id", "end_ts", "duration_ms"):
            counts = self._counts[group_id, end_ts // DAY_MS]
            counts["rebalances"] += 1
            counts["downtime_ms"] += duration_ms or 0

    def _add(self, days: _GroupDays, name: str, values: Ints | Bools) -> None:
        totals = np.bincount(days.numbers, values[days.rows], len(days.names))
        for day, total in zip(days.names, totals.astype(np.int64).tolist(), strict=True):
            self._counts[day][name] += total


class _GroupDays:
    """Which group and day each row is about, as a number into `names`."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        groups = batch.column("group_id").dictionary_encode()
        self.rows = groups.is_valid().to_numpy(zero_copy_only=False)
        ids = groups.dictionary.to_pylist()
        codes = groups.indices.drop_null().to_numpy().astype(np.int64)
        days = int_column(batch, "append_ts")[self.rows] // DAY_MS
        found, self.numbers = np.unique(days * max(len(ids), 1) + codes, return_inverse=True)
        self.names = [(ids[each % len(ids)], each // len(ids)) for each in found.tolist()]


def _are_noops(directions: pa.Array) -> Bools:
    are_noops: Bools = pc.equal(directions, "noop").fill_null(False).to_numpy(zero_copy_only=False)
    return are_noops


def _day_name(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_MS / 1_000, UTC).date().isoformat()
