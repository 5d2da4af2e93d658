"""The records sections of some batches, side by side and decompressed.

Where no batch is compressed, which is what coordinators write, nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from drumbeat.pipeline.decode.arena import Arena, Ints
from drumbeat.pipeline.decode.errors import BadBatch
from drumbeat.pipeline.decode.headers import Batches
from drumbeat.protocol.compression import Codec, DecompressionError, decompress
from drumbeat.protocol.record_batch import CODEC_MASK, HEADER_BYTES
from drumbeat.protocol.records import DECOMPRESSED_BYTES_MAX

ROWS_MAX: Final = 50_000
DECOMPRESSED_TOTAL_MAX: Final = 32 << 20  # one more batch may come on top


class Sections(NamedTuple):
    """Batches with their records: those of the n-th stand at `starts[n]` to `ends[n]`.

    The `bad` one behind them, if any, cannot be decompressed.
    """

    batches: Batches
    arena: Arena
    starts: Ints
    ends: Ints
    bad: BadBatch | None = None


def sections(arena: Arena, batches: Batches) -> Iterator[Sections]:
    """All the batches, in portions of at most ROWS_MAX records unless one batch has more."""
    rows_before = np.concatenate(([0], np.cumsum(batches.ints("record_count"))))
    first = 0
    while first < len(batches):
        stop = int(np.searchsorted(rows_before, rows_before[first] + ROWS_MAX, "right")) - 1
        portion = _portion(arena, batches.part(slice(first, max(stop, first + 1))))
        yield portion
        if portion.bad is not None:
            return
        first += len(portion.batches)


def _portion(arena: Arena, batches: Batches) -> Sections:
    if (batches.headers["attributes"] & CODEC_MASK).any():
        return _decompressed(arena, batches)
    starts = batches.positions + HEADER_BYTES
    return Sections(batches, arena, starts, batches.positions + batches.sizes)


def _decompressed(arena: Arena, batches: Batches) -> Sections:
    """As many of the batches as memory allows, up to the first that is damaged."""
    parts: list[bytes] = []
    total = 0
    bad = None
    view = memoryview(arena.data)
    codecs = (batches.headers["attributes"] & CODEC_MASK).tolist()
    spans = zip(batches.positions.tolist(), batches.sizes.tolist(), strict=True)
    for codec, (position, size) in zip(codecs, spans, strict=True):
        try:
            parts.append(_section(codec, view[position + HEADER_BYTES : position + size]))
        except DecompressionError as error:
            bad = BadBatch(position, f"records cannot be decompressed: {error}")
            break
        total += len(parts[-1])
        if total > DECOMPRESSED_TOTAL_MAX:
            break
    bounds = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
    found = batches.part(slice(len(parts)))
    return Sections(found, Arena.of(*parts), bounds[:-1], bounds[1:], bad)


def _section(codec: int, data: memoryview) -> bytes:
    if not data:
        return b""  # compaction leaves such batches to remember a producer's sequence
    return decompress(Codec(codec), data, bytes_max=DECOMPRESSED_BYTES_MAX)
