"""Writing the segments that a compaction makes: whole batches in, indexed and synced files out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from drumbeat.log.commit import descriptor, write_indexes
from drumbeat.log.files import Disk, sync_file
from drumbeat.log.growing import GrowingSegment
from drumbeat.log.names import CLEANED_SUFFIX
from drumbeat.log.port import NEVER_MS, LogBatch, LogSettings
from drumbeat.log.writing import write_all

WRITE_BYTES: Final = 1 << 20
# Other partitions' commits wait for the same disk, so it is not given everything at once.
SYNC_BYTES: Final = 8 << 20


class CleanedWriter:
    """As few segments as the size limit allows, under names that count for nothing yet."""

    def __init__(self, disk: Disk, directory: str, settings: LogSettings, base_offset: int) -> None:
        self._disk = disk
        self._directory = directory
        # Records of all ages stand in one compacted segment.
        self._settings = settings._replace(segment_ms=NEVER_MS)
        self._base_offset = base_offset
        self._pending: list[memoryview] = []
        self._pending_bytes = 0
        self._unsynced_bytes = 0
        self._segments: list[GrowingSegment] = []
        self.records = 0

    @property
    def _current(self) -> GrowingSegment:
        return self._segments[-1]

    def write(self, batch: LogBatch) -> None:
        header = batch.header
        if not self._segments:
            self._begin(self._base_offset)
        elif self._current.must_roll(
            header.size, header.max_timestamp, header.last_offset, self._settings
        ):
            self._end()
            self._begin(header.base_offset)
        self.records += header.record_count
        self._current.note(header.last_offset, header.max_timestamp, header.size)
        self._pending.append(batch.data)
        self._pending_bytes += header.size
        if self._pending_bytes >= WRITE_BYTES:
            self._flush()

    def finish(self, modified_ns: int) -> Sequence[GrowingSegment]:
        """Everything is on disk. Retention takes a file's time where records have none, so the
        files get that of the newest source."""
        self._end()
        for segment in self._segments:
            os.utime(segment.path, ns=(modified_ns, modified_ns))
        return self._segments

    def discard(self) -> None:
        """Leave nothing behind; what cannot be removed is, by its name, worth nothing anyway."""
        for segment in self._segments:
            segment.close()
            with suppress(OSError):
                for path in segment.paths:
                    self._disk.remove(path)

    def _begin(self, base_offset: int) -> None:
        segment = GrowingSegment(self._directory, base_offset, self._settings, CLEANED_SUFFIX)
        self._segments.append(segment)
        segment.fd = self._disk.create(segment.path, flags=os.O_TRUNC)

    def _flush(self) -> None:
        position = self._current.size - self._pending_bytes
        write_all(self._disk, descriptor(self._current), self._pending, position)
        self._unsynced_bytes += self._pending_bytes
        self._pending = []
        self._pending_bytes = 0
        if self._unsynced_bytes >= SYNC_BYTES:
            self._sync()

    def _sync(self) -> None:
        sync_file(self._disk, descriptor(self._current))
        self._unsynced_bytes = 0

    def _end(self) -> None:
        segment = self._current
        if self._pending:
            self._flush()
        self._sync()
        segment.end()
        segment.publish_scanned()
        write_indexes(self._disk, segment)
        segment.rest()
