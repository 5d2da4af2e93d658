"""The segments of one log in order: finding, reading, growing at the end, shrinking at the start.

Belongs to the event loop; nothing here waits for the disk except reads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from drumbeat.log.batches import split_chunks
from drumbeat.log.growing import GrowingSegment, StagedWrite
from drumbeat.log.port import UNDEFINED_EPOCH, LogBatch, LogSettings, Records, TimestampOffset
from drumbeat.log.retention import SegmentSummary
from drumbeat.log.segment import Segment
from drumbeat.protocol.record_batch import BatchHeader, Outline

_base_offset = attrgetter("base_offset")


class Segments:
    def __init__(self, directory: str, closed: Sequence[Segment], active: GrowingSegment) -> None:
        self._directory = directory
        self._all: list[Segment] = [*closed, active]
        self._active = active
        # What the next commit has to look at: the last segment on disk and those rolled since.
        self._unwritten = [active]
        self._readers: set[object] = set()  # who goes through batches, perhaps in other threads

    @property
    def first_offset(self) -> int:
        return self._all[0].base_offset

    @property
    def is_single(self) -> bool:
        return len(self._all) == 1

    @property
    def closed(self) -> list[Segment]:
        """Those that are on disk for good."""
        return self._all[: -len(self._unwritten)]

    def following(self, count: int) -> list[Segment]:
        """All but the oldest so many."""
        return self._all[count:]

    @property
    def has_readers(self) -> bool:
        """Whether somebody may still open a segment that is no longer part of the log."""
        return bool(self._readers)

    @property
    def synced_offset(self) -> int:
        """Where the last published batch ends."""
        return self._unwritten[0].extent.next_offset

    @property
    def size_bytes(self) -> int:
        closed = sum(segment.extent.size for segment in self.closed)
        return closed + sum(segment.size for segment in self._unwritten)

    # Growing

    def stage(
        self, batch: bytes, outline: Outline, base_offset: int, epoch: int, settings: LogSettings
    ) -> None:
        _, _, last_delta, max_timestamp = outline
        if self._active.must_roll(len(batch), max_timestamp, base_offset + last_delta, settings):
            self.roll(base_offset, settings)
        self._active.stage(batch, outline, base_offset, epoch)

    def roll(self, base_offset: int, settings: LogSettings) -> None:
        """End the active segment and put an empty one behind it; files follow with a commit."""
        self._active.end()
        self._active = GrowingSegment(self._directory, base_offset, settings)
        self._all.append(self._active)
        self._unwritten.append(self._active)

    def end(self) -> GrowingSegment:
        """The last segment, complete for now: the next owner can go on where it stops."""
        self._active.end()
        return self._active

    def have_grown_at_most(self, bytes_max: int) -> bool:
        """Whether no more was staged since the last time, all of it into one segment."""
        return len(self._unwritten) == 1 and self._active.staged_bytes <= bytes_max

    def take(self) -> list[StagedWrite]:
        """Everything staged since the last time, segment by segment."""
        return [segment.take() for segment in self._unwritten]

    def publish(self, writes: Sequence[StagedWrite]) -> None:
        """These are on disk: readers may see them, and closed segments rest."""
        for segment, _, _, growth, is_closed in writes:
            segment.publish(growth)
            if is_closed:
                segment.rest()
                self._unwritten.remove(segment)

    def restore(self) -> None:
        """Go back to what is on disk: drop rolled segments, forget staged batches."""
        kept, *dropped = self._unwritten
        for segment in dropped:
            segment.close()
        del self._all[len(self._all) - len(dropped) :]
        kept.restore()
        self._active = kept
        self._unwritten = [kept]

    # Shrinking

    def summaries(self) -> list[SegmentSummary]:
        ends = [segment.base_offset for segment in self._all[1:]]
        ends.append(self._active.next_offset)
        return [
            SegmentSummary(end, segment.extent.size, segment.largest_timestamp())
            for segment, end in zip(self._all, ends, strict=True)
        ]

    def count_below(self, offset: int) -> int:
        """How many of the oldest segments end at or before the offset."""
        return max(bisect_right(self._all, offset, key=_base_offset) - 1, 0)

    def remove_first(self, count: int) -> list[Segment]:
        """Hide the oldest segments from readers; never the active one."""
        count = min(count, len(self._all) - len(self._unwritten))
        removed, self._all = self._all[:count], self._all[count:]
        for segment in removed:
            segment.is_removed = True
        return removed

    def replace_first(self, count: int, replacement: Sequence[Segment]) -> None:
        """Show readers that come from now on the compacted form of the oldest segments."""
        assert count <= len(self.closed)
        self._all = [*replacement, *self._all[count:]]

    def close(self) -> None:
        for segment in self._all:
            segment.close()

    # Reading

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool) -> Records:
        """Records of one segment: the one that holds the offset, or the next that holds any."""
        for segment in self._from(offset):
            data = segment.read(offset, bytes_max, whole_first_batch=whole_first_batch)
            if data is not None:
                return data
        return b""

    def batches(self, offset: int, end_offset: int, *, chunk_bytes: int) -> Iterator[LogBatch]:
        return split_chunks(self.chunks(offset, end_offset, chunk_bytes=chunk_bytes))

    def chunks(self, offset: int, end_offset: int, *, chunk_bytes: int) -> Iterator[bytes]:
        """From the segments of this moment to the end: half of an old log and half of a compacted
        one would show a record without the tombstone that removed it (KAFKA-19862)."""
        reader = object()
        self._readers.add(reader)
        try:
            segments = self._all[:]
            first = max(bisect_right(segments, offset, key=_base_offset) - 1, 0)
            for segment in segments[first:]:
                if segment.base_offset >= end_offset:
                    return
                if segment.extent.size:  # or else rolled, and perhaps without a file yet
                    yield from segment.chunks(offset, end_offset, chunk_bytes=chunk_bytes)
        finally:
            self._readers.discard(reader)

    def offset_for_timestamp(self, timestamp: int, start_offset: int) -> TimestampOffset | None:
        for segment in self._all:
            if segment.extent.max_timestamp >= timestamp:
                found = segment.offset_for_timestamp(timestamp, start_offset)
                if found is not None:
                    return found
        return None

    def max_timestamp(self) -> TimestampOffset | None:
        """An extent promises at most what it says: compaction may have left less in the segment."""
        latest: TimestampOffset | None = None
        by_promise = sorted(self._all, key=lambda segment: -segment.extent.max_timestamp)
        for segment in by_promise:
            promised = segment.extent.max_timestamp
            if promised < 0 or (latest is not None and promised <= latest.timestamp):
                break
            found = segment.max_timestamp_record()
            if found is not None and (latest is None or found.timestamp > latest.timestamp):
                latest = found
        return latest

    def headers(self) -> Iterator[BatchHeader]:
        for segment in self._all:
            yield from segment.headers()

    def last_epoch(self) -> int:
        """The leader epoch of the last batch on disk, or -1."""
        for segment in reversed(self._all):
            if segment.extent.size:
                header = segment.batch_ending_at(segment.extent.next_offset - 1)
                return UNDEFINED_EPOCH if header is None else header.partition_leader_epoch
        return UNDEFINED_EPOCH

    def path_at(self, offset: int) -> str:
        """The file that holds the offset."""
        return self._at(offset).path

    def _at(self, offset: int) -> Segment:
        return self._all[max(bisect_right(self._all, offset, key=_base_offset) - 1, 0)]

    def _after(self, base_offset: int) -> Segment | None:
        """The next segment that has something to read; older ones may be gone by now."""
        index = bisect_right(self._all, base_offset, key=_base_offset)
        return next((segment for segment in self._all[index:] if segment.extent.size), None)

    def _from(self, offset: int) -> Iterator[Segment]:
        segment: Segment | None = self._at(offset)
        while segment is not None:
            yield segment
            segment = self._after(segment.base_offset)
