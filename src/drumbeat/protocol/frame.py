"""Frames from arbitrary chunks: an int32 length, then that many bytes.

The decoder holds what has arrived and nothing more: an announced length allocates no memory.
"""

import struct
from typing import Final

from drumbeat.protocol.errors import ProtocolError

LENGTH_BYTES: Final = 4
_length: Final = struct.Struct(">i")
_unpack_length: Final = _length.unpack_from  # finding it takes half as long as calling it

# How other protocols begin, for the log line of whoever pointed the wrong client at us.
_FOREIGN = (
    (
        (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI "),
        "an HTTP request",
    ),
    ((b"\x16\x03",), "a TLS hello on a plaintext listener"),
    ((b"SSH-",), "an SSH client"),
)


class FrameDecoder:
    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self.partial = bytearray()  # the beginning of a frame whose rest is still to come

    def feed(self, buffer: bytes | memoryview, received: int) -> list[bytes]:
        """The frames that the first so many bytes of `buffer` complete, without their lengths."""
        if not self.partial:
            size = received - LENGTH_BYTES
            if 0 <= size <= self._frame_bytes_max and _unpack_length(buffer)[0] == size:
                return [bytes(buffer[LENGTH_BYTES:received])]  # one and nothing else, as usual
            chunk = buffer[:received]
            frames, position = self._split(chunk)
            self.partial += chunk[position:]
            return frames
        self.partial += buffer[:received]
        frames, position = self._split(self.partial)
        if position:
            del self.partial[:position]
        return frames

    def _split(self, data: bytes | bytearray | memoryview) -> tuple[list[bytes], int]:
        frames: list[bytes] = []
        position, end = 0, len(data)
        while end - position >= LENGTH_BYTES:
            (size,) = _length.unpack_from(data, position)
            if not 0 <= size <= self._frame_bytes_max:
                if frames:
                    break  # what came before it is answered first; the next call refuses it
                raise ProtocolError(self._absurd(size, bytes(data[position : position + 4])))
            stop = position + LENGTH_BYTES + size
            if stop > end:
                break
            frames.append(bytes(memoryview(data)[position + LENGTH_BYTES : stop]))
            position = stop
        return frames, position

    def _absurd(self, size: int, first: bytes) -> str:
        for beginnings, what in _FOREIGN:
            if first.startswith(beginnings):
                return f"this looks like {what}, not like Kafka's protocol"
        return f"frame of {size} bytes announced; the limit is {self._frame_bytes_max}"


def frame(*parts: bytes) -> bytes:
    """The parts as one frame."""
    return b"".join((_length.pack(sum(map(len, parts))), *parts))
