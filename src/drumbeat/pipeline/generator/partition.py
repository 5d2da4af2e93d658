"""One partition of the log: what its groups write, in the order of time, window by window."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from drumbeat.core.record_codec import encode
from drumbeat.core.records import OffsetCommitRecord
from drumbeat.pipeline.generator.behaviour import Ints, behind_ms, commits_between
from drumbeat.pipeline.generator.events import Event, History
from drumbeat.pipeline.generator.plan import BATCH_RECORDS_MAX, GroupPlan, GroupType, LogPlan
from drumbeat.pipeline.generator.segments import SegmentWriter
from drumbeat.pipeline.generator.templates import (
    Bytes,
    Template,
    batch_options,
    commit_template,
    marker_template,
    sealed,
)
from drumbeat.protocol.records import ControlRecordType, Record, encode_batch

WINDOW_RECORDS: Final = 100_000  # held in memory at a time
_WINDOWS_MIN: Final = 16
_MARKER_AFTER_MS: Final = 3
_ABORTED_EVERY: Final = 33
_pack_offset = struct.Struct(">q").pack_into


class _Part(NamedTuple):
    """Batches of one kind in a window: as rows of bytes, or ready but for their place."""

    times: Ints
    records: Ints  # in each batch
    rows: Bytes | None
    ready: tuple[bytes, ...] = ()

    def placed(self, base_offsets: Ints) -> list[bytes | memoryview]:
        if self.rows is not None:
            return [*sealed(self.rows, base_offsets)]
        return [_at(batch, base) for batch, base in zip(self.ready, base_offsets, strict=True)]


class PartitionLog:
    """Writes `quota` records of one log partition."""

    def __init__(self, plan: LogPlan, groups: Sequence[GroupPlan], quota: int) -> None:
        self._plan = plan
        self._writers = [_GroupWriter(plan, group) for group in groups]
        self._pace = sum(group.records_per_ms for group in groups)
        self._quota = quota
        self._next_offset = 0
        self.batches = 0
        self.last_ms = 0

    def write(self, writer: SegmentWriter) -> None:
        begin_ms = 0
        is_full = self._quota == 0 or self._pace == 0
        while not is_full:
            end_ms = begin_ms + self._window_ms()
            is_full = self._write_window(writer, begin_ms, end_ms)
            begin_ms = end_ms
        self._fill(writer)

    def _window_ms(self) -> int:
        """Long enough for what is missing, though never so short that windows get many."""
        missing = max(self._quota - self._next_offset, self._quota // _WINDOWS_MIN)
        return max(1, int(min(WINDOW_RECORDS, missing) / self._pace))

    def _write_window(self, writer: SegmentWriter, begin_ms: int, end_ms: int) -> bool:
        """Whether the quota is reached, but for what is too little for the next batch."""
        parts = [part for each in self._writers for part in each.between(begin_ms, end_ms)]
        if not parts:
            return False
        order = np.argsort(np.concatenate([part.times for part in parts]), kind="stable")
        records = np.concatenate([part.records for part in parts])
        ends = self._next_offset + np.cumsum(records[order])
        fitting = int(np.searchsorted(ends, self._quota, side="right"))
        starts = np.empty_like(ends)
        starts[order] = ends - records[order]
        batches = _placed(parts, starts)
        chosen = order[:fitting]
        writer.append([batches[at] for at in chosen.tolist()], starts[chosen].tolist())
        self.batches += fitting
        if fitting:
            self._next_offset = int(ends[fitting - 1])
            self.last_ms = int(np.concatenate([part.times for part in parts])[chosen[-1]])
        return fitting < len(order) or self._next_offset == self._quota

    def _fill(self, writer: SegmentWriter) -> None:
        """The last few records, so that there are exactly as many as were asked for."""
        while self._next_offset < self._quota and self._writers:
            count = min(BATCH_RECORDS_MAX, self._quota - self._next_offset)
            batch = self._writers[0].filler(self._next_offset, count, self.last_ms)
            writer.append([batch], [self._next_offset])
            self._next_offset += count
            self.batches += 1


class _GroupWriter:
    """What one group writes in a window of time."""

    def __init__(self, plan: LogPlan, group: GroupPlan) -> None:
        self._plan, self._group = plan, group
        self._history = History(plan, group)
        commits = () if group.type is GroupType.SHARE else range(len(group.slots))
        self._commits = [commit_template(group, slot) for slot in commits]
        self._markers: dict[ControlRecordType, Template] = {}
        if group.producer_id >= 0:
            types = (ControlRecordType.COMMIT, ControlRecordType.ABORT)
            self._markers = {kind: marker_template(group.producer_id, kind) for kind in types}

    def between(self, begin_ms: int, end_ms: int) -> Iterator[_Part]:
        events = list(self._history.between(begin_ms, end_ms))
        if events:
            yield self._rare(events)
        for slot in range(len(self._commits)):
            yield from self._slot(slot, begin_ms, end_ms)

    def filler(self, base_offset: int, count: int, at_ms: int) -> bytes:
        group = self._group
        topic_index, partition = group.slots[0][0]
        topic, now_ms = group.topics[topic_index], self._plan.start_ms + at_ms
        commit = OffsetCommitRecord(
            group_id=group.group_id,
            topic=topic.name,
            partition=partition,
            committed_offset=topic.end_offset(at_ms),
            leader_epoch=0,
            metadata="",
            commit_timestamp_ms=now_ms,
            topic_id=topic.topic_id,
        )
        key, value = encode(commit)
        rows = [Record(base_offset + delta, now_ms, key, value) for delta in range(count)]
        return encode_batch(rows, batch_options(-1))

    def _slot(self, slot: int, begin_ms: int, end_ms: int) -> Iterator[_Part]:
        times, indexes = commits_between(self._group, slot, begin_ms, end_ms)
        if not len(times):
            return
        template = self._commits[slot]
        stamps = times + self._plan.start_ms
        records = np.full(len(times), template.records)
        yield _Part(times, records, template.filled(stamps, self._offsets(slot, times)))
        is_aborted = (indexes + slot) % _ABORTED_EVERY == 0
        for kind, marker in self._markers.items():
            chosen = is_aborted == (kind is ControlRecordType.ABORT)
            ended = times[chosen] + _MARKER_AFTER_MS
            rows = marker.filled(ended + self._plan.start_ms, ended)
            yield _Part(ended, np.ones(len(ended), np.int64), rows)

    def _offsets(self, slot: int, times: Ints) -> Ints:
        consumed_ms = times - behind_ms(self._group, times)
        topics = [self._group.topics[index] for index, _ in self._group.slots[slot]]
        paces = np.array([topic.records_per_ms for topic in topics])
        bases = np.array([topic.base_offset for topic in topics])
        return bases + np.floor(np.outer(consumed_ms, paces)).astype(np.int64)

    def _rare(self, events: list[Event]) -> _Part:
        return _Part(
            np.array([event.at_ms for event in events], np.int64),
            np.array([len(event.rows) for event in events], np.int64),
            None,
            tuple(self._encoded(event) for event in events),
        )

    def _encoded(self, event: Event) -> bytes:
        now_ms = self._plan.start_ms + event.at_ms
        rows = [Record(delta, now_ms, *row) for delta, row in enumerate(event.rows)]
        return encode_batch(rows, batch_options(event.producer_id))


def _placed(parts: list[_Part], starts: Ints) -> list[bytes | memoryview]:
    batches: list[bytes | memoryview] = []
    for part in parts:
        first = len(batches)
        batches += part.placed(starts[first : first + len(part.times)])
    return batches


def _at(batch: bytes, base_offset: int) -> bytes:
    placed = bytearray(batch)
    _pack_offset(placed, 0, int(base_offset))
    return bytes(placed)
