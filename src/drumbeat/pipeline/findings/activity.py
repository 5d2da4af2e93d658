"""Builds `group_activity_daily`: what each group costs the offsets topic, day by day."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.findings.rule import DAY_MS, rows_of
from drumbeat.pipeline.schemas import GROUP_ACTIVITY_DAILY
from drumbeat.pipeline.tables.builder import LogPartition, TableBatch, batch_of_rows

_BINS_PER_DOUBLING: Final = 36  # the middle of a bin is within 1 % of all values in it
_EXACT_BELOW: Final = 64

_COUNTS: Final = ("commits", "noop_commits", "tombstones", "bytes", "rebalances", "downtime_ms")


class Histogram:
    """Counts of durations by size: bounded, mergeable, exact below 64 ms, then within 1 %."""

    def __init__(self) -> None:
        self._bins: Counter[int] = Counter()

    def add(self, durations_ms: np.ndarray[Any, Any]) -> None:
        values = np.maximum(durations_ms, 0)
        scaled = np.floor(np.log2(np.maximum(values, 1) / _EXACT_BELOW) * _BINS_PER_DOUBLING)
        bins = np.where(values < _EXACT_BELOW, values, _EXACT_BELOW + np.maximum(scaled, 0))
        found, counts = np.unique(bins.astype(np.int64), return_counts=True)
        self._bins.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def percentile(self, percent: int) -> int | None:
        """The nearest rank; None if nothing was added."""
        rank = math.ceil(self._bins.total() * percent / 100)
        for number in sorted(self._bins):
            rank -= self._bins[number]
            if rank <= 0:
                return _middle(number)
        return None


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
        """One row per group and day; `share_of_topic` is of this log partition only, until
        `with_share_of_topic` has seen all of them."""
        rows = [
            {
                "group_id": group_id,
                "day": _day_name(day),
                "share_of_topic": 0.0,
                **{name: counts[name] for name in _COUNTS},
                **self._percentiles(group_id, day),
            }
            for (group_id, day), counts in self._counts.items()
        ]
        for name, batch in batch_of_rows(GROUP_ACTIVITY_DAILY, self._source, rows):
            yield name, with_share_of_topic(pa.table(batch)).combine_chunks().to_batches()[0]

    def _percentiles(self, group_id: str, day: int) -> dict[str, int | None]:
        intervals = self._intervals.get((group_id, day), Histogram())
        return {f"commit_interval_p{p}_ms": intervals.percentile(p) for p in (50, 95)}

    def _records(self, batch: pa.RecordBatch) -> None:
        table = pa.table(batch).filter(pc.is_valid(batch.column("group_id")))
        sizes = [pc.max_element_wise(table[name], 0) for name in ("key_bytes", "value_bytes")]
        table = table.append_column("bytes", pc.add(*(size.cast(pa.int64()) for size in sizes)))
        table = table.append_column("day", _days(table["append_ts"]))
        is_commit = pc.is_valid(table["committed_offset"])
        table = table.append_column("is_commit", is_commit)
        sums = [("bytes", "sum"), ("is_tombstone", "sum"), ("is_commit", "sum")]
        self._add(table, sums, ("bytes", "tombstones", "commits"))

    def _commits(self, batch: pa.RecordBatch) -> None:
        table = pa.table(batch).append_column("day", _days(batch.column("append_ts")))
        noops = table.filter(pc.equal(table["direction"], "noop"))
        self._add(noops, [([], "count_all")], ("noop_commits",))
        spaced = table.filter(pc.is_valid(table["interval_ms"]))
        grouped = spaced.group_by(["group_id", "day"], use_threads=False)
        for row in grouped.aggregate([("interval_ms", "list")]).to_pylist():
            intervals = np.array(row["interval_ms_list"], np.float64)
            self._intervals[row["group_id"], row["day"]].add(intervals)

    def _rebalances(self, batch: pa.RecordBatch) -> None:
        for group_id, end_ts, duration_ms in rows_of(batch, "group_id", "end_ts", "duration_ms"):
            counts = self._counts[group_id, end_ts // DAY_MS]
            counts["rebalances"] += 1
            counts["downtime_ms"] += duration_ms or 0

    def _add(self, table: pa.Table, sums: list[Any], names: tuple[str, ...]) -> None:
        grouped = table.group_by(["group_id", "day"], use_threads=False).aggregate(sums)
        columns = (column.to_pylist() for column in grouped.columns)
        for group_id, day, *values in zip(*columns, strict=True):
            self._counts[group_id, day].update(dict(zip(names, values, strict=True)))


def with_share_of_topic(activity: pa.Table) -> pa.Table:
    """The rows of all log partitions with their share of the bytes of their cluster and day."""
    days = ["cluster_id", "day"]
    totals: Counter[tuple[str, str]] = Counter()
    for total in activity.group_by(days).aggregate([("bytes", "sum")]).to_pylist():
        totals[total["cluster_id"], total["day"]] = total["bytes_sum"]
    names = (activity[name].to_pylist() for name in (*days, "bytes"))
    shares = [
        size / max(totals[cluster, day], 1) for cluster, day, size in zip(*names, strict=True)
    ]
    at = activity.schema.get_field_index("share_of_topic")
    return activity.set_column(at, activity.schema.field(at), pa.array(shares, pa.float64()))


def _days(times: pa.ChunkedArray) -> pa.Array:
    return pc.divide(times, DAY_MS)


def _day_name(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_MS / 1_000, UTC).date().isoformat()
