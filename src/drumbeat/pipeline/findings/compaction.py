"""Builds `compaction_report`: what compaction may drop, and whether it dropped only that.

A key lives on in its newest record, by the record's own offset; records of aborted transactions
never counted, and those of open ones do not count yet. The full log and the compacted one have to
agree on the newest value of every key.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.schemas import COMPACTION_REPORT
from drumbeat.pipeline.tables.builder import LogPartition, TableBatch, batch_of_rows

TOMBSTONE_GRACE_MS: Final = 24 * 3_600_000  # Kafka's delete.retention.ms

Key: TypeAlias = tuple[Any, ...]

_KEY: Final = ("key_type", "group_id", "topic", "partition", "other_key")
_VALUE: Final = (
    "value_version",
    "committed_offset",
    "commit_leader_epoch",
    "metadata",
    "commit_ts",
    "expire_ts",
    "topic_id",
    "value",
)
_ABOUT: Final = ("log_offset", "append_ts", "is_tombstone", "bytes")
_MARKER: Final = ("producer_id", "is_control", "control_type")
_READ: Final = (
    *("key_type", "group_id", "topic", "partition", "key", "key_bytes", "value_bytes", "is_txn"),
    *("log_offset", "append_ts", "is_tombstone"),
    *_VALUE,
    *_MARKER,
)
_WAITING_ROWS_MAX: Final = 65_536


class Newest(NamedTuple):
    log_offset: int
    append_ts: int
    is_tombstone: bool
    bytes: int
    value: tuple[Any, ...]


class LastValues:
    """The newest record of each key of a log, fed in batches of `log_records`."""

    def __init__(self) -> None:
        self.records = 0
        self.bytes = 0
        self.newest_ms = 0
        self._newest: dict[Key, Newest] = {}
        self._waiting: list[pa.Table] = []  # of many records together, few are the newest
        self._waiting_rows = 0
        self._open: defaultdict[int, list[pa.Table]] = defaultdict(list)

    def feed(self, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        table = _prepared(pa.table(batch.select(_READ)))
        self.newest_ms = max(self.newest_ms, pc.max(table["append_ts"]).as_py())
        is_data = pc.invert(table["is_control"])
        self.records += pc.sum(is_data).as_py()
        self.bytes += pc.sum(table["bytes"].filter(is_data)).as_py() or 0
        in_txn = pc.or_(table["is_txn"], table["is_control"])
        if pc.any(in_txn).as_py():
            self._transactions(table.filter(in_txn))
            table = table.filter(pc.invert(in_txn))
        self._keep(table)

    @property
    def newest(self) -> dict[Key, Newest]:
        self._settle()
        return self._newest

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__.copy()

    def live(self) -> dict[Key, Newest]:
        return {key: last for key, last in self.newest.items() if not last.is_tombstone}

    @property
    def waiting(self) -> tuple[int, int]:
        """Records and bytes of transactions that have not ended."""
        tables = [table for each in self._open.values() for table in each]
        return sum(map(len, tables)), sum(pc.sum(table["bytes"]).as_py() or 0 for table in tables)

    def digest(self) -> str:
        """The same for every log with the same newest values."""
        total = hashlib.sha256()
        for line in sorted(repr((key, last.value)) for key, last in self.live().items()):
            total.update(line.encode())
        return total.hexdigest()

    def _transactions(self, table: pa.Table) -> None:
        """Records of transactions, and the markers that end them, in the order of the log."""
        here: defaultdict[int, list[int]] = defaultdict(list)
        committed: list[int] = []
        rows = zip(*(table[name].to_pylist() for name in _MARKER), strict=True)
        for row, (producer_id, is_control, control_type) in enumerate(rows):
            if not is_control:
                here[producer_id].append(row)
                continue
            ended, before = here.pop(producer_id, []), self._open.pop(producer_id, [])
            if control_type == "COMMIT":
                committed += ended
                for part in before:
                    self._keep(part)
        self._keep(table.take(pa.array(committed, pa.int64())))
        for producer_id, pending in here.items():
            self._open[producer_id].append(table.take(pa.array(pending, pa.int64())))

    def _keep(self, table: pa.Table) -> None:
        """These records count; in which order they are told makes no difference."""
        self._waiting.append(table)
        self._waiting_rows += len(table)
        if self._waiting_rows >= _WAITING_ROWS_MAX:
            self._settle()

    def _settle(self) -> None:
        """Take over the newest of the records that wait."""
        if not self._waiting_rows:
            return
        table = pa.concat_tables(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        last = table.group_by(list(_KEY), use_threads=False).aggregate([("log_offset", "max")])
        newest = table.filter(pc.is_in(table["log_offset"], last["log_offset_max"]))
        keys, about, values = (
            zip(*(newest[name].to_pylist() for name in names), strict=True)
            for names in (_KEY, _ABOUT, _VALUE)
        )
        for key, facts, value in zip(keys, about, values, strict=True):
            before = self._newest.get(key)
            if before is None or before.log_offset < facts[0]:
                self._newest[key] = Newest._make((*facts, value))


def report(
    source: LogPartition, full: LastValues, compacted: LastValues | None = None
) -> Iterator[TableBatch]:
    """One row about a log partition; without a compacted log it only says what could be freed."""
    live = full.live()
    kept_bytes = sum(last.bytes for last in full.newest.values())
    waiting, waiting_bytes = full.waiting
    dead_bytes = full.bytes - kept_bytes - waiting_bytes
    row = {
        "records": full.records,
        "bytes": full.bytes,
        "live_keys": len(live),
        "dead_records": full.records - len(full.newest) - waiting,
        "dead_bytes": dead_bytes,
        "dirty_ratio": dead_bytes / full.bytes if full.bytes else 0.0,
        "tombstones_due": sum(_is_due(last, full.newest_ms) for last in full.newest.values()),
        "expected_hash": full.digest(),
        "actual_hash": None if compacted is None else compacted.digest(),
        **_differences(live, live if compacted is None else compacted.live()),
    }
    yield from batch_of_rows(COMPACTION_REPORT, source, [row])


def _differences(expected: dict[Key, Newest], actual: dict[Key, Newest]) -> dict[str, int]:
    common = expected.keys() & actual.keys()
    return {
        "lost_keys": len(expected.keys() - actual.keys()),
        "changed_keys": sum(expected[key].value != actual[key].value for key in common),
        "returned_keys": len(actual.keys() - expected.keys()),
    }


def _is_due(last: Newest, now_ms: int) -> bool:
    return last.is_tombstone and now_ms - last.append_ts > TOMBSTONE_GRACE_MS


def _prepared(table: pa.Table) -> pa.Table:
    """With the size of each record, and the raw key where no other columns are the key."""
    sizes = [pc.max_element_wise(table[name], 0) for name in ("key_bytes", "value_bytes")]
    table = table.append_column("bytes", pc.add(*(size.cast(pa.int64()) for size in sizes)))
    is_offset = pc.is_valid(table["topic"])
    other_key = pc.if_else(is_offset, pa.scalar(None, pa.binary()), table["key"])
    return table.append_column("other_key", other_key)
