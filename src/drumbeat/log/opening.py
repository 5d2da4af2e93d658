"""Opening a partition's directory: lock it, put it in order, begin a new epoch.

Directories that Apache Kafka wrote open too. Files that a log does not need (.snapshot, .txnindex,
.deleted, .cleaned) are left where they are. A `.swap` file is a compaction cut short, ours or
Kafka's: it is finished first, if what it holds is whole.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import NamedTuple

from drumbeat.log.checkpoint import (
    read_cleaned_offset,
    read_epochs,
    read_recovery_point,
    read_start_offset,
    write_epochs,
    write_start_offset,
)
from drumbeat.log.commit import create_segment
from drumbeat.log.continuity import check_continuity
from drumbeat.log.epochs import EpochHistory
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk, make_directory
from drumbeat.log.growing import GrowingSegment
from drumbeat.log.locks import is_directory_of, lock_directory
from drumbeat.log.metadata import ensure_topic_id
from drumbeat.log.names import RECOVERY_POINT, START_OFFSET, directory_name, parse_segment_name
from drumbeat.log.port import EPOCH_MAX, EpochEntry, LogSettings, TopicPartition
from drumbeat.log.recovery import SegmentOpener
from drumbeat.log.segment import DAMAGE_ADVICE, Segment
from drumbeat.log.segments import Segments
from drumbeat.log.swap import recover_swap


class OpenRequest(NamedTuple):
    disk: Disk
    data_directory: str
    topic_partition: TopicPartition
    settings: LogSettings
    is_trusted: bool  # closed in order, so that the last segment needs no scan
    topic_id: str | None

    @property
    def directory(self) -> str:
        return os.path.join(self.data_directory, directory_name(self.topic_partition))


class OpenedPartition(NamedTuple):
    """A partition's directory, locked and in order, with a new epoch that nobody uses yet."""

    topic_partition: TopicPartition
    directory: str
    lock: int  # the descriptor that holds the directory
    segments: Segments
    epochs: EpochHistory
    start_offset: int
    cleaned_offset: int
    notes: tuple[str, ...]


def open_partition(request: OpenRequest) -> OpenedPartition:
    """Runs in a worker thread; on failure the lock is free again and no epoch was begun."""
    lock = _lock(request.directory)
    segments: Segments | None = None
    try:
        ensure_topic_id(request.disk, request.directory, request.topic_id)
        notes = recover_swap(request.disk, request.directory)
        bases = _segment_bases(request.directory)
        recorded_start = _recorded_start(request, is_new=not bases)
        segments = _open_segments(request, bases, recorded_start, notes)
        start_offset = _start_offset(request, segments, recorded_start)
        cleaned_offset = _cleaned_offset(request, segments)
        epochs = _begin_epoch(request, segments, start_offset)
    except BaseException:
        if segments is not None:
            segments.close()
        os.close(lock)
        raise
    return OpenedPartition(
        request.topic_partition,
        request.directory,
        lock,
        segments,
        epochs,
        start_offset,
        cleaned_offset,
        tuple(notes),
    )


def _lock(directory: str) -> int:
    """Create and lock; a deletion between the two moves the directory away, so look again."""
    while True:
        make_directory(directory)
        lock = lock_directory(directory)
        if is_directory_of(lock, directory):
            return lock
        os.close(lock)


def _segment_bases(directory: str) -> list[int]:
    names = os.listdir(directory)
    return sorted(base for name in names if (base := parse_segment_name(name)) is not None)


def _recorded_start(request: OpenRequest, *, is_new: bool) -> int:
    """The start offset of this directory, or else what Kafka noted one level up, taken over."""
    topic_partition = request.topic_partition
    own = read_start_offset(request.directory, topic_partition)
    if own is not None:
        return own
    kafkas = read_start_offset(request.data_directory, topic_partition)
    if kafkas is None:
        return 0
    offset = 0 if is_new else kafkas  # a new log must not inherit from an older one of its name
    write_start_offset(request.disk, request.directory, topic_partition, offset)
    return offset


def _open_segments(
    request: OpenRequest, bases: list[int], start_offset: int, notes: list[str]
) -> Segments:
    recovery_point = read_recovery_point(request.directory, request.topic_partition)
    opener = SegmentOpener(request.disk, request.directory, request.settings, recovery_point, notes)
    closed: list[Segment] = [opener.open_closed(*pair) for pair in pairwise(bases)]
    _tell_gaps(request, closed, start_offset, opener)
    if bases:
        active = opener.open_last(bases[-1], is_trusted=request.is_trusted)
    else:
        _check_never_begun(request, recovery_point)
        active = GrowingSegment(request.directory, 0, request.settings)
        create_segment(request.disk, active)  # its names become durable with the epoch's
    return Segments(request.directory, closed, active)


def _tell_gaps(
    request: OpenRequest, closed: list[Segment], start_offset: int, opener: SegmentOpener
) -> None:
    """Below the start offset nothing is missed: its segments are on their way out."""
    places = (request.directory, request.data_directory)  # ours, and Kafka's
    found = check_continuity(
        request.directory,
        [segment for segment in closed if segment.extent.next_offset > start_offset],
        compacted_below=max(read_cleaned_offset(at, request.topic_partition) for at in places),
        is_compacted=request.settings.is_compacted,
    )
    for text in found:
        opener.note(text)


def _check_never_begun(request: OpenRequest, recovery_point: int) -> None:
    if recovery_point:
        path = os.path.join(request.directory, RECOVERY_POINT)
        found = f"the log ended at offset {recovery_point}, but no segment is left"
        raise CorruptLog(path, 0, found, "restore the segments, or remove this file")


def _start_offset(request: OpenRequest, segments: Segments, recorded: int) -> int:
    start_offset = max(recorded, segments.first_offset)
    if start_offset > segments.synced_offset:
        path = os.path.join(request.directory, START_OFFSET)
        found = f"start offset {start_offset}, but the log ends at {segments.synced_offset}"
        raise CorruptLog(path, 0, found, "restore the missing segments, or remove this file")
    return start_offset


def _cleaned_offset(request: OpenRequest, segments: Segments) -> int:
    """Where compaction goes on; a note that cannot be of this log is not believed."""
    recorded = read_cleaned_offset(request.directory, request.topic_partition)
    return recorded if recorded <= segments.synced_offset else 0


def _begin_epoch(request: OpenRequest, segments: Segments, start_offset: int) -> EpochHistory:
    """One more than every epoch known, durable before anybody may append under it."""
    recorded = read_epochs(request.directory)
    history = EpochHistory(recorded or ())
    if recorded is None or segments.last_epoch() > history.latest:
        for header in segments.headers():
            history.note(header.partition_leader_epoch, header.base_offset)
    _check_can_be_followed(segments, history)
    epoch = history.latest + 1
    history.truncate_from_end(segments.synced_offset)
    history.assign(EpochEntry(epoch, segments.synced_offset))
    history.truncate_from_start(start_offset)
    write_epochs(request.disk, request.directory, history.entries)
    return history


def _check_can_be_followed(segments: Segments, history: EpochHistory) -> None:
    """A batch's epoch is outside its checksum, so damage there shows in nothing else."""
    if history.latest >= EPOCH_MAX:
        epoch, offset = history.entries[-1]
        found = f"epoch {epoch} at offset {offset}, which none can follow"
        raise CorruptLog(segments.path_at(offset), 0, found, DAMAGE_ADVICE)
