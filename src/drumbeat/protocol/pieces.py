"""A message of which some parts are not in memory: records that stay in their file until sent.

An encoder asks such a part for nothing but its length. Who sends the message knows what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import groupby
from typing import Any

_IN_MEMORY = (bytes, bytearray, memoryview)


class Pieces:
    """What bytes would be, part by part: no two neighbours are both in memory."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Iterable[Sized]) -> None:
        self.parts: tuple[Any, ...] = tuple(_merged(parts))
        self.size = sum(map(len, self.parts))

    def __len__(self) -> int:
        return self.size

    def __radd__(self, head: bytes) -> Pieces:
        return Pieces((head, *self.parts))


def join(parts: Sequence[Any]) -> bytes | Pieces:
    """One after the other: as bytes if all are in memory."""
    if all(map(_is_in_memory, parts)):
        return b"".join(parts)
    return Pieces(parts)


def _merged(parts: Iterable[Any]) -> Iterable[Any]:
    for is_in_memory, group in groupby(_flat(parts), _is_in_memory):
        if is_in_memory:
            yield b"".join(group)
        else:
            yield from group


def _flat(parts: Iterable[Any]) -> Iterable[Any]:
    for part in parts:
        if isinstance(part, Pieces):
            yield from part.parts
        else:
            yield part


def _is_in_memory(part: object) -> bool:
    return isinstance(part, _IN_MEMORY)
