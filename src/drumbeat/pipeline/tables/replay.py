"""A partition's log through the coordinator's own reducer.

Of several commits to the same place, outside of transactions or in the same one, only the last one
can be seen afterwards: the others are left out, which makes no difference but in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from drumbeat.core import reducer
from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    NO_LEADER_EPOCH,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
    RecordType,
)
from drumbeat.core.state import State
from drumbeat.pipeline.tables.builder import NONE, Bools, Ints, bool_column, int_column
from drumbeat.pipeline.tables.numbering import Slots
from drumbeat.protocol.record_batch import NO_PRODUCER_ID
from drumbeat.protocol.schema import NULL_UUID

_OFFSET_TYPES: Final = (RecordType.OFFSET_COMMIT, RecordType.LEGACY_OFFSET_COMMIT)
_READ: Final = (
    "log_offset", "control_type", "producer_id", "is_txn", "is_tombstone", "key_type", "key",
    "value", "group_id", "topic", "partition", "committed_offset", "commit_leader_epoch",
    "metadata", "commit_ts", "expire_ts", "topic_id",
)  # fmt: skip


class Replay:
    """The state after everything that was fed. Records that could not be read change nothing."""

    def __init__(self, state: State | None = None) -> None:
        self.state = State() if state is None else state
        self.log_offset = NONE  # of the last record
        self._slots = Slots()

    def feed(self, batch: pa.RecordBatch) -> set[str]:
        """The groups that the records are about."""
        if not len(batch):
            return set()
        self.log_offset = batch.column("log_offset")[len(batch) - 1].as_py()
        is_commit = _are_commits(batch)
        is_wanted = batch.column("decode_error").is_null().to_numpy(zero_copy_only=False)
        is_wanted &= ~is_commit | self._are_last(batch, is_commit)
        rows = batch.select(_READ).filter(pa.array(is_wanted))
        touched = set(rows.column("group_id").unique().drop_null().to_pylist())
        for row in _rows(rows):
            touched.update(self._apply(row))
        return touched

    def _are_last(self, batch: pa.RecordBatch, is_commit: Bools) -> Bools:
        """Whether no commit to the same place, in the same transaction if in one, follows.

        Whatever stands between two such commits leaves the same behind with the first of them as
        without: all that looks at an offset replaces it or removes it, and so does the second.
        """
        commits = np.flatnonzero(is_commit)
        rows = batch.filter(pa.array(is_commit))
        groups = self._slots.groups.of_column(rows.column("group_id"))
        slots = self._slots.of_columns(groups, rows.column("topic"), int_column(rows, "partition"))
        is_txn = bool_column(rows, "is_txn")
        producers = np.where(is_txn, int_column(rows, "producer_id"), NONE)
        # Transactions of a producer follow each other: a marker, if only anybody's, is between.
        markers = np.cumsum(bool_column(batch, "is_control"), dtype=np.int64)[commits]
        markers[~is_txn] = NONE
        keys = (markers, producers) if is_txn.any() else ()
        order = np.lexsort((*keys, slots))
        is_same = _repeats(slots[order]) & _repeats(producers[order]) & _repeats(markers[order])
        are_last = np.zeros(len(batch), np.bool_)
        are_last[commits[order[~is_same]]] = True
        return are_last

    def _apply(self, row: tuple[Any, ...]) -> Iterable[str]:
        """Groups that a record is about without naming them."""
        log_offset, control_type, producer_id, is_txn, is_tombstone, key_type, key, value = row[:8]
        if control_type is not None:
            return self._end(producer_id, control_type == "COMMIT")
        if key_type is None:
            return ()
        if key_type not in _OFFSET_TYPES:
            record: Record = decode(key, value)
        elif is_tombstone:
            record = OffsetCommitTombstone(*row[8:11])
        else:
            record = _commit(*row[8:])
        reducer.apply(self.state, record, log_offset, producer_id if is_txn else NO_PRODUCER_ID)
        return ()

    def _end(self, producer_id: int, is_committed: bool) -> set[str]:
        touched = set(self.state.pending_offsets.get(producer_id, ()))
        reducer.end_transaction(self.state, producer_id, is_committed)
        return touched


def _are_commits(batch: pa.RecordBatch) -> Bools:
    types = int_column(batch, "key_type")
    has_offset: Bools = batch.column("committed_offset").is_valid().to_numpy(zero_copy_only=False)
    return has_offset & np.isin(types, _OFFSET_TYPES) & ~bool_column(batch, "is_tombstone")


def _repeats(values: Ints) -> Bools:
    """Whether the next one is the same."""
    is_same = np.zeros(len(values), np.bool_)
    is_same[:-1] = values[1:] == values[:-1]
    return is_same


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _commit(
    group_id: str,
    topic: str,
    partition: int,
    offset: int,
    *rest: Any,
) -> OffsetCommitRecord:
    leader_epoch, metadata, commit_ts, expire_ts, topic_id = rest
    return OffsetCommitRecord(
        group_id=group_id,
        topic=topic,
        partition=partition,
        committed_offset=offset,
        leader_epoch=NO_LEADER_EPOCH if leader_epoch is None else leader_epoch,
        metadata=metadata or "",
        commit_timestamp_ms=commit_ts,
        expire_timestamp_ms=NO_EXPIRE_TIMESTAMP if expire_ts is None else expire_ts,
        topic_id=topic_id or NULL_UUID,
    )
