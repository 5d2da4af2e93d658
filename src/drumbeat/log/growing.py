"""The segment at the end of a log, which grows in memory first.

`stage` queues a batch and keeps the indexes, entry for entry as Kafka's LogSegment does. `take`
hands the queue to a commit; `publish` shows its result to readers; `restore` goes back to the last
published state when a commit failed.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from drumbeat.log.index import RELATIVE_OFFSET_MAX
from drumbeat.log.port import NO_TIMESTAMP, LogSettings
from drumbeat.log.segment import Extent, Segment
from drumbeat.log.writing import joined
from drumbeat.protocol.record_batch import Outline, assigned_prefix

_PREFIX_BYTES: Final = 16
_new: Final = tuple.__new__  # every commit makes one of each, and their constructors take longer


class Growth(NamedTuple):
    """A state of a growing segment to publish or to go back to."""

    extent: Extent
    first_timestamp: int
    bytes_since_index: int
    index_sizes: tuple[int, int]  # of offset and time index


class GrowingSegment(Segment):
    """Staging, publishing and restoring happen on the event loop only."""

    def __init__(
        self, directory: str, base_offset: int, settings: LogSettings, suffix: str = ""
    ) -> None:
        super().__init__(directory, base_offset, suffix)
        self.directory_name = os.path.basename(directory)
        self.offset_index.hold()
        self.time_index.hold()
        self.is_closed = False
        self.size = 0
        self.room_end = 0  # up to here the file has blocks; see `log.room`
        self._index_interval_bytes = settings.index_interval_bytes
        self._index_bytes_max = settings.segment_index_bytes
        self._is_index_full = False
        self.next_offset = base_offset
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = base_offset
        self._first_timestamp = NO_TIMESTAMP
        self._bytes_since_index = 0
        self._index_sizes = (0, 0)
        self._pending: list[bytes | memoryview] = []
        self._taken_size = 0
        self._published = self._growth()

    def must_roll(
        self, size: int, max_timestamp: int, last_offset: int, settings: LogSettings
    ) -> bool:
        """Whether a batch belongs into a new segment: LogSegment.shouldRoll, less the clock."""
        if self.size == 0:
            return False
        age_ms = max_timestamp - self._first_timestamp
        return (
            self.size + size > settings.segment_bytes
            or (age_ms > settings.segment_ms and self._first_timestamp >= 0)
            or self._is_index_full
            or last_offset - self.base_offset > RELATIVE_OFFSET_MAX
        )

    def stage(self, batch: bytes, outline: Outline, base_offset: int, epoch: int) -> None:
        """Queue a batch with its place in the log; nothing is copied or written yet."""
        batch_offset, batch_epoch, last_delta, max_timestamp = outline
        if batch_offset == base_offset and batch_epoch == epoch:
            self._pending.append(batch)
        else:
            self._pending.append(assigned_prefix(batch, base_offset, epoch))
            self._pending.append(memoryview(batch)[_PREFIX_BYTES:])
        self.note(base_offset + last_delta, max_timestamp, len(batch))

    def note(self, last_offset: int, max_timestamp: int, size: int) -> None:
        """Account for a batch at the end; recovery calls this for batches that are on disk."""
        if self.size == 0:
            self._first_timestamp = max_timestamp
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if self._bytes_since_index > self._index_interval_bytes:
            self._index(last_offset)
            self._bytes_since_index = 0
        self.size += size
        self._bytes_since_index += size
        self.next_offset = last_offset + 1

    def _index(self, last_offset: int) -> None:
        self.offset_index.append(last_offset, self.size)
        self.time_index.maybe_append(self._max_timestamp, self._max_timestamp_offset)
        self._check_indexes()

    def _check_indexes(self) -> None:
        self._index_sizes = (self.offset_index.size, self.time_index.size)
        self._is_index_full = self.offset_index.is_full(
            self._index_bytes_max
        ) or self.time_index.is_full(self._index_bytes_max)

    def end(self) -> None:
        """No batch follows: the time index gets the largest timestamp, which retention reads."""
        self.time_index.maybe_append(self._max_timestamp, self._max_timestamp_offset)
        self._check_indexes()
        self.is_closed = True

    @property
    def staged_bytes(self) -> int:
        return self.size - self._taken_size

    def take(self) -> StagedWrite:
        """Everything staged since the last time."""
        # They are written twice, here and to the journal, and their checksum is taken.
        buffers, self._pending = joined(self._pending, self.staged_bytes), []
        position, self._taken_size = self._taken_size, self.size
        return _new(StagedWrite, (self, position, buffers, self._growth(), self.is_closed))

    def publish(self, growth: Growth) -> None:
        self._published = growth
        self.extent = growth.extent

    def resume(self, offset_entries: bytes, time_entries: bytes, first_timestamp: int) -> int:
        """Begin with indexes from disk; returns the position from where to `note` the rest."""
        self.offset_index.hold(offset_entries)
        self.time_index.hold(time_entries)
        self._first_timestamp = first_timestamp
        if (indexed := self.offset_index.last()) is not None:
            self.size = indexed.position
        if (latest := self.time_index.last()) is not None:
            self._max_timestamp, self._max_timestamp_offset = latest
        self._check_indexes()
        return self.size

    def publish_scanned(self) -> None:
        """What `note` has seen is on disk already."""
        self._taken_size = self.size
        self.publish(self._growth())

    def rest(self) -> None:
        """Closed and on disk, indexes included: neither memory nor descriptor is needed."""
        self.offset_index.leave_to_file()
        self.time_index.leave_to_file()
        self.close()

    def restore(self) -> None:
        """Forget whatever was staged or taken since the last published state."""
        growth = self._published
        (self.size, self.next_offset, self._max_timestamp, self._max_timestamp_offset) = (
            growth.extent
        )
        self._first_timestamp = growth.first_timestamp
        self._bytes_since_index = growth.bytes_since_index
        offset_index_size, time_index_size = growth.index_sizes
        self.offset_index.truncate(offset_index_size)
        self.time_index.truncate(time_index_size)
        self._check_indexes()
        self._pending = []
        self._taken_size = self.size
        self.is_closed = False

    def _growth(self) -> Growth:
        extent = (self.size, self.next_offset, self._max_timestamp, self._max_timestamp_offset)
        # fmt: off
        return _new(Growth, (
            _new(Extent, extent), self._first_timestamp, self._bytes_since_index,
            self._index_sizes,
        ))
        # fmt: on


class StagedWrite(NamedTuple):
    """What a commit writes to one segment, and the state that this makes true."""

    segment: GrowingSegment
    position: int
    buffers: list[bytes | memoryview]
    growth: Growth
    is_closed: bool
