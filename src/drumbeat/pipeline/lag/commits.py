"""Commits of many partitions of groups, as far as they matter for lag."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.lag.samples import bisect_each
from drumbeat.pipeline.tables.builder import NONE, Bools, Ints, int_column
from drumbeat.pipeline.tables.numbering import Names, Slots

_TXN_COMMIT: Final = "txn_commit"
_TOMBSTONE: Final = "tombstone"
_VISIBLE: Final = pa.array(["commit", _TXN_COMMIT, _TOMBSTONE])


class Commits(NamedTuple):
    """One entry per commit; those of the same slot in the order in which readers saw them."""

    slots: Ints
    times: Ints
    offsets: Ints
    are_tombstones: Bools
    are_txn: Bools  # who commits in transactions reads committed records only
    owners: Ints  # NONE: nobody

    def part(self, chosen: Ints | Bools) -> Commits:
        return Commits._make(column[chosen] for column in self)

    def joined(self, others: Commits) -> Commits:
        return Commits._make(map(np.concatenate, zip(self, others, strict=True)))


_TYPES: Final = (np.int64, np.int64, np.int64, np.bool_, np.bool_, np.int64)
NO_COMMITS: Final = Commits._make(np.empty(0, each) for each in _TYPES)


class Places:
    """Which group, topic and partition a slot is for; slots are numbered as they come."""

    def __init__(self) -> None:
        self._slots = Slots()
        self._owners = Names()
        self.names: list[tuple[str, str, int]] = []
        self.groups: Ints = np.empty(0, np.int64)  # which slots are of the same group

    def commits_in(self, batch: pa.RecordBatch) -> Commits:
        """The commits of an `offset_commits` batch that readers saw."""
        rows = batch.filter(pc.is_in(batch.column("kind"), _VISIBLE))
        groups = self._slots.groups.of_column(rows.column("group_id"))
        partitions = int_column(rows, "partition")
        slots = self._slots.of_columns(groups, rows.column("topic"), partitions)
        self._name(rows, slots, groups)
        owners = rows.column("owner_member_id")
        numbers = self._owners.of_column(owners.fill_null("")).copy()
        numbers[owners.is_null().to_numpy(zero_copy_only=False)] = NONE
        return Commits(
            slots=slots,
            times=np.where(
                rows.column("visible_at").is_valid().to_numpy(zero_copy_only=False),
                int_column(rows, "visible_at"),
                int_column(rows, "append_ts"),
            ),
            offsets=int_column(rows, "committed_offset"),
            are_tombstones=_equal(rows, _TOMBSTONE),
            are_txn=_equal(rows, _TXN_COMMIT),
            owners=numbers,
        )

    def _name(self, rows: pa.RecordBatch, slots: Ints, groups: Ints) -> None:
        found, first = np.unique(slots, return_index=True)
        news = first[found >= len(self.names)]
        columns = (rows.column(name).take(news).to_pylist() for name in ("group_id", "topic"))
        partitions = rows.column("partition").take(news).to_pylist()
        self.names += zip(*columns, partitions, strict=True)
        self.groups = np.append(self.groups, groups[news])


def _equal(rows: pa.RecordBatch, kind: str) -> Bools:
    is_equal: Bools = pc.equal(rows.column("kind"), kind).to_numpy(zero_copy_only=False)
    return is_equal


class Timeline:
    """Commits slot by slot, times never going back, and what follows from their order.

    `still_since` tells since when the offset of a slot has not changed, as of each commit.
    """

    def __init__(self, commits: Commits, seen: Ints, still_before: Ints) -> None:
        """Of each slot the first so many are `seen`: it stood still since then."""
        ordered = commits.part(np.argsort(commits.slots, kind="stable"))
        self.starts: Ints = np.searchsorted(ordered.slots, np.arange(len(seen) + 1))
        self.commits = ordered._replace(times=_never_back(ordered))
        self.seen_ends = self.starts[:-1] + seen
        places = np.arange(len(ordered.slots))
        begins = np.where(ordered.are_tombstones, places + 1, self.starts[ordered.slots])
        self.window_starts: Ints = np.maximum.accumulate(begins) if len(begins) else begins
        self.still_since = self._still_since(places, still_before)

    def before(self, slots: Ints, at_ms: Ints) -> Ints:
        """For each slot, the place behind the last commit before the time."""
        bounds = self.starts[slots], self.starts[slots + 1]
        return bisect_each(self.commits.times, bounds, at_ms, "left")

    def _still_since(self, places: Ints, still_before: Ints) -> Ints:
        commits = self.commits
        is_move = np.ones(len(places), np.bool_)
        is_move[1:] = commits.offsets[1:] != commits.offsets[:-1]
        is_move |= places == self.window_starts
        is_move &= ~commits.are_tombstones
        is_move &= places >= self.seen_ends[commits.slots]
        moved = np.maximum.accumulate(np.where(is_move, places, NONE)) if len(places) else places
        is_known = moved >= self.seen_ends[commits.slots]
        return np.where(is_known, commits.times[moved], still_before[commits.slots])


def _never_back(commits: Commits) -> Ints:
    """Their times, or that of the commit before in the slot where it is later."""
    if not len(commits.times):
        return commits.times
    first = commits.times.min()
    lifted = commits.slots * (commits.times.max() - first + 1)
    times: Ints = np.maximum.accumulate(commits.times - first + lifted) - lifted + first
    return times
