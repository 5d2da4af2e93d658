"""Offset commits inside transactions, which count from their end marker on, or never.

Rows of `txn_offset_commits` are about whole transactions. What the commits did to the group's
offsets is in `offset_commits`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.schemas import TXN_OFFSET_COMMITS
from drumbeat.pipeline.tables.builder import (
    NONE,
    Bools,
    Ints,
    LogPartition,
    TableBatch,
    batch_of_rows,
    bool_column,
    int_column,
)
from drumbeat.pipeline.tables.coverage import Coverage

_COMMIT: Final = "COMMIT"
_PLACE: Final = ("group_id", "topic", "partition")
_READ: Final = ("log_offset", "append_ts", "producer_id", "producer_epoch", *_PLACE)


class Markers(NamedTuple):
    """End markers of transactions, in log order."""

    producer_ids: Ints
    offsets: Ints
    timestamps: Ints
    are_commits: Bools


class Settled(NamedTuple):
    """Commits whose fate is known, and the end marker of each; NONE outside of transactions."""

    rows: pa.RecordBatch
    marker_offsets: Ints
    marker_timestamps: Ints
    are_aborted: Bools


def markers_of(batch: pa.RecordBatch) -> Markers:
    types = batch.column("control_type")
    rows = batch.filter(types.is_valid()) if types.null_count < len(batch) else batch.slice(0, 0)
    return Markers(
        int_column(rows, "producer_id"),
        int_column(rows, "log_offset"),
        int_column(rows, "append_ts"),
        pc.equal(rows.column("control_type"), _COMMIT).to_numpy(zero_copy_only=False),
    )


class Transactions:
    """Holds commits back until their transaction ends."""

    def __init__(self, source: LogPartition, coverage: Coverage) -> None:
        self._source = source
        self._coverage = coverage
        self._last_ts = NONE
        self.open: pa.RecordBatch | None = None  # commits of transactions without an end marker

    def settle(self, commits: pa.RecordBatch, markers: Markers) -> Settled:
        """`commits` without those of open transactions, and those that came before and ended."""
        in_txn = _are_transactional(commits)
        if self.open is None and not in_txn.any():
            nothing = np.full(len(commits), NONE)
            return Settled(commits, nothing, nothing, np.zeros(len(commits), np.bool_))
        rows = commits
        if self.open is not None:
            rows = pa.concat_batches([self.open, commits])
            in_txn = np.concatenate((np.ones(len(self.open), np.bool_), in_txn))
        ended_by = _marker_of_each(rows, in_txn, markers)
        is_settled = ~in_txn | (ended_by != NONE)
        self.open = None if is_settled.all() else rows.filter(pa.array(~is_settled))
        return _settled(rows.filter(pa.array(is_settled)), ended_by[is_settled], markers)

    def feed(self, batch: pa.RecordBatch, settled: Settled) -> Iterator[TableBatch]:
        if len(batch):
            self._last_ts = max(self._last_ts, int(pc.max(batch.column("append_ts")).as_py()))
        in_txn = settled.marker_offsets != NONE
        if in_txn.any():
            yield from batch_of_rows(TXN_OFFSET_COMMITS, self._source, self._ended(settled, in_txn))

    def finish(self) -> Iterator[TableBatch]:
        if self.open is None:
            return
        producers = int_column(self.open, "producer_id")
        order = np.argsort(producers, kind="stable")
        rows = self.open.take(pa.array(order))
        spans = _spans(producers[order])
        yield from batch_of_rows(TXN_OFFSET_COMMITS, self._source, self._rows(rows, spans))

    def _ended(self, settled: Settled, in_txn: Bools) -> Iterator[dict[str, Any]]:
        rows = settled.rows.filter(pa.array(in_txn))
        markers = settled.marker_offsets[in_txn]
        order = np.argsort(markers, kind="stable")
        spans = _spans(markers[order])
        first = order[[start for start, _ in spans]]
        endings = zip(
            markers[first].tolist(),
            settled.marker_timestamps[in_txn][first].tolist(),
            settled.are_aborted[in_txn][first].tolist(),
            strict=True,
        )
        transactions = self._rows(rows.take(pa.array(order)), spans)
        for row, (marker_offset, ended_ts, is_aborted) in zip(transactions, endings, strict=True):
            row["marker_offset"], row["ended_ts"] = marker_offset, ended_ts
            row["outcome"] = "abort" if is_aborted else "commit"
            row["open_ms"] = ended_ts - row["first_ts"]
            row["complete"] = self._coverage.is_complete(row["first_offset"], marker_offset)
            yield row

    def _rows(
        self, commits: pa.RecordBatch, spans: Iterable[tuple[int, int]]
    ) -> Iterator[dict[str, Any]]:
        """One row per span of commits, as if its transaction were open."""
        column = {name: commits.column(name).to_pylist() for name in _READ}
        places = list(zip(*(column[name] for name in _PLACE), strict=True))
        for start, end in spans:
            first_offset, last_offset = column["log_offset"][start], column["log_offset"][end - 1]
            first_ts = column["append_ts"][start]
            yield {
                "producer_id": column["producer_id"][start],
                "producer_epoch": column["producer_epoch"][end - 1],
                "first_offset": first_offset,
                "last_offset": last_offset,
                "marker_offset": None,
                "outcome": "open",
                "first_ts": first_ts,
                "ended_ts": None,
                "open_ms": self._last_ts - first_ts,
                "groups": sorted(set(column["group_id"][start:end])),
                "partitions": len(set(places[start:end])),
                "complete": self._coverage.is_complete(first_offset, self._coverage.last_offset),
            }


def _spans(values: Ints) -> list[tuple[int, int]]:
    """From where to where the same value stands."""
    changes = (np.flatnonzero(np.diff(values)) + 1).tolist()
    return list(pairwise([0, *changes, len(values)]))


def _are_transactional(commits: pa.RecordBatch) -> Bools:
    # The coordinator applies a tombstone at once, whoever wrote it.
    return bool_column(commits, "is_txn") & ~bool_column(commits, "is_tombstone")


def _marker_of_each(rows: pa.RecordBatch, in_txn: Bools, markers: Markers) -> Ints:
    """For each transactional row, the index of its producer's next marker, or NONE."""
    ended_by = np.full(len(rows), NONE)
    wanted = np.flatnonzero(in_txn)
    producers = np.concatenate((int_column(rows, "producer_id")[wanted], markers.producer_ids))
    offsets = np.concatenate((int_column(rows, "log_offset")[wanted], markers.offsets))
    indexes = np.concatenate((np.full(len(wanted), NONE), np.arange(len(markers.offsets))))
    order = np.lexsort((offsets, producers))
    place_of_marker = np.where(indexes[order] != NONE, np.arange(len(order)), len(order))
    next_marker = np.minimum.accumulate(place_of_marker[::-1])[::-1]
    has_next = next_marker < len(order)
    place = np.where(has_next, next_marker, 0)
    has_next &= producers[order][place] == producers[order]
    found = np.empty(len(order), np.int64)
    found[order] = np.where(has_next, indexes[order][place], NONE)
    ended_by[wanted] = found[: len(wanted)]
    return ended_by


def _settled(rows: pa.RecordBatch, ended_by: Ints, markers: Markers) -> Settled:
    has_marker = ended_by != NONE
    if not len(markers.offsets):
        return Settled(rows, ended_by, ended_by, has_marker)
    return Settled(
        rows,
        np.where(has_marker, markers.offsets[ended_by], NONE),
        np.where(has_marker, markers.timestamps[ended_by], NONE),
        has_marker & ~markers.are_commits[ended_by],
    )
