"""After a crash: what the journal alone made durable goes to its segments again."""

from __future__ import annotations

import os
from collections.abc import Sequence

from drumbeat.log.files import Disk, open_for_reading, sync_file
from drumbeat.log.journal import FILE
from drumbeat.log.journal_fit import check_continues
from drumbeat.log.journal_format import (
    Entry,
    check_header,
    encode_header,
    read_entries,
    read_generation,
)
from drumbeat.log.segment import Segment
from drumbeat.log.writing import write_all


def has_entries(data_directory: str) -> bool:
    path = os.path.join(data_directory, FILE)
    try:
        with open_for_reading(path) as fd:
            check_header(fd, path)
            return bool(read_entries(fd))
    except FileNotFoundError:
        return False


def replay(disk: Disk, data_directory: str) -> int:
    """Write the entries of a crashed process to their segments; returns how many there were."""
    path = os.path.join(data_directory, FILE)
    if not os.path.exists(path):
        return 0
    fd = disk.create(path)
    try:
        check_header(fd, path)
        entries = read_entries(fd)
        _restore(disk, data_directory, entries)
        generation = read_generation(fd) or 0
        write_all(disk, fd, [encode_header(generation + 1)], 0)
        sync_file(disk, fd)
    finally:
        os.close(fd)
    return len(entries)


def _restore(disk: Disk, data_directory: str, entries: Sequence[Entry]) -> None:
    by_segment: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        by_segment.setdefault((entry.directory, entry.base_offset), []).append(entry)
    continued: list[tuple[Segment, list[Entry]]] = []
    for (name, base_offset), of_segment in by_segment.items():
        directory = os.path.join(data_directory, name)
        # A segment that has a successor was synced before it got one; or it is deleted.
        if base_offset == _last_segment(directory):
            continued.append((Segment(directory, base_offset), of_segment))
    for segment, of_segment in continued:
        check_continues(segment, of_segment)
    for segment, of_segment in continued:
        _restore_segment(disk, segment.path, of_segment)


def _restore_segment(disk: Disk, path: str, entries: Sequence[Entry]) -> None:
    fd = disk.create(path)
    try:
        for entry in entries:
            write_all(disk, fd, entry.buffers, entry.position)
        sync_file(disk, fd)
    finally:
        os.close(fd)


def _last_segment(directory: str) -> int | None:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return None
    bases = [int(name[:20]) for name in names if name[20:] == ".log" and name[:20].isdigit()]
    return max(bases, default=None)
