"""The disk of one partition, played by memory: only what is durable, and it outlives its owners."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from drumbeat.log.epochs import EpochHistory
from drumbeat.log.errors import CorruptLog
from drumbeat.log.port import NO_TIMESTAMP, LogBatch, LogSettings, TimestampOffset, TopicPartition
from drumbeat.log.retention import SegmentSummary
from drumbeat.protocol.record_batch import BatchHeader, CorruptBatch, check_crc
from drumbeat.protocol.records import Record, decode_records

_ADVICE = "nothing was changed"


class StoredBatch(NamedTuple):
    header: BatchHeader
    data: bytes


def _last_offset(batch: StoredBatch) -> int:
    return batch.header.last_offset


class MemorySegment:
    """A run of batches that retention removes as one."""

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.batches: list[StoredBatch] = []
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP

    def add(self, batch: StoredBatch) -> None:
        self.batches.append(batch)
        self.size += len(batch.data)
        self.max_timestamp = max(self.max_timestamp, batch.header.max_timestamp)

    @property
    def next_offset(self) -> int:
        return self.batches[-1].header.next_offset if self.batches else self.base_offset

    def is_full_for(self, batch: StoredBatch, settings: LogSettings) -> bool:
        if not self.batches:
            return False
        first_timestamp = self.batches[0].header.max_timestamp
        age_ms = batch.header.max_timestamp - first_timestamp
        return self.size + len(batch.data) > settings.segment_bytes or (
            first_timestamp >= 0 and age_ms > settings.segment_ms
        )

    def batches_from(self, offset: int) -> list[StoredBatch]:
        return self.batches[bisect_left(self.batches, offset, key=_last_offset) :]


class MemoryPartition:
    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.topic_id: str | None = None
        self.epochs = EpochHistory()
        self.start_offset = 0
        self.end_offset = 0
        self.cleaned_offset = 0
        self._segments = [MemorySegment(0)]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    # Growing and shrinking

    def store(self, batches: Sequence[StoredBatch], settings: LogSettings) -> None:
        for batch in batches:
            if self._segments[-1].is_full_for(batch, settings):
                self._segments.append(MemorySegment(self.end_offset))
            self._segments[-1].add(batch)
            self.end_offset = batch.header.next_offset

    def summaries(self, end_offset: int) -> list[SegmentSummary]:
        """`end_offset` is the owner's, who may have staged more for the last segment."""
        ends = [segment.base_offset for segment in self._segments[1:]]
        return [
            SegmentSummary(end, segment.size, segment.max_timestamp)
            for segment, end in zip(self._segments, [*ends, end_offset], strict=True)
        ]

    def remove_first(self, count: int) -> int:
        """Forget the oldest segments; if that is all, an empty one keeps the end offset."""
        del self._segments[:count]
        if not self._segments:
            self._segments.append(MemorySegment(self.end_offset))
        self.advance_start(self._segments[0].base_offset)
        return count

    def advance_start(self, offset: int) -> None:
        if offset > self.start_offset:
            self.start_offset = offset
            self.epochs.truncate_from_start(offset)

    @property
    def closed(self) -> list[MemorySegment]:
        return self._segments[:-1]

    def following(self, base_offset: int) -> list[MemorySegment]:
        """The segments behind the one of this base offset."""
        return [segment for segment in self._segments if segment.base_offset > base_offset]

    def replace_first(self, count: int, replacement: Sequence[MemorySegment]) -> None:
        """Who reads meanwhile goes on with the segments that were there when it began."""
        self._segments = [*replacement, *self._segments[count:]]

    def remove_below(self, offset: int) -> None:
        bases = [segment.base_offset for segment in self._segments]
        self.advance_start(offset)
        self.remove_first(bisect_right(bases, offset) - 1)

    # Reading

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool) -> bytes:
        for segment in self._from(offset):
            found = segment.batches_from(offset)
            if not found:
                continue
            size = max(bytes_max, len(found[0].data)) if whole_first_batch else bytes_max
            return b"".join(_enough(found, size))[:size]
        return b""

    def batches(self, offset: int, end_offset: int) -> Iterator[LogBatch]:
        for segment in self._from(offset):
            for batch in segment.batches_from(offset):
                if batch.header.base_offset >= end_offset:
                    return
                self.check(batch)
                yield LogBatch(batch.header, memoryview(batch.data))

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        for batch in self._from_start():
            if batch.header.max_timestamp < timestamp:
                continue
            for record in self._records(batch):
                if record.timestamp >= timestamp and record.offset >= self.start_offset:
                    return TimestampOffset(record.timestamp, record.offset)
        return None

    def max_timestamp(self) -> TimestampOffset | None:
        batches = [
            batch
            for segment in self._segments
            for batch in segment.batches
            if batch.header.record_count
        ]
        latest = max(batches, key=lambda batch: batch.header.max_timestamp, default=None)
        if latest is None or latest.header.max_timestamp < 0:
            return None
        largest = latest.header.max_timestamp
        offsets = (record.offset for record in self._records(latest) if record.timestamp == largest)
        return TimestampOffset(largest, next(offsets))

    def corrupt(self, offset: int) -> None:
        """Flip a bit in the last byte of the batch that holds the offset."""
        segment = next(self._from(offset))
        index = bisect_left(segment.batches, offset, key=_last_offset)
        header, data = segment.batches[index]
        segment.batches[index] = StoredBatch(header, data[:-1] + bytes([data[-1] ^ 1]))

    def _from(self, offset: int) -> Iterator[MemorySegment]:
        """Segments from the one that holds the offset on, as they are at this moment."""
        segments = self._segments[:]
        bases = [segment.base_offset for segment in segments]
        yield from segments[max(bisect_right(bases, offset) - 1, 0) :]

    def _from_start(self) -> Iterator[StoredBatch]:
        for segment in self._from(self.start_offset):
            yield from segment.batches_from(self.start_offset)

    def _records(self, batch: StoredBatch) -> list[Record]:
        self.check(batch)
        return decode_records(batch.data)

    def check(self, batch: StoredBatch) -> None:
        try:
            check_crc(batch.data, 0, batch.header)
        except CorruptBatch as error:
            where = f"{self.topic_partition} in memory, offset {batch.header.base_offset}"
            raise CorruptLog(where, 0, str(error), _ADVICE) from None


def _enough(batches: Sequence[StoredBatch], size: int) -> Iterator[bytes]:
    for batch in batches:
        yield batch.data
        size -= len(batch.data)
        if size <= 0:
            return
