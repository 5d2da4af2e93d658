"""Java's String.hashCode and HashMap order.

Clients see both: the first decides which partition of `__consumer_offsets` a group lives in, the
second the order of members, the election of a leader and which protocol wins a tied vote.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

_MASK: Final = 0xFFFF_FFFF
_SIGN: Final = 0x8000_0000
_TABLE_SIZE_MIN = 16
_CACHED = 65_536
_CACHED_LENGTH_MAX: Final = 255  # long names would make the cache large


def java_hash(text: str) -> int:
    """h = 31 * h + unit over the UTF-16 units, as a signed 32-bit integer."""
    h = 0
    for unit in _units(text):
        # Not 31 * h: compiled code multiplies small numbers only without making objects of them.
        h = ((h << 5) - h + unit) & _MASK
    return h - (1 << 32) if h & _SIGN else h


def _units(text: str) -> Sequence[int]:
    if text.isascii():
        return text.encode()
    data = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(data) // 2}H", data)


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of `__consumer_offsets` that holds a group's records."""
    is_long = len(group_id) > _CACHED_LENGTH_MAX
    h = java_hash(group_id) if is_long else _known_hash(group_id)
    # Java's abs(Integer.MIN_VALUE) is negative; Kafka takes 0 instead.
    return 0 if h == -_SIGN else abs(h) % partition_count


# Every request asks, and a heartbeat has little else to do. Of a single string: that needs no key
# to be made for the cache.
_known_hash: Final = lru_cache(_CACHED)(java_hash)


def table_size(count: int) -> int:
    """Buckets of a HashMap that has grown to `count` entries: it doubles above 3/4 full."""
    size = _TABLE_SIZE_MIN
    while count > size * 3 // 4:
        size *= 2
    return size


def bucket(h: int, size: int) -> int:
    h &= _MASK
    return (h ^ h >> 16) & (size - 1)


def hash_map_order(keys: Iterable[str], size: int) -> list[str]:
    """Keys in the order a HashMap of `size` buckets iterates; `keys` in order of insertion."""
    return sorted(keys, key=lambda key: bucket(java_hash(key), size))


def java_text_order(text: str) -> bytes:
    """Sort key for Java's order of strings: by UTF-16 unit, not by code point."""
    return text.encode("utf-16-be", "surrogatepass")
