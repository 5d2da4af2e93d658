"""Batch headers of a buffer as arrays: where batches begin, whether they are sound, what they say.

Only the lengths are followed, and the checksums compared, batch by batch; the rest of the 61 bytes
is read for all batches at once.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from drumbeat.pipeline.decode.arena import Arena, Flags, Ints
from drumbeat.pipeline.decode.errors import BadBatch
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    CorruptBatch,
    read_header,
)

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("batch_length", ">i4"),
        ("partition_leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
_CHECKED_AT: Final = 21  # the checksum covers everything from here on
_BATCH_LENGTH_MIN: Final = HEADER_BYTES - LOG_OVERHEAD
_unpack_length_and_crc = struct.Struct(">8xi5xI").unpack_from


@dataclass(frozen=True, slots=True)
class Batches:
    """Some batches of a buffer: where each begins, and its header."""

    positions: Ints
    headers: npt.NDArray[Any]  # of dtype HEADER

    def __len__(self) -> int:
        return len(self.positions)

    def part(self, chosen: slice | Flags) -> Batches:
        return Batches(self.positions[chosen], self.headers[chosen])

    def ints(self, name: str) -> Ints:
        return self.headers[name].astype(np.int64)

    @property
    def sizes(self) -> Ints:
        return self.ints("batch_length") + LOG_OVERHEAD

    @property
    def last_offsets(self) -> Ints:
        return self.ints("base_offset") + self.ints("last_offset_delta")


class Walk(NamedTuple):
    """The batches with which a buffer begins, and where they end.

    If nothing is `bad`, whatever stands at the end is the beginning of a batch that is cut off.
    """

    batches: Batches
    end: int
    bad: BadBatch | None


def walk(arena: Arena, next_offset: int = 0) -> Walk:
    """Follow the batches from the start on; their offsets rise, from at least `next_offset` on."""
    found, end = _chain(arena)
    positions = np.array(found, dtype=np.int64)
    batches = Batches(positions, arena.gather(HEADER, positions))
    unsound = np.flatnonzero(~_is_sound(batches, next_offset))
    if not unsound.size:
        problem = _problem(arena, end)
        return Walk(batches, end, None if problem is None else BadBatch(end, problem))
    first = int(unsound[0])
    end = found[first]
    problem = _problem(arena, end) or _disorder(batches, first, next_offset)
    return Walk(batches.part(slice(first)), end, BadBatch(end, problem))


def _chain(arena: Arena) -> tuple[list[int], int]:
    """Positions of all batches that are whole and as their checksum says, and where they end."""
    positions: list[int] = []
    data, limit = arena.data, arena.size
    view = memoryview(data)
    position, last = 0, limit - HEADER_BYTES
    while position <= last:
        length, crc = _unpack_length_and_crc(data, position)
        end = position + LOG_OVERHEAD + length
        if length < _BATCH_LENGTH_MIN or end > limit:
            break
        # Without its third argument the function keeps the GIL for all but very large batches,
        # and parsing the argument would take as long as most checksums.
        if crc32c(view[position + _CHECKED_AT : end]) != crc:
            break
        positions.append(position)
        position = end
    return positions, position


def _problem(arena: Arena, position: int) -> str | None:
    """What is wrong with what stands at `position`; None if it is sound, or cut off."""
    if arena.size - position < HEADER_BYTES:
        return None
    try:
        header = read_header(arena.bytes(position, position + HEADER_BYTES))
    except CorruptBatch as error:
        return str(error).removesuffix(" at position 0")
    end = position + header.size
    if end > arena.size:
        return None
    actual = crc32c(memoryview(arena.data)[position + _CHECKED_AT : end])
    if actual == header.crc:
        return None
    return f"the batch's CRC-32C is {actual:#010x}, its header says {header.crc:#010x}"


def _is_sound(batches: Batches, next_offset: int) -> Flags:
    headers = batches.headers
    is_sound = (
        (headers["magic"] == MAGIC)
        & (headers["last_offset_delta"] >= 0)
        & (headers["record_count"] >= 0)
        & (headers["attributes"] & CODEC_MASK <= max(Codec))
        & (batches.ints("base_offset") >= _next_offsets(batches, next_offset))
    )
    return np.asarray(is_sound, dtype=np.bool_)


def _next_offsets(batches: Batches, next_offset: int) -> Ints:
    """The least that each batch may begin with."""
    return np.concatenate(([next_offset], batches.last_offsets + 1))[:-1]


def _disorder(batches: Batches, place: int, next_offset: int) -> str:
    expected = _next_offsets(batches, next_offset)[place]
    return f"offset {batches.ints('base_offset')[place]} follows {expected - 1}"
