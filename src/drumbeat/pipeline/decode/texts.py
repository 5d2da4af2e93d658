"""Byte strings of an arena as Arrow strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.decode.arena import Arena, Flags, Ints


def read_texts(arena: Arena, starts: Ints, lengths: Ints) -> pa.Array:
    """The strings that begin at `starts`, which lie within the arena; null if not UTF-8."""
    strings = read_bytes(arena, starts, lengths)
    try:
        return strings.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(map(_text, strings.to_pylist()), pa.string())


def is_valid(array: pa.Array) -> Flags:
    flags: Flags = array.is_valid().to_numpy(zero_copy_only=False)
    return flags


def read_bytes(arena: Arena, starts: Ints, lengths: Ints) -> pa.Array:
    """The byte strings that begin at `starts`, which lie within the arena."""
    bounds = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    moves = np.repeat(starts - bounds[:-1], lengths)
    data = arena.byte(moves + np.arange(len(moves)))
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(starts), buffers)


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
