"""Records that stay in their file until they are sent, because nobody here needs to see them.

The kernel passes them from the page cache to the socket. That costs a fraction of what reading
them into memory and writing them out again does. Kafka has the same, under the same name.
"""

from __future__ import annotations

import os

from drumbeat.log.files import read_exactly


class FileRecords:
    """A stretch of a segment that is durable and will not change.

    It has a descriptor of its own, so the segment may be closed, renamed or removed meanwhile. That
    is closed with the last reference: an answer can end in many ways, and none of them has to care.
    """

    __slots__ = ("_fd", "_position", "_size")

    def __init__(self, fd: int, position: int, size: int) -> None:
        self._fd = fd  # ours to close
        self._position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __del__(self) -> None:
        os.close(self._fd)

    def send(self, socket_fd: int, start: int) -> int:
        """Send from `start` on as much as the socket takes; returns how much that was."""
        return os.sendfile(socket_fd, self._fd, self._position + start, self._size - start)

    def read(self, start: int, size: int) -> bytes:
        """At most `size` bytes from `start` on."""
        return read_exactly(self._fd, min(size, self._size - start), self._position + start)
