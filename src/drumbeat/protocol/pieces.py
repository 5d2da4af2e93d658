"""A message of which some parts are not in memory: records that stay in their file until sent.

An encoder asks such a part for nothing but its length. Who sends the message knows what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

_IN_MEMORY = (bytes, bytearray, memoryview)


class Pieces:
    """What bytes would be, part by part: no two neighbours are both in memory."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Iterable[Sized]) -> None:
        self.parts: tuple[Any, ...] = _merged(parts)
        self.size = sum(map(len, self.parts))

    def __len__(self) -> int:
        return self.size

    def __radd__(self, head: bytes) -> Pieces:
        return Pieces((head, self))


def join(parts: Sequence[Any]) -> bytes | Pieces:
    """One after the other: as bytes if all are in memory."""
    for part in parts:
        if not isinstance(part, _IN_MEMORY):
            return Pieces(parts)
    return b"".join(parts)


def _merged(parts: Iterable[Any]) -> tuple[Any, ...]:
    merged: list[Any] = []
    in_memory: list[Any] = []  # since the last that is not
    for part in parts:
        for one in part.parts if isinstance(part, Pieces) else (part,):
            if isinstance(one, _IN_MEMORY):
                in_memory.append(one)
                continue
            if in_memory:
                merged.append(b"".join(in_memory))
                in_memory.clear()
            merged.append(one)
    if in_memory:
        merged.append(b"".join(in_memory))
    return tuple(merged)
