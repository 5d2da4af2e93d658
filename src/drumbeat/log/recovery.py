"""Bringing segments in order when a log is opened.

After a crash the last segment may end in a torn batch: it is cut off, and a note says so. Any other
damage stops the opening with nothing changed; so does a log that ends before it did when it was
last closed in order, however it lost its end. Indexes hold no truth of their own: a bad one is
rebuilt.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from drumbeat.log.batches import BadBatch, find_batch_after, read_batches, walk_headers
from drumbeat.log.commit import descriptor, write_indexes
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk, open_for_reading, read_exactly, read_file, sync_file
from drumbeat.log.growing import GrowingSegment
from drumbeat.log.index import RELATIVE_OFFSET_MAX, offset_entries_problem, time_entries_problem
from drumbeat.log.names import CLEAN_SHUTDOWN, RECOVERY_POINT
from drumbeat.log.port import NO_TIMESTAMP, LogSettings
from drumbeat.log.segment import DAMAGE_ADVICE, Extent, Segment, reporting_damage
from drumbeat.protocol.record_batch import BatchHeader, CorruptBatch, check_crc

LOST_END_ADVICE: Final = (
    "nothing was changed; restore the file from a copy, or, to go on without what is lost, stop "
    f"the node and remove {RECOVERY_POINT} beside it and {CLEAN_SHUTDOWN} one level up"
)

_logger = logging.getLogger(__name__)


class SegmentOpener(NamedTuple):
    """Opens the segments of one directory and collects what the operator should know."""

    disk: Disk
    directory: str
    settings: LogSettings
    recovery_point: int
    notes: list[str]

    def open_last(self, base_offset: int, *, is_trusted: bool) -> GrowingSegment:
        """The segment that will grow.

        A trusted one was closed in order, so that only its end is checked, not every batch; and
        nothing can have torn it.
        """
        segment = self._resumed(base_offset) if is_trusted else None
        if segment is None:
            segment = self._scanned(base_offset, is_trusted=is_trusted)
        segment.publish_scanned()
        return segment

    def open_closed(self, base_offset: int, next_base_offset: int) -> Segment:
        """A segment that others follow: durable as a whole, so its indexes are trusted if they
        agree with the log; damage in its batches comes to light when they are read."""
        segment = Segment(self.directory, base_offset)
        size = os.stat(segment.path).st_size
        segment.extent = Extent(size, next_base_offset, NO_TIMESTAMP, base_offset)
        if not size:
            _check_always_empty(segment)
        elif not _has_sound_indexes(segment):
            self._rebuild(segment)
        elif (latest := segment.time_index.last()) is not None:
            segment.extent = Extent(size, next_base_offset, *latest)
        return segment

    def _growing(self, base_offset: int) -> GrowingSegment:
        segment = GrowingSegment(self.directory, base_offset, self.settings)
        segment.fd = self.disk.create(segment.path)
        return segment

    def _resumed(self, base_offset: int) -> GrowingSegment | None:
        segment = self._growing(base_offset)
        with _closing_on_failure(segment):
            if _resume(segment):
                self._check_end(segment, None, is_trusted=True)
                return segment
        segment.close()
        return None

    def _scanned(self, base_offset: int, *, is_trusted: bool) -> GrowingSegment:
        """Check every batch; cut a torn tail; make durable what a killed process may not have."""
        segment = self._growing(base_offset)
        with _closing_on_failure(segment):
            file_size = os.fstat(descriptor(segment)).st_size
            bad = self._scan_last(segment, file_size)
            self._check_end(segment, bad, is_trusted=is_trusted)
            if bad is not None:
                self._cut(segment, file_size, bad)
            if file_size:
                sync_file(self.disk, descriptor(segment))
        return segment

    def _scan_last(self, segment: GrowingSegment, file_size: int) -> BadBatch | None:
        """Where the sound batches end, if a torn one may follow; damage before that is raised."""
        fd = descriptor(segment)
        with reporting_damage(segment.path):
            try:
                _scan(fd, file_size, segment)
            except BadBatch as bad:
                following = find_batch_after(fd, bad.position, file_size, segment.next_offset)
                if following is None:
                    return bad
                found = f"{bad.found}, yet a sound batch follows at byte {following}"
                raise BadBatch(bad.position, found) from None
        return None

    def _check_end(
        self, segment: GrowingSegment, bad: BadBatch | None, *, is_trusted: bool
    ) -> None:
        """What was there at an orderly stop was acknowledged: no crash later has torn it."""
        if segment.next_offset < self.recovery_point:
            why = "" if bad is None else f" ({bad.found})"
            found = (
                f"the log ends at offset {segment.next_offset}{why}, "
                f"but at {self.recovery_point} when it was closed in order"
            )
        elif bad is not None and is_trusted:
            found = f"{bad.found}, yet the last stop was orderly"
        else:
            return
        raise CorruptLog(segment.path, segment.size, found, LOST_END_ADVICE)

    def _cut(self, segment: GrowingSegment, file_size: int, bad: BadBatch) -> None:
        self.disk.truncate(descriptor(segment), segment.size)
        self.note(
            f"{segment.path}: cut {file_size - segment.size} bytes of a torn batch at byte "
            f"{segment.size}, offset {segment.next_offset} ({bad.found})"
        )

    def _rebuild(self, segment: Segment) -> None:
        """Write both indexes anew from the batches, all of which are checked on the way."""
        scratch = self._growing(segment.base_offset)
        try:
            with reporting_damage(segment.path):
                _scan(descriptor(scratch), segment.extent.size, scratch)
            scratch.end()
            scratch.publish_scanned()
            write_indexes(self.disk, scratch)
        finally:
            scratch.close()
        _, _, *latest = scratch.extent
        segment.extent = Extent(segment.extent.size, segment.extent.next_offset, *latest)
        self.note(f"{segment.path}: rebuilt its indexes")

    def note(self, text: str) -> None:
        _logger.warning("%s", text)
        self.notes.append(text)


@contextmanager
def _closing_on_failure(segment: GrowingSegment) -> Iterator[None]:
    try:
        yield
    except BaseException:
        segment.close()
        raise


def _scan(fd: int, size: int, segment: GrowingSegment) -> None:
    for header, _ in read_batches(fd, 0, size):
        _check_order(segment, header)
        segment.note(header.last_offset, header.max_timestamp, header.size)


def _check_order(segment: GrowingSegment, header: BatchHeader) -> None:
    """A sound batch with a wrong offset is no torn write: it must not be cut away."""
    if header.base_offset < segment.next_offset:
        found = f"offset {header.base_offset} follows {segment.next_offset - 1}"
    elif header.last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
        found = f"offset {header.last_offset} is beyond what a segment can index"
    else:
        return
    raise CorruptLog(segment.path, segment.size, found, DAMAGE_ADVICE)


def _resume(segment: GrowingSegment) -> bool:
    """Go on from the indexes on disk; False if anything is not as a clean close leaves it."""
    fd = descriptor(segment)
    size = os.fstat(fd).st_size
    offset_entries = read_file(segment.offset_index.path)
    time_entries = read_file(segment.time_index.path)
    if offset_entries is None or offset_entries_problem(offset_entries, size):
        return False
    if time_entries is None or time_entries_problem(time_entries, RELATIVE_OFFSET_MAX):
        return False
    try:
        for _, header in walk_headers(fd, 0, size):
            position = segment.resume(offset_entries, time_entries, header.max_timestamp)
            return _follow(fd, position, size, segment)
    except (BadBatch, CorruptBatch, CorruptLog):
        return False
    return not time_entries


def _follow(fd: int, position: int, size: int, segment: GrowingSegment) -> bool:
    """Walk from the last indexed batch to the end, and check the last batch as a whole."""
    indexed = segment.offset_index.last()
    for at, header in walk_headers(fd, position, size):
        if at == position and indexed is not None and header.last_offset != indexed.offset:
            return False
        _check_order(segment, header)
        segment.note(header.last_offset, header.max_timestamp, header.size)
        if at + header.size == size:
            check_crc(read_exactly(fd, header.size, at), 0, header)
    latest = segment.time_index.last()
    return latest is None or latest.offset < segment.next_offset


def _check_always_empty(segment: Segment) -> None:
    for path in segment.paths[1:]:
        if read_file(path):
            found = f"the file is empty, but {os.path.basename(path)} has entries"
            raise CorruptLog(segment.path, 0, found, DAMAGE_ADVICE)


def _has_sound_indexes(segment: Segment) -> bool:
    """Whether both files are there, of a possible size, and their last entries are the log's.

    The entries before are compared when they are used: a large segment has many of them.
    """
    for index in (segment.offset_index, segment.time_index):
        try:
            if os.stat(index.path).st_size % index.entry.size:
                return False
        except FileNotFoundError:
            return False
    indexed = segment.offset_index.last()
    if indexed is not None:
        with open_for_reading(segment.path) as fd:
            if not segment.holds(fd, indexed):
                return False
    latest = segment.time_index.last()
    if latest is None:  # as it should be only where no record has a timestamp
        return next(segment.headers()).max_timestamp == NO_TIMESTAMP
    header = segment.batch_ending_at(latest.offset)
    return header is not None and header.max_timestamp == latest.timestamp
