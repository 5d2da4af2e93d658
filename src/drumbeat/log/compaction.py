"""Compaction as Kafka's cleaner does it, on batches: the newest record of each key stays.

Pure. An `OffsetMap` learns the newest offset of each key in the dirty part of a section; `Rules`
then judge every batch of it, clean part and dirty. docs/log-format.md has the rules as a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from drumbeat.log.port import LogBatch
from drumbeat.log.survey import Survey
from drumbeat.protocol.record_batch import BatchHeader, read_header
from drumbeat.protocol.record_section import Row
from drumbeat.protocol.records import decode_rows
from drumbeat.protocol.rewriting import empty_batch, retain_records

# What an entry of the map takes besides the key's own bytes: two objects and a slot in a dict,
# which may be twice as large as it is full.
ENTRY_BYTES: Final = 200


class OffsetMap:
    """The newest offset of each key between a first offset and `end_offset`."""

    def __init__(self, first_offset: int, bytes_max: int) -> None:
        self.offsets: dict[bytes, int] = {}
        self.end_offset = first_offset
        self._first_offset = first_offset
        self._bytes_left = bytes_max

    @property
    def is_full(self) -> bool:
        return self._bytes_left <= 0

    def add(self, batch: LogBatch, survey: Survey) -> None:
        """Learn from the next batch. One may go over the limit, so that every pass gets ahead."""
        header = batch.header
        if header.last_offset < self._first_offset:
            return
        if not header.is_control and not survey.is_aborted(header):
            self._learn(decode_rows(batch.data, header))
        self.end_offset = header.next_offset

    def _learn(self, rows: Iterable[Row]) -> None:
        offsets, first_offset = self.offsets, self._first_offset
        for offset, _, key, _, _ in rows:
            if key is None or offset < first_offset:
                continue
            if key not in offsets:
                self._bytes_left -= ENTRY_BYTES + len(key)
            offsets[key] = offset


class Rules(NamedTuple):
    """What one compaction goes by."""

    offset_map: OffsetMap
    survey: Survey
    last_offset: int  # of the section
    now_ms: int
    delete_retention_ms: int

    def judge(self, batch: LogBatch) -> LogBatch | None:
        """What is left of a batch: itself, a smaller one, an empty one, or nothing."""
        header = batch.header
        if header.base_offset >= self.offset_map.end_offset:
            return batch  # the map was full before: a later pass gets here
        rows, kept = self._split(batch)
        if not kept:
            return _logged(empty_batch(header)) if self._must_stay(header) else None
        horizon_ms = header.delete_horizon_ms
        if horizon_ms is None and self._is_to_go(header, kept):
            horizon_ms = self.now_ms + self.delete_retention_ms
        if len(kept) == len(rows) and horizon_ms == header.delete_horizon_ms:
            return batch
        return _logged(retain_records(header, kept, horizon_ms))

    def _must_stay(self, header: BatchHeader) -> bool:
        """Whether a batch without records still says something: a producer's newest sequence, or
        where the section ends, without which a reader would wait in a gap (KAFKA-9065)."""
        last_offset = header.last_offset
        return last_offset == self.last_offset or last_offset in self.survey.producer_ends

    def _split(self, batch: LogBatch) -> tuple[list[Row], list[Row]]:
        """All records of the batch as far as anybody may still want them, and those to keep."""
        header = batch.header
        horizon_ms = header.delete_horizon_ms
        is_over = horizon_ms is not None and horizon_ms <= self.now_ms
        if header.is_control:
            is_gone = is_over and header.base_offset in self.survey.empty_markers
            rows = [] if is_gone else decode_rows(batch.data, header)
            return rows, rows
        if self.survey.is_aborted(header):
            return [], []
        newest = self.offset_map.offsets.get
        rows = decode_rows(batch.data, header)
        kept = [
            row
            for row in rows
            if row[2] is not None
            and newest(row[2], -1) <= row[0]
            and not (is_over and row[3] is None)
        ]
        return rows, kept

    def _is_to_go(self, header: BatchHeader, kept: list[Row]) -> bool:
        """Whether some of the batch is there for latecomers only, so that its time runs now."""
        if header.is_control:
            return header.base_offset in self.survey.empty_markers
        return any(row[3] is None for row in kept)


def _logged(data: bytes) -> LogBatch:
    return LogBatch(read_header(data), memoryview(data))
