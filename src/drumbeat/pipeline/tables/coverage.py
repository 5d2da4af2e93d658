"""Which offsets of the log were read, and what is known about the others: `log_coverage`.

Compaction leaves holes, often one behind every record, and holes hide history: every other table
asks here whether a row of its own can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.schemas import LOG_COVERAGE
from drumbeat.pipeline.tables.builder import (
    NONE,
    Bools,
    Ints,
    LogPartition,
    TableBatch,
    batch_of_columns,
    bool_column,
    int_column,
)


class Kind(StrEnum):
    """What a stretch of offsets is: read, or a gap."""

    READ = "read"
    COMPACTED = "compacted"
    CONTROL = "control"
    TRUNCATED = "truncated"
    NEVER_READ = "never_read"


_EVIDENCE: Final = {
    Kind.READ: "records are here",
    Kind.COMPACTED: "inside what was read, so the cleaner took the records",
    Kind.CONTROL: "one offset behind a transaction's records, where its end marker stood",
    Kind.TRUNCATED: "below the log's start offset",
    Kind.NEVER_READ: "outside of the offsets that were read",
}
_KINDS: Final = tuple(_EVIDENCE)
_OFFSET_MAX: Final = int(np.iinfo(np.int64).max)


class ReadRange(NamedTuple):
    """A file, or a run of fetches, that was read from end to end; both offsets inclusive."""

    first_offset: int
    last_offset: int


class Stretches(NamedTuple):
    """Many stretches of offsets; both ends inclusive."""

    first_offsets: Ints
    last_offsets: Ints
    kinds: Ints  # places in _KINDS


class Coverage:
    """Grows with every batch.

    Without `ranges`, all from the first to the last record counts as read. Without
    `log_start_offset`, nobody knows why the records before the first one are not there.
    """

    def __init__(
        self,
        source: LogPartition,
        ranges: Sequence[ReadRange] = (),
        log_start_offset: int | None = None,
    ) -> None:
        self._source = source
        self._ranges = tuple(sorted(ranges))
        self._log_start_offset = log_start_offset
        self._gap_ends: Ints = np.empty(0, np.int64)  # ascending
        self._first = NONE  # of the stretch that is being read
        self.last_offset = NONE  # that was read
        self._is_txn_open = False  # the last record is one that an end marker must follow

    def resume(self, ranges: Sequence[ReadRange], log_start_offset: int | None) -> None:
        """More was read since; what is known of the offsets so far has not changed."""
        self._ranges = tuple(sorted(ranges))
        self._log_start_offset = log_start_offset

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        offsets = int_column(batch, "log_offset")
        if not len(offsets):
            return
        before = np.concatenate(([self.last_offset], offsets[:-1]))
        assert (offsets > before).all(), f"log offset {offsets[0]} comes after {before[0]}"
        behind_gap = np.flatnonzero(offsets - before > 1)
        read = self._read(offsets, before, behind_gap)
        gaps = self._gaps(batch, offsets, before, behind_gap)
        self._gap_ends = np.concatenate((self._gap_ends, gaps.last_offsets))
        yield from self._rows(Stretches(*map(np.concatenate, zip(read, gaps, strict=True))))

    def finish(self) -> Iterator[TableBatch]:
        if self.last_offset != NONE:
            yield from self._rows(_stretches([(self._first, self.last_offset, Kind.READ)]))

    def is_complete(self, after_offset: int, through_offset: int) -> bool:
        """Whether no record between is missing; -1 stands for the beginning of time."""
        newest = int(np.searchsorted(self._gap_ends, through_offset, "right")) - 1
        return newest < 0 or bool(self._gap_ends[newest] <= after_offset)

    def are_complete(self, after_offsets: Ints, through_offsets: Ints) -> Bools:
        """The same for many rows at once."""
        if not len(self._gap_ends):
            return np.ones(len(after_offsets), np.bool_)
        newest = np.searchsorted(self._gap_ends, through_offsets, "right") - 1
        is_complete: Bools = (newest < 0) | (self._gap_ends[newest] <= after_offsets)
        return is_complete

    def _read(self, offsets: Ints, before: Ints, behind_gap: Ints) -> Stretches:
        """The stretches that end before one of these gaps."""
        first = int(offsets[0]) if self._first == NONE else self._first
        firsts = np.concatenate(([first], offsets[behind_gap]))
        self._first, self.last_offset = int(firsts[-1]), int(offsets[-1])
        lasts = before[behind_gap]
        has_records = lasts != NONE
        kinds = np.zeros(int(has_records.sum()), np.int64)
        return Stretches(firsts[:-1][has_records], lasts[has_records], kinds)

    def _gaps(
        self, batch: pa.RecordBatch, offsets: Ints, before: Ints, behind_gap: Ints
    ) -> Stretches:
        firsts, lasts = before[behind_gap] + 1, offsets[behind_gap] - 1
        in_txn = bool_column(batch, "is_txn") & ~bool_column(batch, "is_control")
        follows_txn = np.concatenate(([self._is_txn_open], in_txn[:-1]))[behind_gap]
        self._is_txn_open = bool(in_txn[-1])
        is_control = follows_txn & (firsts == lasts)
        kinds = np.where(is_control, _KINDS.index(Kind.CONTROL), _KINDS.index(Kind.COMPACTED))
        is_inside = self._are_inside(firsts, lasts)
        explained = [
            gap
            for first, last in zip(firsts[~is_inside], lasts[~is_inside], strict=True)
            for gap in self._explain(int(first), int(last))
        ]
        inside = Stretches(firsts[is_inside], lasts[is_inside], kinds[is_inside])
        parts = zip(inside, _stretches(explained), strict=True)
        gaps = Stretches(*map(np.concatenate, parts))
        order = np.argsort(gaps.last_offsets, kind="stable")
        return Stretches(*(column[order] for column in gaps))

    def _are_inside(self, firsts: Ints, lasts: Ints) -> Bools:
        """Whether everything around was read, so that nothing but a cleaner can be the reason."""
        ranges = np.array(self._ranges or [(0, _OFFSET_MAX)], np.int64)
        place = np.searchsorted(ranges[:, 0], firsts, "right") - 1
        is_inside: Bools = (place >= 0) & (lasts <= ranges[place, 1])
        if not self._ranges:
            is_inside &= firsts >= (1 if self._log_start_offset is None else self._log_start_offset)
        return is_inside

    def _explain(self, first: int, last: int) -> Iterator[tuple[int, int, Kind]]:
        """The parts of a gap that is not inside of one range."""
        for range_ in self._ranges or _everything_from(self._log_start_offset):
            if range_.last_offset < first or first > last:
                continue
            if first < range_.first_offset:
                yield from self._not_read(first, min(last, range_.first_offset - 1))
                first = range_.first_offset
            if first <= last:
                yield first, min(last, range_.last_offset), Kind.COMPACTED
                first = range_.last_offset + 1
        yield from self._not_read(first, last)

    def _not_read(self, first: int, last: int) -> Iterator[tuple[int, int, Kind]]:
        start = self._log_start_offset or 0
        if first <= min(last, start - 1):
            yield first, min(last, start - 1), Kind.TRUNCATED
        if max(first, start) <= last:
            yield max(first, start), last, Kind.NEVER_READ

    def _rows(self, stretches: Stretches) -> Iterator[TableBatch]:
        firsts, lasts, kinds = stretches
        order = np.argsort(firsts, kind="stable")
        is_read = kinds == _KINDS.index(Kind.READ)
        columns = {
            "first_offset": firsts,
            "last_offset": lasts,
            "records": np.where(is_read, lasts - firsts + 1, 0),
        }
        arrays = {name: pa.array(column[order]) for name, column in columns.items()}
        places = pa.array(kinds[order])
        arrays["kind"] = pa.array(map(str, _KINDS)).take(places)
        arrays["evidence"] = pa.array(_EVIDENCE.values()).take(places)
        yield from batch_of_columns(LOG_COVERAGE, self._source, arrays, len(order))


def _everything_from(log_start_offset: int | None) -> tuple[ReadRange, ...]:
    return () if log_start_offset is None else (ReadRange(log_start_offset, _OFFSET_MAX - 1),)


def _stretches(stretches: Sequence[tuple[int, int, Kind]]) -> Stretches:
    return Stretches(
        np.array([first for first, _, _ in stretches], np.int64),
        np.array([last for _, last, _ in stretches], np.int64),
        np.array([_KINDS.index(kind) for _, _, kind in stretches], np.int64),
    )
