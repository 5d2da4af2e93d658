"""Ownership of a directory between processes.

A lock lives as long as its descriptor: a killed process leaves none behind. `flock` guards a
partition's directory and the data directory; the data directory's `.lock` file also carries the
POSIX lock that Apache Kafka takes, so that neither opens what the other one is using.
"""

from __future__ import annotations

import fcntl
import os

from drumbeat.log.errors import LogError, LogHeld
from drumbeat.log.files import FILE_MODE
from drumbeat.log.names import LOCK


def lock_directory(path: str) -> int:
    """A descriptor that holds the directory until it is closed; raises LogHeld."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except NotADirectoryError:
        raise LogError(f"{path}: not a directory; move it away") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = lock_holder(fd)
        os.close(fd)
        raise LogHeld(path, pid) from None
    return fd


def is_directory_of(fd: int, path: str) -> bool:
    """Whether the path still leads to the directory that was locked."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


class DataDirectoryLock:
    """The whole data directory, held for one process."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._fds: list[int] = []

    def acquire(self) -> None:
        # The directory first: closing any descriptor of `.lock` drops the POSIX lock of the
        # whole process, so a second store here must fail before it opens that file.
        self._fds.append(lock_directory(self._directory))
        path = os.path.join(self._directory, LOCK)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        self._fds.append(fd)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pid = lock_holder(fd)
            self.release()
            raise LogHeld(self._directory, pid) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        while self._fds:
            os.close(self._fds.pop())


def lock_holder(fd: int) -> int | None:
    """The process that holds a lock on the file, if the kernel tells (/proc/locks on Linux)."""
    status = os.fstat(fd)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    wanted = f"{device}:{status.st_ino}"
    try:
        with open("/proc/locks", encoding="ascii") as table:
            lines = table.readlines()
    except OSError:
        return None
    for line in lines:
        # "1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF"; waiters carry "->" after the number.
        fields = line.split()
        if len(fields) >= 6 and fields[5] == wanted and int(fields[4]) > 0:
            return int(fields[4])
    return None
