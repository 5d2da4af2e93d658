"""Offset commits of one layout, one after the other: the loop that every record of a load comes by.

It stands apart from what it is told (`core/offset_chunks.py`), so that it can be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from drumbeat.core.records import NO_EXPIRE_TIMESTAMP
from drumbeat.core.state import CommittedOffset, Offsets

_MORE: Final = 0x80  # set in a byte of a varint that is not its last

_new: Final = tuple.__new__
_CommittedOffset: Final = CommittedOffset


class Shape(NamedTuple):
    """How to take a record apart whose lengths are known."""

    size: int
    key_at: int
    unpack: Callable[[bytes, int], tuple[Any, ...]]
    value_head: bytes  # the value's length and version
    metadata_length: int  # as it is written


class Layout(NamedTuple):
    """How to read a record's beginning: length, timestamp and offset deltas, length of the key."""

    unpack: Callable[[bytes, int], tuple[int, ...]]
    deltas: Mapping[int, int]  # offset deltas by their bytes, read as one number
    shapes: Mapping[int, Shape | None]  # by the bytes of both lengths, read as one number


class Known(NamedTuple):
    """What records have in common, made once: their values' tails, and their keys' names."""

    topic_ids: Mapping[bytes, bytes | None]
    names: Mapping[bytes, tuple[str, Mapping[int, Any]] | None]


# Where the next record begins, how many the batch has left, and the last one's offset delta.
Cursor: TypeAlias = tuple[int, int, int]


def read_run(
    chunk: bytes,
    cursor: Cursor,
    layout: Layout,
    base_offset: int,
    by_group: dict[str, Offsets],
    known: Known,
) -> Cursor:
    """Read on until the batch has no record left, or the next one does not have this layout."""
    at, left, previous = cursor
    unpack_beginning, deltas, shapes = layout
    topic_ids, names_of = known
    last_key = b""
    # Any, because compiled code would make a tuple anew that it knows the types of, and a million
    # offsets are to share theirs.
    partitions: Mapping[int, Any] = {}
    offsets: dict[Any, CommittedOffset] = {}
    while left:
        record_length, timestamp_delta, delta_bytes, key_length = unpack_beginning(chunk, at)
        shape = shapes[record_length << 16 | key_length]
        delta = deltas.get(delta_bytes, -1)
        if shape is None or delta <= previous or timestamp_delta & _MORE:
            break
        size, key_at, unpack, usual_head, usual_length = shape
        # fmt: off
        (
            key, partition, value_head, offset, leader_epoch,
            metadata_length, metadata, at_ms, tail,
        ) = unpack(chunk, at + key_at)
        # fmt: on
        topic_id = topic_ids[tail]
        if topic_id is None or value_head != usual_head or metadata_length != usual_length:
            break
        if key != last_key:
            names = names_of[key]
            if names is None:
                break
            group_id, partitions = names  # of a topic, by number
            last_key = key
            offsets = by_group.get(group_id) or by_group.setdefault(group_id, {})
        # fmt: off
        offsets[partitions[partition]] = _new(_CommittedOffset, (
            offset, leader_epoch, metadata.decode(), at_ms,
            NO_EXPIRE_TIMESTAMP, topic_id, base_offset + delta,
        ))
        # fmt: on
        at, left, previous = at + size, left - 1, delta
    return at, left, previous
