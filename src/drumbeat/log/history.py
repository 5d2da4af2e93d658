"""Segments that compaction has replaced, kept for a while for those who want to know what was.

`<partition>/history/<base offset>.<when it was superseded, in ms>.log`: a plain segment file. All
files of one compaction carry the same time. The time is in the name because the file's own is that
of its last write, and copies lose it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk, make_directory, sync_directory
from drumbeat.log.names import HISTORY, history_name, parse_history_name
from drumbeat.log.port import UNLIMITED
from drumbeat.log.segment import Segment


class HistoryFile(NamedTuple):
    path: str
    base_offset: int
    superseded_ms: int


def history_files(directory: str) -> Iterator[HistoryFile]:
    """What a partition's history holds, oldest compaction first; other files are nobody's."""
    try:
        with os.scandir(os.path.join(directory, HISTORY)) as entries:
            parsed = [(parse_history_name(e.name), e.path) for e in entries if e.is_file()]
    except (FileNotFoundError, NotADirectoryError):
        return
    found = [HistoryFile(path, *numbers) for numbers, path in parsed if numbers is not None]
    yield from sorted(found, key=lambda file: (file.superseded_ms, file.base_offset))


def check_folder(directory: str) -> None:
    """Raises CorruptLog if something else is in its place: compaction could not end."""
    folder = os.path.join(directory, HISTORY)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        found = "a file where compaction keeps what it replaces"
        raise CorruptLog(folder, 0, found, "nothing was changed; move it away")


def retire(disk: Disk, directory: str, segments: Sequence[Segment], superseded_ms: int) -> None:
    """Move the segments' logs to the history, durably."""
    check_folder(directory)
    folder = os.path.join(directory, HISTORY)
    make_directory(folder)
    taken = set(os.listdir(folder))
    while any(history_name(segment.base_offset, superseded_ms) in taken for segment in segments):
        superseded_ms += 1
    for segment in segments:
        segment.retire(disk, os.path.join(folder, history_name(segment.base_offset, superseded_ms)))
    sync_directory(folder)
    sync_directory(directory)


def expire(disk: Disk, directory: str, retention_ms: int, now_ms: int) -> int:
    """Remove what is older than the retention; returns how many files that were."""
    if retention_ms == UNLIMITED:
        return 0
    expired = [
        file for file in history_files(directory) if file.superseded_ms <= now_ms - retention_ms
    ]
    for file in expired:
        disk.remove(file.path)
    if expired:
        with suppress(OSError):  # it holds others
            os.rmdir(os.path.join(directory, HISTORY))
    return len(expired)
