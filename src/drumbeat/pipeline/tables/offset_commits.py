"""`offset_commits`: every move of every group in every partition, and who had the partition.

All rows of a batch at once, because nearly every record of the log is one. Rows follow each other
by slot (group, topic, partition) in the order in which readers saw them: a commit in a transaction
counts where its end marker stands, unless the slot has something newer by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drumbeat.core.records import RecordType
from drumbeat.pipeline.schemas import OFFSET_COMMITS
from drumbeat.pipeline.tables.as_of import PerSlot, ranks
from drumbeat.pipeline.tables.builder import (
    NONE,
    Bools,
    Ints,
    LogPartition,
    TableBatch,
    batch_of_columns,
    bool_column,
    int_column,
    optional_ints,
)
from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.numbering import Slots
from drumbeat.pipeline.tables.ownership import Circumstances, Handovers, Ownership
from drumbeat.pipeline.tables.rebalance_cost import Resumption
from drumbeat.pipeline.tables.transactions import Settled, Transactions

KINDS: Final = ("commit", "txn_commit", "txn_aborted", "tombstone", "txn_pending")
_COMMIT, _TXN_COMMIT, _TXN_ABORTED, _TOMBSTONE, _TXN_PENDING = range(len(KINDS))
DIRECTIONS: Final = ("rewind", "noop", "advance")
ACTORS: Final = ("member", "admin_or_simple", "coordinator_expiry")
_MEMBER, _ADMIN_OR_SIMPLE, _COORDINATOR_EXPIRY = range(len(ACTORS))

_COPIED: Final = (
    "log_offset", "append_ts", "group_id", "topic", "topic_id", "partition", "committed_offset",
    "metadata", "commit_ts", "expire_ts", "producer_id",
)  # fmt: skip
_READ: Final = (*_COPIED, "commit_leader_epoch", "producer_epoch", "is_txn", "is_tombstone")

# What is known of a slot: columns of `_Seen.rows`.
_LOG_OFFSET, _OFFSET, _VISIBLE_AT, _COMMIT_TS, _EXPIRE_TS, _PLACE = range(6)
_SLOTS_OF_16_BITS = 1 << 16
_NO_OFFSET: Final = np.iinfo(np.int64).min  # committed offsets may be any number, even negative


Kinds: TypeAlias = npt.NDArray[np.int8]


class _Seen(NamedTuple):
    """Rows in the order in which readers saw them, slot by slot, and what stood before each."""

    order: Ints  # which rows; those that were never seen are not among them
    slots: Ints
    places: Ints  # where in the log they took effect
    rows: Ints  # columns as listed above
    before: Ints  # the same columns of the row before in the slot; NONE if there is none


def commits_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The offset commits and their tombstones that could be read."""
    types = int_column(batch, "key_type")
    is_offset = (types == RecordType.OFFSET_COMMIT) | (types == RecordType.LEGACY_OFFSET_COMMIT)
    has_value = batch.column("committed_offset").is_valid().to_numpy(zero_copy_only=False)
    is_read = is_offset & (has_value | bool_column(batch, "is_tombstone"))
    if batch.column("decode_error").null_count < len(batch):
        is_read &= batch.column("decode_error").is_null().to_numpy(zero_copy_only=False)
    rows = batch.select(_READ)
    return rows if is_read.all() else rows.filter(pa.array(is_read))


class OffsetCommits:
    """Remembers the last commit of every slot."""

    def __init__(
        self,
        source: LogPartition,
        coverage: Coverage,
        slots: Slots,
        offsets_retention_ms: int,
    ) -> None:
        self._source = source
        self._coverage = coverage
        self._slots = slots
        self._offsets_retention_ms = offsets_retention_ms
        self._last = PerSlot(width=_PLACE + 1)
        self.committed_at: Ints = np.empty(0, np.int64)
        self.resumptions: dict[int, list[Resumption]] = {}

    def feed(self, settled: Settled, ownership: Ownership) -> Iterator[TableBatch]:
        """Sets `committed_at`: when the partitions that change hands were last committed; and
        `resumptions`: the first commits after a rebalance, by the offset where it ended."""
        rows = settled.rows
        groups = self._slots.groups.of_column(rows.column("group_id"))
        partitions = int_column(rows, "partition")
        slots = self._slots.of_columns(groups, rows.column("topic"), partitions)
        kinds = _kinds(settled)
        places = np.where(
            settled.marker_offsets == NONE, int_column(rows, "log_offset"), settled.marker_offsets
        )
        seen = self._seen(settled, kinds, slots, places)
        handovers = ownership.handovers()
        self.committed_at = self._committed_before(handovers, seen)
        self._last.set(*_newest(seen))
        circumstances = ownership.circumstances(groups, slots, places, handovers)
        self.resumptions = _resumptions(rows, seen, kinds, circumstances)
        columns = _copied(rows, kinds)
        columns |= self._moves(seen, kinds, len(rows))
        columns |= self._people(seen, kinds, circumstances)
        columns["complete"] = pa.array(self._are_complete(seen, settled, places))
        yield from batch_of_columns(OFFSET_COMMITS, self._source, columns, len(rows))

    def pending(self, transactions: Transactions) -> Iterator[TableBatch]:
        """Commits whose transaction is open."""
        rows = transactions.open
        if rows is None:
            return
        count = len(rows)
        kinds = np.full(count, _TXN_PENDING, np.int8)
        columns = _copied(rows, kinds) | {
            name: pa.nulls(count, OFFSET_COMMITS.arrow_schema.field(name).type)
            for name in OFFSET_COMMITS.arrow_schema.names[_FIRST_INFERRED:-1]
        }
        columns["complete"] = pa.array(
            self._coverage.are_complete(
                int_column(rows, "log_offset"), np.full(count, self._coverage.last_offset)
            )
        )
        yield from batch_of_columns(OFFSET_COMMITS, self._source, columns, count)

    def _seen(
        self, settled: Settled, kinds: Kinds, slots: Ints,
        places: Ints,
    ) -> _Seen:  # fmt: skip
        offsets = int_column(settled.rows, "log_offset")
        is_tombstone = kinds == _TOMBSTONE
        appended = int_column(settled.rows, "append_ts")
        in_txn = settled.marker_offsets != NONE
        values = np.stack(
            (
                offsets,
                np.where(is_tombstone, _NO_OFFSET, int_column(settled.rows, "committed_offset", 0)),
                np.where(in_txn, settled.marker_timestamps, appended),
                int_column(settled.rows, "commit_ts"),
                int_column(settled.rows, "expire_ts"),
                places,
            ),
            axis=1,
        )
        order = _by_slot(slots, places, offsets, kinds, in_txn)
        if in_txn.any():
            known = self._last.get(slots[order])[:, _LOG_OFFSET]
            order = order[_are_newest(slots[order], offsets[order], known)]
        slots, values = slots[order], values[order]
        return _Seen(order, slots, places[order], values, self._before(slots, values))

    def _before(self, slots: Ints, values: Ints) -> Ints:
        before = np.empty_like(values)
        before[1:] = values[:-1]
        is_first = np.ones(len(slots), np.bool_)
        is_first[1:] = slots[1:] != slots[:-1]
        before[is_first] = self._last.get(slots[is_first])
        before[before[:, _LOG_OFFSET] == NONE, _OFFSET] = _NO_OFFSET
        return before

    def _committed_before(self, handovers: Handovers, seen: _Seen) -> Ints:
        newest = self._last.get(handovers.slots)
        if len(handovers.slots) and len(seen.slots):
            committed, wanted = ranks(seen.slots, seen.places, handovers.slots, handovers.places)
            index = np.searchsorted(committed, wanted, "left") - 1
            is_here = (index >= 0) & (seen.slots[index] == handovers.slots)
            newest[is_here] = seen.rows[index[is_here]]
        is_removed = newest[:, _OFFSET] == _NO_OFFSET
        committed_at: Ints = np.where(is_removed, NONE, newest[:, _VISIBLE_AT])
        return committed_at

    def _moves(self, seen: _Seen, kinds: Kinds, count: int) -> dict[str, pa.Array]:
        """The columns that compare a commit with the one before it."""
        is_new = kinds[seen.order] != _TOMBSTONE
        has_before = seen.before[:, _OFFSET] != _NO_OFFSET
        is_move = has_before & is_new
        delta = np.where(is_move, seen.rows[:, _OFFSET], 0) - np.where(
            is_move, seen.before[:, _OFFSET], 0
        )
        interval = seen.rows[:, _VISIBLE_AT] - seen.before[:, _VISIBLE_AT]
        directions = pa.array(DIRECTIONS)
        scatter = _Scatter(seen.order, count)
        return {
            "visible_at": scatter(seen.rows[:, _VISIBLE_AT], np.ones(len(is_new), np.bool_)),
            "prev_offset": scatter(seen.before[:, _OFFSET], has_before),
            "delta": scatter(delta, is_move),
            "interval_ms": scatter(interval, has_before),
            "direction": directions.take(scatter(np.sign(delta) + 1, is_move)),
        }

    def _are_complete(self, seen: _Seen, settled: Settled, places: Ints) -> Bools:
        """From the commit before to this one; from one that nobody saw to its end marker."""
        after = int_column(settled.rows, "log_offset").copy()
        after[seen.order] = seen.before[:, _LOG_OFFSET]
        return self._coverage.are_complete(after, places)

    def _people(
        self,
        seen: _Seen,
        kinds: Kinds,
        circumstances: Circumstances,
    ) -> dict[str, pa.Array]:
        actors = np.where(circumstances.have_members, _MEMBER, _ADMIN_OR_SIMPLE)
        actors[kinds == _TOMBSTONE] = _ADMIN_OR_SIMPLE
        tombstones = np.flatnonzero(kinds[seen.order] == _TOMBSTONE)
        rows = seen.order[tombstones]
        is_expired = self._are_expired(
            seen.rows[tombstones], seen.before[tombstones], circumstances.empty_since[rows]
        )
        actors[rows[is_expired]] = _COORDINATOR_EXPIRY
        generations = circumstances.generations
        return {
            "generation": optional_ints(generations, generations == NONE),
            "owner_member_id": circumstances.member_ids(),
            "owner_client_id": circumstances.client_ids(),
            "actor": pa.array(ACTORS).take(pa.array(actors)),
        }

    def _are_expired(self, rows: Ints, removed: Ints, empty_since: Ints) -> Bools:
        """Whether what a tombstone removed was so old that the coordinator may have removed it."""
        now = rows[:, _VISIBLE_AT]
        expires = removed[:, _EXPIRE_TS]
        base = np.where(empty_since == NONE, removed[:, _COMMIT_TS], empty_since)
        is_old = now - base >= self._offsets_retention_ms
        is_expired: Bools = np.where(expires == NONE, is_old, now >= expires)
        is_expired &= removed[:, _OFFSET] != _NO_OFFSET
        return is_expired


def _resumptions(
    rows: pa.RecordBatch, seen: _Seen, kinds: Kinds, circumstances: Circumstances
) -> dict[int, list[Resumption]]:
    """Commits of groups with members whose partition had none since the rebalance."""
    ended = circumstances.rebalanced_at[seen.order]
    is_first = (ended != NONE) & (seen.before[:, _PLACE] < ended)
    is_first &= (kinds[seen.order] != _TOMBSTONE) & circumstances.have_members[seen.order]
    (found,) = np.nonzero(is_first)
    places = rows.select(("topic", "partition")).take(pa.array(seen.order[found]))
    before, after = seen.before[found, _OFFSET], seen.rows[found, _OFFSET]
    moved = after - np.where(before == _NO_OFFSET, after, before)
    resumptions: dict[int, list[Resumption]] = {}
    for end_offset, *resumption in zip(
        ended[found].tolist(),
        *(column.to_pylist() for column in places.columns),
        seen.places[found].tolist(),
        seen.rows[found, _VISIBLE_AT].tolist(),
        moved.tolist(),
        strict=True,
    ):
        resumptions.setdefault(end_offset, []).append(Resumption(*resumption))
    return resumptions


_FIRST_INFERRED: Final = OFFSET_COMMITS.arrow_schema.names.index("visible_at")


class _Scatter:
    """Values of the rows in `order` back to all rows; null elsewhere."""

    def __init__(self, order: Ints, count: int) -> None:
        self._order, self._count = order, count

    def __call__(self, values: Ints, is_valid: Bools) -> pa.Array:
        column = np.zeros(self._count, np.int64)
        is_null = np.ones(self._count, np.bool_)
        column[self._order] = values
        is_null[self._order] = ~is_valid
        return optional_ints(column, is_null)


def _kinds(settled: Settled) -> Kinds:
    kinds = np.zeros(len(settled.rows), np.int8)
    kinds[settled.marker_offsets != NONE] = _TXN_COMMIT
    kinds[settled.are_aborted] = _TXN_ABORTED
    kinds[bool_column(settled.rows, "is_tombstone")] = _TOMBSTONE
    return kinds


def _copied(rows: pa.RecordBatch, kinds: Kinds) -> dict[str, pa.Array]:
    columns = {name: rows.column(name) for name in _COPIED}
    columns["leader_epoch"] = rows.column("commit_leader_epoch")
    columns["kind"] = pa.array(KINDS).take(pa.array(kinds))
    return columns


def _by_slot(
    slots: Ints,
    places: Ints,
    offsets: Ints,
    kinds: Kinds,
    in_txn: Bools,
) -> Ints:
    """Row numbers by slot, then in the order of effect; without those that have none."""
    order: Ints
    if in_txn.any():
        order = np.lexsort((offsets, places, slots))
        order = order[kinds[order] != _TXN_ABORTED]
        # Of a transaction's commits to the same place only the last one can be seen.
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = (np.diff(slots[order]) != 0) | (np.diff(places[order]) != 0)
        return order[is_last]
    # Rows are in log order already. Sorting 16-bit numbers is several times as fast.
    keys = slots.astype(np.uint16) if slots.max(initial=0) < _SLOTS_OF_16_BITS else slots
    order = np.argsort(keys, kind="stable")
    return order


def _are_newest(slots: Ints, offsets: Ints, known: Ints) -> Bools:
    """Whether nothing with a higher log offset took effect in the slot before."""
    first = offsets.min(initial=0) - 1
    span = offsets.max(initial=0) - first + 1
    lifted = slots * span
    before = np.concatenate(([NONE], (lifted + offsets - first)[:-1]))
    newest_before = np.maximum(np.maximum.accumulate(before), lifted + np.maximum(known - first, 0))
    is_newest: Bools = lifted + offsets - first > newest_before
    return is_newest


def _newest(seen: _Seen) -> tuple[Ints, Ints]:
    is_last = np.ones(len(seen.slots), np.bool_)
    is_last[:-1] = seen.slots[1:] != seen.slots[:-1]
    return seen.slots[is_last], seen.rows[is_last]
