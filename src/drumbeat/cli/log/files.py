"""From what a user names to partitions and their segment files, in order."""

import os
from typing import NamedTuple

from drumbeat.log.names import (
    HISTORY,
    LOG_SUFFIX,
    parse_directory_name,
    parse_history_name,
    parse_segment_name,
)

OFFSETS_TOPIC = "__consumer_offsets"


class NotALogError(Exception):
    """A path without log files; says what would have been one."""


class SegmentFile(NamedTuple):
    """`is_last`: the one that grows, whose end may be torn. `is_old`: kept after compaction."""

    path: str
    base_offset: int
    is_last: bool = False
    is_old: bool = False

    @property
    def stem(self) -> str:
        """The path without .log, to which the indexes add their own suffixes."""
        return self.path.removesuffix(LOG_SUFFIX)


class PartitionFiles(NamedTuple):
    directory: str
    segments: tuple[SegmentFile, ...]
    is_whole: bool  # a directory, not single files of it

    @property
    def has_offsets_records(self) -> bool:
        """Whether the directory's name says that it belongs to the coordinators' topic."""
        directory = self.directory
        if os.path.basename(directory) == HISTORY:
            directory = os.path.dirname(directory)
        named = parse_directory_name(os.path.basename(directory))
        return named is not None and named.topic == OFFSETS_TOPIC


def find_partitions(paths: list[str]) -> list[PartitionFiles]:
    return [partition for path in paths for partition in _find(os.path.abspath(path))]


def _find(path: str) -> list[PartitionFiles]:
    if os.path.isfile(path):
        return [PartitionFiles(os.path.dirname(path), (_single(path),), is_whole=False)]
    if not os.path.isdir(path):
        raise NotALogError(f"there is no {path}; name a data directory or a .log file")
    names = sorted(os.listdir(path))
    segments = _segments(path, names)
    if segments:
        return [PartitionFiles(path, segments, is_whole=True)]
    inner = [os.path.join(path, name) for name in names if parse_directory_name(name)]
    found = [
        PartitionFiles(directory, _segments(directory, sorted(os.listdir(directory))), True)
        for directory in inner
        if os.path.isdir(directory)
    ]
    if not found:
        raise NotALogError(
            f"{path} holds neither segments (00000000000000000000.log) nor partition directories "
            "(orders-0); name a node's data directory"
        )
    return found


def _single(path: str) -> SegmentFile:
    name = os.path.basename(path)
    base_offset, old = parse_segment_name(name), parse_history_name(name)
    if base_offset is None and old is None:
        raise NotALogError(f"{path} is no segment; those are called 00000000000000000000.log")
    if old is not None:
        return SegmentFile(path, old[0], is_old=True)
    assert base_offset is not None
    named = [parse_segment_name(other) for other in os.listdir(os.path.dirname(path))]
    newest = max(offset for offset in named if offset is not None)
    return SegmentFile(path, base_offset, is_last=base_offset == newest)


def _segments(directory: str, names: list[str]) -> tuple[SegmentFile, ...]:
    """What was superseded by compaction first, as far as it is kept."""
    bases = [(offset, name) for name in names if (offset := parse_segment_name(name)) is not None]
    live = [
        SegmentFile(os.path.join(directory, name), offset, is_last=(offset, name) == bases[-1])
        for offset, name in bases
    ]
    history = os.path.join(directory, HISTORY)
    kept = sorted(os.listdir(history)) if os.path.isdir(history) else []
    old = [
        SegmentFile(os.path.join(history, name), parsed[0], is_old=True)
        for name in kept
        if (parsed := parse_history_name(name)) is not None
    ]
    return (*old, *live)
