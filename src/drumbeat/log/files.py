"""The few file operations everything else is built on, each as durable as its name says.

`Disk` holds the calls that a failing disk makes fail; tests pass one that fails on purpose.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from drumbeat.log.writing import write_all

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600

# EFBIG is what a process meets at its own file size limit: no more space for it, as with a quota.
FULL_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class SyncError(OSError):
    """A sync failed: the kernel may have dropped the data, so trying again proves nothing."""


class Disk:
    """Writes and syncs as the operating system does them."""

    def create(self, path: str, *, flags: int = 0) -> int:
        """A descriptor for reading and writing on a file, which is created if absent."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, FILE_MODE)

    def write(self, fd: int, buffers: Sequence[bytes | memoryview], position: int) -> int:
        """One vectored write; returns how many bytes it took, which may be fewer than given."""
        return os.pwritev(fd, buffers, position)

    def sync(self, fd: int) -> None:
        os.fdatasync(fd)

    @property
    def has_own_sync(self) -> bool:
        """Whether `sync` does more than the system's, so that none may be made without it."""
        return type(self).sync is not Disk.sync

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def rename(self, path: str, new_path: str) -> None:
        os.rename(path, new_path)

    def remove(self, path: str) -> None:
        """A file that is not there is no error."""
        with suppress(FileNotFoundError):
            os.unlink(path)


def sync_file(disk: Disk, fd: int) -> None:
    try:
        disk.sync(fd)
    except OSError as error:
        raise SyncError(error.errno, f"sync failed: {error.strerror}") from error


def write_file(disk: Disk, path: str, data: bytes) -> None:
    """Replace a file's content and make it durable; not atomic."""
    fd = disk.create(path, flags=os.O_TRUNC)
    try:
        write_all(disk, fd, [data], 0)
        sync_file(disk, fd)
    finally:
        os.close(fd)


def write_file_atomically(disk: Disk, path: str, data: bytes) -> None:
    """After a crash the file holds the old content or the new, whole; on return the new."""
    temporary = path + ".tmp"
    write_file(disk, temporary, data)
    os.rename(temporary, path)
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    """Make created, renamed and removed names durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        raise SyncError(error.errno, f"sync failed: {error.strerror}", path) from error
    finally:
        os.close(fd)


def make_directory(path: str) -> bool:
    """Create a directory, durably; False if it was there."""
    try:
        os.mkdir(path, DIRECTORY_MODE)
    except FileExistsError:
        return False
    sync_directory(os.path.dirname(path))
    return True


def read_file(path: str) -> bytes | None:
    """The whole of a small file, or None if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


@contextmanager
def open_for_reading(path: str) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def read_exactly(fd: int, size: int, position: int) -> bytes:
    """`size` bytes, or fewer only where the file ends."""
    data = os.pread(fd, size, position)
    if len(data) in (0, size):
        return data
    parts = [data]
    while data and (missing := size - sum(map(len, parts))):
        data = os.pread(fd, missing, position + size - missing)
        parts.append(data)
    return b"".join(parts)
