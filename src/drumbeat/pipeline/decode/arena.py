"""Bytes that are read at many positions at once.

One fancy index over a view that begins at every byte fetches up to 64 bytes per position for the
price of one, whatever their alignment. Positions may be nonsense, because lengths in damaged data
are: reads go no further than the slack behind the bytes, and callers check what they got.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from drumbeat.protocol.varint import Buffer

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SLACK_BYTES: Final = 256
VARINT_BYTES_MAX: Final = 5
VARLONG_BYTES_MAX: Final = 10

_SLACK = bytes(SLACK_BYTES)
_PAYLOAD = np.uint8(0x7F)
_OVERLONG = np.uint64(2**64 - 1)  # the most negative number, which no caller lets pass as a length


class Arena:
    """The first `size` bytes of `data`, behind which there has to be slack."""

    __slots__ = ("_bytes", "data", "size")

    def __init__(self, data: bytearray, size: int) -> None:
        assert len(data) - size >= SLACK_BYTES
        self.data = data
        self.size = size
        self._bytes = np.frombuffer(data, np.uint8)

    @classmethod
    def of(cls, *parts: Buffer) -> Arena:
        data = bytearray().join((*parts, _SLACK))
        return cls(data, len(data) - SLACK_BYTES)

    def bytes(self, start: int, end: int) -> bytes:
        return bytes(memoryview(self.data)[start:end])

    def gather(self, layout: np.dtype[Any], positions: Ints) -> npt.NDArray[Any]:
        """What stands at each position, read as `layout`, which takes at most the slack."""
        opaque = np.dtype(f"V{layout.itemsize}")
        return self.everywhere(opaque)[np.minimum(positions, self.size)].view(layout)

    def everywhere(self, layout: np.dtype[Any]) -> npt.NDArray[Any]:
        """What stands at every position there is, the end included."""
        return np.ndarray((self.size + 1,), layout, self.data, strides=(1,))

    def byte(self, positions: Ints) -> npt.NDArray[np.uint8]:
        return self._bytes.take(positions, mode="clip")

    def varints(self, positions: Ints, bytes_max: int = VARINT_BYTES_MAX) -> tuple[Ints, Ints]:
        """The zigzag number at each position, and the position behind it."""
        byte = self.byte(positions)
        is_open = byte > _PAYLOAD
        if not is_open.any():
            return _unzigzag(byte).astype(np.int64), positions + 1
        # Nearly all that are longer take two bytes, so the second is read for all at once.
        second = self.byte(positions + 1)
        values = (byte & _PAYLOAD).astype(np.uint64)
        values |= np.where(is_open, second & _PAYLOAD, 0).astype(np.uint64) << np.uint64(7)
        after = positions + 1 + is_open
        unfinished = np.flatnonzero(is_open & (second > _PAYLOAD))
        for shift in range(14, 7 * bytes_max, 7):
            if not unfinished.size:
                break
            byte = self.byte(after[unfinished])
            values[unfinished] |= (byte & _PAYLOAD).astype(np.uint64) << np.uint64(shift)
            after[unfinished] += 1
            unfinished = unfinished[byte > _PAYLOAD]
        values[unfinished] = _OVERLONG
        return _unzigzag(values), after


def _unzigzag(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Unsigned numbers to signed ones of the same width."""
    signed = values.dtype.str.replace("u", "i")
    one = values.dtype.type(1)
    decoded: npt.NDArray[Any] = (values >> one).view(signed) ^ -(values & one).view(signed)
    return decoded
