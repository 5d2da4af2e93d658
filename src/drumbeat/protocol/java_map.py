"""A HashMap's order of iteration, followed key by key as the map is filled.

The leader of a group iterates over such maps, so they decide who gets what. A bucket with a long
chain of keys makes a small table grow; where a large table would turn the chain into a tree
instead, the tree's order is not followed. Only keys made for the purpose get there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from drumbeat.protocol.java_hash import bucket, java_hash

Key = TypeVar("Key", bound=Hashable)

_TABLE_SIZE_MIN = 16
_TABLE_SIZE_WITH_TREES = 64
_CHAIN_MAX_PUT = 8
_CHAIN_MAX_COMPUTED = 7


class JavaMapOrder(Generic[Key]):
    """The keys of a HashMap, or the elements of a HashSet. It never shrinks."""

    __slots__ = ("_entries", "_inserted", "_size")

    def __init__(self) -> None:
        self._size = _TABLE_SIZE_MIN
        self._inserted = 0
        self._entries: dict[Key, tuple[int, int]] = {}  # hash code, place within the bucket

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: Key, hash_code: int) -> None:
        """put or add: a new key goes to the end of its bucket, and the table grows after it."""
        if key not in self._entries:
            self._inserted += 1
            self._insert(key, hash_code, self._inserted, _CHAIN_MAX_PUT)
            self._grow_if_full()

    def compute_if_absent(self, key: Key, hash_code: int) -> None:
        """A new key goes to the front of its bucket, and the table has grown before it."""
        self._grow_if_full()
        if key not in self._entries:
            self._inserted += 1
            self._insert(key, hash_code, -self._inserted, _CHAIN_MAX_COMPUTED)

    def remove(self, key: Key) -> None:
        del self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(sorted(self._entries, key=self._position))

    def first(self) -> Key:
        return min(self._entries, key=self._position)

    def _position(self, key: Key) -> tuple[int, int]:
        hash_code, place = self._entries[key]
        return bucket(hash_code, self._size), place

    def _insert(self, key: Key, hash_code: int, place: int, chain_max: int) -> None:
        self._entries[key] = (hash_code, place)
        if self._size < _TABLE_SIZE_WITH_TREES and self._chain(hash_code) > chain_max:
            self._size *= 2

    def _chain(self, hash_code: int) -> int:
        """How many keys share its bucket."""
        own = bucket(hash_code, self._size)
        return sum(bucket(other, self._size) == own for other, _ in self._entries.values())

    def _grow_if_full(self) -> None:
        if len(self._entries) > self._size * 3 // 4:
            self._size *= 2


def java_map_order(keys: Iterable[str]) -> list[str]:
    """The order of a HashMap or HashSet into which `keys` were put one after the other."""
    order = JavaMapOrder[str]()
    for key in keys:
        order.put(key, java_hash(key))
    return list(order)
