"""One group commit on disk: all of it is durable, or none of it remains."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

from drumbeat.log.files import (
    FULL_ERRNOS,
    Disk,
    SyncError,
    sync_directory,
    sync_file,
    write_file,
)
from drumbeat.log.growing import GrowingSegment, StagedWrite
from drumbeat.log.room import give_back_room, make_room
from drumbeat.log.writing import write_all

# Above this, writing twice costs more than a sync of its own that the kernel does: with commits of
# 100 KB to eight partitions at a time, 80 us of CPU each instead of 50.
SMALL_BYTES_MAX: Final = 64 << 10
# So much is written by the event loop itself, which serves nobody else meanwhile: some 0.3 ms.
MEDIUM_BYTES_MAX: Final = 1 << 20


class CommitFailure:
    """Why a commit failed, and whether the log can go on: out of space, and all of it undone."""

    __slots__ = ("error", "is_harmless")

    def __init__(self, error: OSError, is_harmless: bool) -> None:
        self.error = error
        self.is_harmless = is_harmless


class Committer(Protocol):
    """Whose commit it is. Both are called on its loop, one after the other."""

    def end_commit(self, writes: Sequence[StagedWrite], failure: CommitFailure | None) -> None:
        """How it went."""

    def tell_synced(self) -> None:
        """Tell whoever waits, if it went well."""


class Commit:
    """Writes what was staged, in an order that a crash at any point leaves readable.

    A segment's data and indexes are durable before its successor's file exists, so that only the
    last segment can have a torn tail and only its indexes can be out of date.
    """

    __slots__ = ("_created", "_disk", "log", "writes")

    def __init__(self, disk: Disk, writes: Sequence[StagedWrite], log: Committer) -> None:
        self.log = log
        self.writes = writes
        self._disk = disk
        self._created: list[GrowingSegment] = []

    @property
    def is_small(self) -> bool:
        """Whether a journal may carry it."""
        return 0 < self._plain_bytes <= SMALL_BYTES_MAX

    @property
    def is_medium(self) -> bool:
        """Whether the event loop may write it."""
        return 0 < self._plain_bytes <= MEDIUM_BYTES_MAX

    @property
    def _plain_bytes(self) -> int:
        """Of one piece, into a segment that is open and stays so; else 0."""
        if len(self.writes) != 1:
            return 0
        segment, position, _, growth, is_closed = self.writes[0]
        return 0 if is_closed or segment.fd is None else growth.extent.size - position

    def run(self) -> CommitFailure | None:
        """Make it durable; on failure take it back and say what went wrong."""
        try:
            self._write_and_sync()
        except OSError as error:
            return self.undo(error)
        return None

    def try_write(self) -> OSError | None:
        """Write a small or medium one to the page cache; another makes it durable."""
        try:
            self._write(self.writes[0])
        except OSError as error:
            return error
        return None

    def _write(self, write: StagedWrite) -> None:
        segment, position, buffers, growth, _ = write
        fd, end = descriptor(segment), growth.extent.size
        if end - position > SMALL_BYTES_MAX:
            make_room(segment, fd, position, end)
        write_all(self._disk, fd, buffers, position)

    def undo(self, error: OSError) -> CommitFailure:
        """It could not be written: take back what was."""
        is_full = error.errno in FULL_ERRNOS and not isinstance(error, SyncError)
        return CommitFailure(error, self._undo() and is_full)

    def sync(self) -> CommitFailure | None:
        """Sync what `try_write` left to the journal."""
        try:
            for write in self.writes:
                sync_file(self._disk, descriptor(write.segment))
        except OSError as error:
            return self.fail(error)
        return None

    def fail(self, error: OSError) -> CommitFailure:
        """What `try_write` wrote could not be made durable; take it back if the disk lets us."""
        self._undo()
        return CommitFailure(error, is_harmless=False)

    def _write_and_sync(self) -> None:
        for write in self.writes:
            segment = write.segment
            if segment.fd is None:
                self._create(segment)
            if write.buffers:
                self._write(write)
            if write.buffers or write.is_closed:
                # A closed one even if nothing came: earlier commits may be in the journal only,
                # and that is not replayed into a segment that has a successor.
                sync_file(self._disk, descriptor(segment))
            if write.is_closed:
                give_back_room(self._disk, segment)
                write_indexes(self._disk, segment)

    def _create(self, segment: GrowingSegment) -> None:
        self._created.append(segment)
        create_segment(self._disk, segment)
        sync_directory(os.path.dirname(segment.path))

    def _undo(self) -> bool:
        """Take back every byte, durably; False if the disk refuses even that."""
        try:
            for segment in reversed(self._created):
                segment.close()
                remove_segment(segment.paths)
            first = self.writes[0]
            sync_directory(os.path.dirname(first.segment.path))
            self._disk.truncate(descriptor(first.segment), first.position)
            sync_file(self._disk, descriptor(first.segment))
        except OSError:
            return False
        return True


def descriptor(segment: GrowingSegment) -> int:
    assert segment.fd is not None, "a growing segment is open"
    return segment.fd


def create_segment(disk: Disk, segment: GrowingSegment) -> None:
    """The three files of an empty segment; the directory is the caller's to sync."""
    segment.fd = disk.create(segment.path, flags=os.O_EXCL)  # never over somebody's records
    for path in segment.paths[1:]:
        os.close(disk.create(path, flags=os.O_TRUNC))


def write_indexes(disk: Disk, segment: GrowingSegment) -> None:
    write_file(disk, segment.offset_index.path, segment.offset_index.data())
    write_file(disk, segment.time_index.path, segment.time_index.data())


def remove_segment(paths: Sequence[str]) -> None:
    """The log goes first: indexes without a log are ignored, a log without indexes is not."""
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)
