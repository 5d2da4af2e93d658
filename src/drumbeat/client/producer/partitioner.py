"""Which partition a record goes to: by its key as Java's producer does, or sticky without one.

Pure: the dice are an argument.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

DrawBelow: TypeAlias = Callable[[int], int]

_MULTIPLIER: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_UINT32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF  # Java drops the sign bit before it takes the remainder


def murmur2(data: bytes) -> int:
    """The 32-bit hash of org.apache.kafka.common.utils.Utils, unsigned."""
    length = len(data)
    words = length >> 2
    result = _SEED ^ length
    for word in struct.unpack_from(f"<{words}I", data):
        mixed = word * _MULTIPLIER & _UINT32
        mixed = (mixed ^ mixed >> 24) * _MULTIPLIER & _UINT32
        result = result * _MULTIPLIER & _UINT32 ^ mixed
    if tail := data[words << 2 :]:
        result = (result ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _UINT32
    result = (result ^ result >> 13) * _MULTIPLIER & _UINT32
    return result ^ result >> 15


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Where Java's producer would put it, so that both can write the same topic."""
    return (murmur2(key) & _POSITIVE) % partition_count


class StickyPartitioner:
    """Records without a key: one partition until a batch's worth of bytes is there (KIP-794).

    Counting bytes, not batches, keeps the partitions even when some brokers are slow. A turn ends
    where a batch ends, if that comes before twice its bytes: no small batch is left behind.
    """

    __slots__ = ("_draw_below", "_turn_bytes", "_turn_bytes_max", "partition")

    def __init__(self, batch_size: int, draw_below: DrawBelow) -> None:
        self._turn_bytes = 0
        self._turn_bytes_max = max(batch_size, 1)
        self._draw_below = draw_below
        self.partition = -1

    def is_over(self, size: int, *, fits_batch: bool) -> bool:
        """Whether a record of `size` bytes begins another turn; counts it if not."""
        turn_bytes = self._turn_bytes + size
        is_last = turn_bytes > self._turn_bytes_max and not fits_batch
        if self.partition < 0 or is_last or turn_bytes > 2 * self._turn_bytes_max:
            return True
        self._turn_bytes = turn_bytes
        return False

    def begin(self, size: int, candidates: Sequence[int]) -> None:
        """Draw the partition of the next turn."""
        self.partition = candidates[self._draw_below(len(candidates))]
        self._turn_bytes = size
