"""Writes of many buffers, of which the system may take fewer bytes at a time than it is given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from drumbeat.log.files import Disk

IOV_MAX: Final = os.sysconf("SC_IOV_MAX")
JOINED_BYTES_MAX: Final = 64 << 10  # below this one copy is cheaper than to handle many buffers


def joined(buffers: list[bytes | memoryview], size: int) -> list[bytes | memoryview]:
    """The same `size` bytes, in one buffer if they are few."""
    if len(buffers) > 1 and size <= JOINED_BYTES_MAX:
        return [b"".join(buffers)]
    return buffers


def write_all(disk: Disk, fd: int, buffers: Sequence[bytes | memoryview], position: int) -> None:
    """Write every byte."""
    if len(buffers) == 1 and disk.write(fd, buffers, position) == len(buffers[0]):
        return  # as nearly always
    for first in range(0, len(buffers), IOV_MAX):
        position = _write_group(disk, fd, buffers[first : first + IOV_MAX], position)


def _write_group(disk: Disk, fd: int, group: Sequence[bytes | memoryview], position: int) -> int:
    left = sum(map(len, group))
    while left:
        written = disk.write(fd, group, position)
        position += written
        left -= written
        if left:
            group = _unwritten(group, written)
    return position


def _unwritten(buffers: Sequence[bytes | memoryview], written: int) -> list[bytes | memoryview]:
    for index, buffer in enumerate(buffers):
        if written < len(buffer):
            return [memoryview(buffer)[written:], *buffers[index + 1 :]]
        written -= len(buffer)
    return []
