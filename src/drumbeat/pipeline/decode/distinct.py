"""Which of many byte strings are the same.

A log says the same few names over and over, and each is to be read once. Strings are fetched
together at one width, blanked behind their end, and given to Arrow's hash table with their length
at the very end, so that two are one only if all their bytes are the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drumbeat.pipeline.decode.arena import SLACK_BYTES, Arena, Ints

Codes = npt.NDArray[np.int32]

_WIDTHS: Final = (64, 128, SLACK_BYTES)
_LENGTH: Final = np.dtype("<u2")  # in the last bytes of every width
_WORD: Final = np.dtype("u8")


class Distinct(NamedTuple):
    """The n-th string is the same as that at `firsts[codes[n]]`, the first of its kind."""

    codes: Codes
    firsts: Ints


def distinct(arena: Arena, starts: Ints, lengths: Ints) -> Distinct:
    """Of the strings that begin at `starts` and lie within the arena."""
    codes = _codes(arena, starts, lengths)
    firsts = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    firsts[codes[::-1]] = np.arange(len(codes))[::-1]  # of several, the last assignment stays
    return Distinct(codes, firsts)


def _codes(arena: Arena, starts: Ints, lengths: Ints) -> Codes:
    longest = int(lengths.max(initial=0))
    for width in _WIDTHS:
        if longest <= width - _LENGTH.itemsize:
            return _codes_within(arena, starts, lengths, width)
    # Those that are long are so few that plain Python will do.
    is_short = lengths <= _WIDTHS[0] - _LENGTH.itemsize
    codes = np.empty(len(starts), np.int32)
    codes[is_short] = _codes_within(arena, starts[is_short], lengths[is_short], _WIDTHS[0])
    taken = int(codes[is_short].max(initial=-1)) + 1
    numbers: dict[bytes, int] = {}
    for row in np.flatnonzero(~is_short).tolist():
        value = arena.bytes(int(starts[row]), int(starts[row] + lengths[row]))
        codes[row] = numbers.setdefault(value, len(numbers)) + taken
    return codes


def _codes_within(arena: Arena, starts: Ints, lengths: Ints, width: int) -> Codes:
    blanks = _blanks(width)
    frames = arena.gather(blanks.dtype, starts)
    words = frames.view(_WORD)
    words &= blanks[lengths].view(_WORD)
    per_frame = width // _LENGTH.itemsize
    frames.view(_LENGTH)[per_frame - 1 :: per_frame] = lengths
    codes: Codes = encode_fixed(frames).indices.to_numpy()
    return codes


def encode_fixed(strings: npt.NDArray[Any]) -> pa.DictionaryArray:
    """Strings that all have the same length, each held once."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(strings))]
    kind = pa.binary(strings.dtype.itemsize)
    array = pa.FixedSizeBinaryArray.from_buffers(kind, len(strings), buffers)
    return array.dictionary_encode()


@cache
def _blanks(width: int) -> npt.NDArray[Any]:
    """For each length, as many bytes that are all ones, and then zeros."""
    lengths = np.arange(width + 1)[:, np.newaxis]
    is_inside = np.arange(width) < lengths
    return np.where(is_inside, np.uint8(0xFF), np.uint8(0)).view(f"V{width}").ravel()
