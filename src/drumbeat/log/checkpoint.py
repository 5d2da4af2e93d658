"""Kafka's checkpoint files: a version line, a count line, then one entry per line, as text.

`leader-epoch-checkpoint` in each partition's directory is also our epoch file. The start offset,
the cleaned offset and the recovery point are kept per partition, in files of the same name and form
that Kafka keeps one level up for all partitions: the owner alone writes them, and they go where the
partition goes. Of a directory that Kafka wrote the start offset is taken over; what Kafka had
cleaned is cleaned again, which does no harm.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NoReturn

from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk, read_file, write_file_atomically
from drumbeat.log.names import CLEANED_OFFSET, EPOCHS, RECOVERY_POINT, START_OFFSET
from drumbeat.log.port import EPOCH_MAX, EpochEntry, TopicPartition

_VERSION = "0"
_ADVICE = {
    EPOCHS: "restore it from a copy, or remove it: it is rebuilt from the batches in the log",
    START_OFFSET: "restore it from a copy, or remove it: the log then starts at its first segment",
    CLEANED_OFFSET: "remove it: the log is then compacted from its beginning",
    RECOVERY_POINT: "remove it: nothing then tells an end that was lost from one that was torn",
}


def read_epochs(directory: str) -> list[EpochEntry] | None:
    """The recorded epochs, or None if the partition has no epoch file yet."""
    path = os.path.join(directory, EPOCHS)
    lines = _read(path)
    if lines is None:
        return None
    try:
        entries = [EpochEntry(*map(int, line.split(" "))) for line in lines]
    except (ValueError, TypeError):
        _damaged(path, "an entry is not '<epoch> <start offset>'")
    if any(min(entry) < 0 for entry in entries):
        _damaged(path, "a number is negative")
    if any(entry.epoch > EPOCH_MAX for entry in entries):
        _damaged(path, f"an epoch is larger than {EPOCH_MAX}")
    for before, after in pairwise(entries):
        if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
            _damaged(path, f"'{after.epoch} {after.start_offset}' does not follow the one before")
    return entries


def write_epochs(disk: Disk, directory: str, entries: Sequence[EpochEntry]) -> None:
    lines = [f"{entry.epoch} {entry.start_offset}" for entry in entries]
    _write(disk, os.path.join(directory, EPOCHS), lines)


def read_start_offset(directory: str, topic_partition: TopicPartition) -> int | None:
    """The start offset recorded in this directory (a partition's, or Kafka's data directory)."""
    return _read_offset(os.path.join(directory, START_OFFSET), topic_partition)


def write_start_offset(
    disk: Disk, directory: str, topic_partition: TopicPartition, offset: int
) -> None:
    _write_offset(disk, os.path.join(directory, START_OFFSET), topic_partition, offset)


def read_cleaned_offset(directory: str, topic_partition: TopicPartition) -> int:
    """Where the part of the log begins that no compaction has seen."""
    return _read_offset(os.path.join(directory, CLEANED_OFFSET), topic_partition) or 0


def write_cleaned_offset(
    disk: Disk, directory: str, topic_partition: TopicPartition, offset: int
) -> None:
    _write_offset(disk, os.path.join(directory, CLEANED_OFFSET), topic_partition, offset)


def read_recovery_point(directory: str, topic_partition: TopicPartition) -> int:
    """Where the log ended when it was last closed in order: it cannot end before."""
    return _read_offset(os.path.join(directory, RECOVERY_POINT), topic_partition) or 0


def write_recovery_point(
    disk: Disk, directory: str, topic_partition: TopicPartition, offset: int
) -> None:
    _write_offset(disk, os.path.join(directory, RECOVERY_POINT), topic_partition, offset)


def _read_offset(path: str, topic_partition: TopicPartition) -> int | None:
    topic, partition = topic_partition
    try:
        for line in _read(path) or ():
            name, number, offset = line.split(" ")
            if name == topic and int(number) == partition:
                return int(offset)
    except ValueError:
        _damaged(path, "an entry is not '<topic> <partition> <offset>'")
    return None


def _write_offset(disk: Disk, path: str, topic_partition: TopicPartition, offset: int) -> None:
    line = f"{topic_partition.topic} {topic_partition.partition} {offset}"
    _write(disk, path, [line])


def _read(path: str) -> list[str] | None:
    data = read_file(path)
    if data is None:
        return None
    lines = data.decode("utf-8", "replace").splitlines()
    if not lines:
        return []  # Kafka creates the file empty and fills it later
    if lines[0] != _VERSION:
        _damaged(path, f"version {lines[0][:20]!r}, expected {_VERSION!r}")
    count = lines[1] if len(lines) > 1 else ""
    if count != str(len(lines) - 2):
        _damaged(path, f"{max(len(lines) - 2, 0)} entries where the count says {count[:20]!r}")
    return lines[2:]


def _write(disk: Disk, path: str, lines: Iterable[str]) -> None:
    entries = list(lines)
    text = "\n".join([_VERSION, str(len(entries)), *entries, ""])
    write_file_atomically(disk, path, text.encode())


def _damaged(path: str, found: str) -> NoReturn:
    raise CorruptLog(path, 0, found, _ADVICE[os.path.basename(path)])
