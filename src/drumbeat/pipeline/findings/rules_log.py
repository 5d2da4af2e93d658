"""Findings from the log itself: transactions that hang, records that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.findings.kinds import Finding, Kind
from drumbeat.pipeline.findings.rule import Limits, Now, rows_of


class _Open(NamedTuple):
    first_ts: int
    open_ms: int
    groups: tuple[str, ...]
    partitions: int


class HangingTransactions:
    tables: ClassVar = frozenset({"txn_offset_commits"})

    def __init__(self, limits: Limits) -> None:
        self._hanging_ms = limits.hanging_ms
        self._open: dict[tuple[int, int], _Open] = {}

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        names = ("producer_id", "first_offset", "outcome", "first_ts", "open_ms", "groups")
        for row in rows_of(batch, *names, "partitions"):
            producer_id, first_offset, outcome, first_ts, open_ms, groups, partitions = row
            if outcome == "open":
                found = _Open(first_ts, open_ms, tuple(groups), partitions)
                self._open[producer_id, first_offset] = found
            else:
                self._open.pop((producer_id, first_offset), None)

    def findings(self, now: Now) -> Iterator[Finding]:
        for (producer_id, first_offset), found in self._open.items():
            open_ms = max(found.open_ms, now.at_ms - found.first_ts)
            if open_ms <= self._hanging_ms:
                continue
            group_id = found.groups[0] if len(found.groups) == 1 else None
            evidence = {
                "producer_id": producer_id,
                "first_offset": first_offset,
                "open_ms": open_ms,
                "groups": list(found.groups),
                "partitions": found.partitions,
            }
            subject = f"producer {producer_id}"
            span = (found.first_ts, found.first_ts + open_ms)
            yield Finding(Kind.HANGING_TXN, group_id, subject, *span, evidence)


class _Unreadable(NamedTuple):
    records: int
    first_offset: int
    last_offset: int
    first_ts: int
    last_ts: int


class DecodeErrors:
    """One finding per record type and problem."""

    tables: ClassVar = frozenset({"log_records"})

    def __init__(self, _limits: Limits) -> None:
        self._found: dict[tuple[int | None, str], _Unreadable] = {}

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        if batch.column("decode_error").null_count == len(batch):
            return
        names = ("key_type", "decode_error", "log_offset", "append_ts")
        bad = batch.select(names).filter(pc.is_valid(batch.column("decode_error")))
        for key_type, problem, offset, at_ms in rows_of(bad, *names):
            before = self._found.get((key_type, problem))
            first = (offset, at_ms) if before is None else (before.first_offset, before.first_ts)
            count = 1 if before is None else before.records + 1
            found = _Unreadable(count, first[0], offset, first[1], at_ms)
            self._found[key_type, problem] = found

    def findings(self, _now: Now) -> Iterator[Finding]:
        for (key_type, problem), found in self._found.items():
            evidence = {"key_type": key_type, "decode_error": problem, **found._asdict()}
            subject = f"records of type {key_type}"
            span = (found.first_ts, found.last_ts)
            yield Finding(Kind.DECODE_ERROR, None, subject, *span, evidence)
