"""Response frames straight from the socket.

Small frames share one buffer. The rest of a large one is received straight into its place, so that
a fetched megabyte is not copied about while it arrives.
"""

from __future__ import annotations

import struct

from drumbeat.client.net import diagnosis
from drumbeat.protocol.errors import ProtocolError

FRAME_BYTES_MAX = 1 << 30
SHARED_BYTES = 64 * 1024
KEPT_BYTES_MAX = 4 << 20  # memory that is used again; for fresh memory the system zeroes pages

_LENGTH = struct.Struct(">i")


class FrameReceiver:
    """`frame_bytes_max` may be changed between frames."""

    def __init__(self, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._shared = memoryview(bytearray(SHARED_BYTES))
        self._shared_end = 0
        self._large: memoryview | None = None  # exactly as long as the frame
        self._large_end = 0
        self._kept = memoryview(b"")  # memory of the last large frame

    def buffer(self) -> memoryview:
        """Where the next bytes go; never empty."""
        if self._large is not None:
            return self._large[self._large_end :]
        return self._shared[self._shared_end :]

    def received(self, count: int) -> list[bytes]:
        """The frames that `count` more bytes complete, without their lengths."""
        if self._large is None:
            self._shared_end += count
            return self._split()
        self._large_end += count
        if self._large_end < len(self._large):
            return []
        large, self._large = self._large, None
        return [bytes(large)]

    def _split(self) -> list[bytes]:
        shared, end, position = self._shared, self._shared_end, 0
        frames: list[bytes] = []
        while end - position >= _LENGTH.size:
            start = position + _LENGTH.size
            size = self._size_at(position)
            if start + size > end:
                if size > SHARED_BYTES - _LENGTH.size:
                    self._begin_large(size, shared[start:end])
                    return frames
                break
            frames.append(bytes(shared[start : start + size]))
            position = start + size
        if position:
            shared[: end - position] = bytes(shared[position:end])
            self._shared_end = end - position
        return frames

    def _begin_large(self, size: int, beginning: memoryview) -> None:
        if len(self._kept) < size:
            self._kept = memoryview(bytearray(size))
        self._large = self._kept[:size]
        if size > KEPT_BYTES_MAX:
            self._kept = memoryview(b"")
        self._large_end = len(beginning)
        self._large[: self._large_end] = beginning
        self._shared_end = 0

    def _size_at(self, position: int) -> int:
        size: int = _LENGTH.unpack_from(self._shared, position)[0]
        if 0 <= size <= self.frame_bytes_max:
            return size
        first = bytes(self._shared[position : position + _LENGTH.size])
        raise ProtocolError(diagnosis.not_kafka(first, self.frame_bytes_max))
