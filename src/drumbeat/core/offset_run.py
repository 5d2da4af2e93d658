"""Offset commits one after the other: the loop that every record of a load comes by.

Commits that were written together differ in little but partition and offset, so what was made of
one is used for the next while the bytes are the same.

It stands apart from what it is told (`core/offset_chunks.py`), so that it can be compiled.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from drumbeat.core.records import NO_EXPIRE_TIMESTAMP
from drumbeat.core.state import CommittedOffset, Offsets
from drumbeat.protocol.record_batch import HEADER_BYTES, LOG_OVERHEAD

# Base offset, batch length, attributes, last offset delta, record count.
_unpack_batch: Final = struct.Struct(">qi9xhi30xi").unpack_from
_new: Final = tuple.__new__
_CommittedOffset: Final = CommittedOffset

# A record: its length, timestamp and offset deltas, the key's length and names, the partition, the
# value's length and version, committed offset, leader epoch, and the rest, in which commits of a
# request are alike. Any, where compiled code would make another object of the same number.
Fields: TypeAlias = tuple[int, int, Any, bytes, Any, bytes, Any, Any, bytes]


class Shape(NamedTuple):
    """How to take records apart whose lengths are known."""

    size: int
    first_byte: int
    record_length: int  # as it is written
    value_head: bytes  # the value's length and version
    metadata_length: int  # as it is written
    deltas: dict[Any, int]  # offset deltas by their bytes, read as one number
    unpack: Callable[[bytes, int], Fields]
    iter_unpack: Callable[[memoryview], Iterator[Fields]]
    unpack_rest: Callable[[bytes], tuple[int, bytes, Any, bytes]]  # metadata, timestamp, tail


class Layout(NamedTuple):
    """How to read a record's lengths, its own and that of its key."""

    unpack: Callable[[bytes, int], tuple[int, ...]]
    shapes: Mapping[int, Shape | None]  # by the bytes of both lengths, read as one number


class Known(NamedTuple):
    """What records have in common, made once: layouts, their values' tails, their keys' names."""

    usual_layout: Layout
    layout_at: Callable[[bytes, int], Layout]  # LookupError or ValueError if there is none
    topic_ids: Mapping[bytes, bytes | None]
    names: Mapping[bytes, tuple[str, Mapping[int, Any]] | None]


# Where the next record begins, how many the batch has left, and the last one's offset delta.
Cursor: TypeAlias = tuple[int, int, int]


class CommitReader:
    """Reads the commits of a chunk. A record is taken for one like the last until it is not."""

    def __init__(self, chunk: bytes, known: Known) -> None:
        self.by_group: dict[str, Offsets] = {}
        self._chunk = chunk
        self._view = memoryview(chunk)
        self._known = known
        self._layout = known.usual_layout
        self._shape: Shape | None = None
        self._key = b""
        # Any, because compiled code would make a tuple anew that it knows the types of, and a
        # million offsets are to share theirs.
        self._partitions: Mapping[int, Any] = {}
        self._offsets: dict[Any, CommittedOffset] = {}

    def read_batches(self, position: int, attributes: int) -> tuple[int, int]:
        """Read batches with these attributes: how many records they have, and where they end."""
        chunk, size, records = self._chunk, len(self._chunk), 0
        # Said to be numbers, or compiled code would compare and add objects.
        base_offset: int
        length: int
        last_delta: int
        count: int
        try:
            while position < size:
                base_offset, length, found, last_delta, count = _unpack_batch(chunk, position)
                if found != attributes:
                    break
                end = position + LOG_OVERHEAD + length
                at, left, delta = self._read_batch(position + HEADER_BYTES, count, base_offset)
                if left or at != end or delta > last_delta:
                    break
                position = end
                records += count
        except (LookupError, ValueError, struct.error):
            pass  # nothing usual: the plain reader knows what it is
        return records, position

    def _read_batch(self, at: int, count: int, base_offset: int) -> Cursor:
        """Read on until the batch has no record left, or the next one is not usual."""
        cursor = (at, count, -1)
        first = self._shape
        while cursor[1]:
            at, left, _ = cursor
            shape = self._shape
            if shape is not None and shape.first_byte == self._chunk[at]:
                cursor = self._read_alike(shape, cursor, base_offset)
            if cursor[1] == left and not self._find_shape(at):
                break
            if left == count:
                first = self._shape
        self._shape = first  # the next batch probably begins like this one
        return cursor

    def _find_shape(self, at: int) -> bool:
        """Whether the record there may have another shape than the one that did not fit it."""
        layout = self._layout
        shape = _shape_at(self._chunk, at, layout)
        if shape is None or shape is self._shape:
            layout = self._known.layout_at(self._chunk, at)
            if layout is self._layout:
                return False
            self._layout = layout
            shape = _shape_at(self._chunk, at, layout)
        self._shape = shape
        return shape is not None

    def _read_alike(self, shape: Shape, cursor: Cursor, base_offset: int) -> Cursor:
        """Read on until a record does not have this shape."""
        at, left, previous = cursor
        size, _, usual_length, usual_head, usual_metadata, deltas, _, _, unpack_rest = shape
        topic_ids = self._known.topic_ids
        last_rest = b""
        metadata, at_ms, topic_id = "", None, None
        # fmt: off
        for (
            length, timestamp_delta, delta_bytes, key, partition,
            value_head, offset, leader_epoch, rest,
        ) in self._taken_apart(at, left, shape):
            # fmt: on
            delta = deltas.get(delta_bytes, -1)
            if length != usual_length or value_head != usual_head:
                break
            if delta <= previous or timestamp_delta < 0:
                break
            if rest != last_rest:
                metadata_length, metadata_bytes, at_ms, tail = unpack_rest(rest)
                topic_id = topic_ids[tail]
                if topic_id is None or metadata_length != usual_metadata:
                    break
                metadata = metadata_bytes.decode()
                last_rest = rest
            if key != self._key and not self._take_names(key):
                break
            # fmt: off
            self._offsets[self._partitions[partition]] = _new(_CommittedOffset, (
                offset, leader_epoch, metadata, at_ms,
                NO_EXPIRE_TIMESTAMP, topic_id, base_offset + delta,
            ))
            # fmt: on
            at, left, previous = at + size, left - 1, delta
        return at, left, previous

    def _taken_apart(self, at: int, count: int, shape: Shape) -> Iterable[Fields]:
        """That many records, or as many as there can be, as if all had this shape."""
        size = shape.size
        count = min(count, (len(self._chunk) - at) // size)
        if count <= 1:
            return (shape.unpack(self._chunk, at),) if count else ()
        return shape.iter_unpack(self._view[at : at + count * size])

    def _take_names(self, key: bytes) -> bool:
        names = self._known.names[key]
        if names is None:
            return False
        group_id, self._partitions = names  # of a topic, by number
        self._key = key
        self._offsets = self.by_group.get(group_id) or self.by_group.setdefault(group_id, {})
        return True


def _shape_at(chunk: bytes, at: int, layout: Layout) -> Shape | None:
    record_length, key_length = layout.unpack(chunk, at)
    return layout.shapes[record_length << 16 | key_length]
