"""Removing a partition for good: one rename makes it gone, the files follow.

A crash in between leaves a directory whose name says what it is; the next opening of the store
finishes the work. Only files that Kafka or we write are removed: a directory that holds anything
else stays, with that in it.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress

from drumbeat.log.files import sync_directory
from drumbeat.log.history import history_files
from drumbeat.log.locks import lock_directory
from drumbeat.log.names import (
    HISTORY,
    deleted_directory_name,
    is_deleted_directory,
    is_partition_file,
)
from drumbeat.log.port import TopicPartition

_logger = logging.getLogger(__name__)


def remove_partition(directory: str, topic_partition: TopicPartition) -> None:
    """Raises LogHeld if another process owns it; a directory that is not there is no error."""
    try:
        lock = lock_directory(directory)
    except FileNotFoundError:
        return
    try:
        status = os.fstat(lock)
        unique = (status.st_ino << 64) | status.st_ctime_ns
        data_directory = os.path.dirname(directory)
        doomed = os.path.join(data_directory, deleted_directory_name(topic_partition, unique))
        os.rename(directory, doomed)
        sync_directory(data_directory)
        _remove(doomed)
    finally:
        os.close(lock)


def finish_deletions(data_directory: str) -> None:
    for name in os.listdir(data_directory):
        if is_deleted_directory(name):
            _remove(os.path.join(data_directory, name))


def _remove(directory: str) -> None:
    for file in history_files(directory):
        _unlink(file.path)
    with suppress(OSError):  # absent, or it holds other files
        os.rmdir(os.path.join(directory, HISTORY))
    for name in os.listdir(directory):
        if is_partition_file(name):
            _unlink(os.path.join(directory, name))
    try:
        os.rmdir(directory)
    except OSError as error:
        _logger.warning("%s: not removed, it holds other files: %s", directory, error.strerror)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
