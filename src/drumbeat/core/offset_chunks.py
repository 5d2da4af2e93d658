"""Offset commits of many batches at once: how most records of a log are loaded.

Nearly every commit has one of three forms, in which all lengths follow from two of them, the
record's and the key's. So one struct takes it apart, and nothing is made of it but the committed
offset: a quarter to a half of what it takes to decode batch, record, key and value one by one.
Whatever has another form, or looks wrong, is left to the plain reader.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import NamedTuple, TypeVar

from drumbeat.core.offset_codec import (
    KEY_CACHED_BYTES_MAX,
    PARTITION_BYTES,
    TOPIC_ID_TAG,
    read_names,
)
from drumbeat.core.offset_run import CommitReader, Known, Layout, Shape
from drumbeat.core.state import Offsets, TopicPartition
from drumbeat.protocol.schema import NULL_UUID
from drumbeat.protocol.varint import MalformedVarint, encode_varint, read_varint, read_varlong

_REMEMBERED_MAX = 65_536  # names, topics, topic ids, a topic's partitions
_SHAPES_MAX = 2_048  # of each layout

_METADATA_BYTES_MAX = 126  # above, version 4 needs two bytes for the length
_UUID_BYTES = 16
_NO_HEADERS = b"\x00"
_NO_TAGGED_FIELDS = b"\x00"

K = TypeVar("K")
V = TypeVar("V")


class _Memo(dict[K, V]):
    """What a function said, all forgotten when it gets too much: half the time of an LRU cache."""

    def __init__(self, function: Callable[[K], V], size_max: int = _REMEMBERED_MAX) -> None:
        self._function = function
        self._size_max = size_max

    def __missing__(self, key: K) -> V:
        if len(self) >= self._size_max:
            self.clear()
        value = self[key] = self._function(key)
        return value


class OffsetChunk(NamedTuple):
    """What consecutive batches say about each group; the later wins where two name a partition."""

    offsets: dict[str, Offsets]
    records: int
    end: int  # of the last of these batches


class _Form(NamedTuple):
    """A way to write a value: version, offset, leader epoch, metadata, timestamp, and a tail."""

    version: bytes
    length_code: str  # of the metadata's length
    length_surplus: int  # what it counts beside the metadata
    tail_bytes: int  # tagged fields, and the headers that the record does not have


_V3 = _Form(b"\x00\x03", "H", 0, len(_NO_HEADERS))
_V4 = _Form(b"\x00\x04", "B", 1, len(_NO_TAGGED_FIELDS + _NO_HEADERS))
_V4_WITH_ID = _V4._replace(tail_bytes=len(TOPIC_ID_TAG) + _UUID_BYTES + len(_NO_HEADERS))


def read_offset_chunk(chunk: bytes, position: int, attributes: int = 0) -> OffsetChunk:
    """The batches from `position` on with nothing but commits in a usual form, perhaps none.

    `chunk` is whole batches, checked. Only batches with these attributes are read, which must not
    name a codec. The result may have commits of the batch behind these, up to what is not usual
    there: whoever reads that batch applies them again, which changes nothing.
    """
    reader = CommitReader(chunk, _KNOWN)
    records, end = reader.read_batches(position, attributes)
    return OffsetChunk(reader.by_group, records, end)


def _layout_at(chunk: bytes, position: int) -> Layout:
    """The only layout that the record there can have; LookupError or ValueError if it has none."""
    _, attributes_at = read_varint(chunk, position)
    _, delta_at = read_varlong(chunk, attributes_at + 1)
    _, key_length_at = read_varint(chunk, delta_at)
    key_length, key_at = read_varint(chunk, key_length_at)
    value_length, value_at = read_varint(chunk, key_at + key_length)
    value = chunk[value_at : value_at + value_length]
    form = _V3 if value.startswith(_V3.version) else _V4
    if form is _V4 and value[-_UUID_BYTES - len(TOPIC_ID_TAG) :].startswith(TOPIC_ID_TAG):
        form = _V4_WITH_ID
    return _LAYOUTS[attributes_at - position, key_length_at - delta_at, form]


def _shape(length_bytes: int, delta_bytes: int, form: _Form, lengths: int) -> Shape | None:
    """None if a record of these lengths cannot be a commit of this form."""
    record_bytes, key_bytes = lengths >> 16, lengths & 0xFFFF
    try:
        record_length, length_end = read_varint(record_bytes.to_bytes(length_bytes, "big"), 0)
        key_length, key_length_bytes = read_varint(key_bytes.to_bytes(2, "big"), 0)
    except MalformedVarint:
        return None
    if length_end != length_bytes or not PARTITION_BYTES < key_length <= KEY_CACHED_BYTES_MAX:
        return None
    size = length_bytes + record_length
    names_bytes = key_length_bytes + key_length - PARTITION_BYTES
    beginning = f">{_CODES[length_bytes]}xb{_CODES[delta_bytes]}{names_bytes}si"
    value_bytes = size - struct.calcsize(beginning) - len(_NO_HEADERS)
    head = _value_head(value_bytes, form.version)
    start = f"{beginning}{len(head)}sqi"
    rest_bytes = size - struct.calcsize(start)
    metadata_bytes = rest_bytes - struct.calcsize(f">{form.length_code}q{form.tail_bytes}s")
    if not 0 <= metadata_bytes <= _METADATA_BYTES_MAX:
        return None
    whole = struct.Struct(f"{start}{rest_bytes}s")
    rest = struct.Struct(f">{form.length_code}{metadata_bytes}sq{form.tail_bytes}s")
    return Shape(
        size,
        record_bytes >> 8 * (length_bytes - 1),
        record_bytes,
        head,
        metadata_bytes + form.length_surplus,
        _deltas(delta_bytes),
        whole.unpack_from,
        whole.iter_unpack,
        rest.unpack,
    )


def _value_head(size: int, version: bytes) -> bytes:
    """Length and version of a value that takes so many bytes together with its length."""
    length = encode_varint(size - 1)
    return (length if len(length) == 1 else encode_varint(size - 2)) + version


def _topic_id(tail: bytes) -> bytes | None:
    """What the tail of a record says; None if there are headers or other tagged fields."""
    if tail in (_NO_HEADERS, _NO_TAGGED_FIELDS + _NO_HEADERS):
        return NULL_UUID
    is_topic_id = tail.startswith(TOPIC_ID_TAG) and tail.endswith(_NO_HEADERS)
    return tail[len(TOPIC_ID_TAG) : -len(_NO_HEADERS)] if is_topic_id else None


def _group_and_partitions(key: bytes) -> tuple[str, _Memo[int, TopicPartition]] | None:
    """What a key's length and its names say: the group, and the topic's partitions."""
    length, names_at = read_varint(key, 0)
    if length != len(key) - names_at + PARTITION_BYTES:
        return None
    names = read_names.__wrapped__(key[names_at:])
    if names is None:
        return None
    group_id, topic = names
    return group_id, _PARTITIONS[topic]


def _partitions(topic: str) -> _Memo[int, TopicPartition]:
    return _Memo(lambda partition: (topic, partition))


# What a million offsets have in common they share: names, topic ids, keys of the state.
_TOPIC_IDS = _Memo(_topic_id)
_PARTITIONS = _Memo(_partitions)
_NAMES = _Memo(_group_and_partitions)

# The length of a record and its offset delta take a byte or two: up to 8,191 records in a batch.
_CODES = {1: "B", 2: "H"}


@cache  # when one is first met: a node without commits to load has no use for 8,192 deltas
def _deltas(delta_bytes: int) -> dict[int, int]:
    """The bytes of a varint, read as one number, to what they say."""
    if delta_bytes == 1:
        return {delta << 1: delta for delta in range(64)}
    return {(delta << 1 & 0x7F | 0x80) << 8 | delta >> 6: delta for delta in range(64, 8_192)}


def _layout(length_bytes: int, delta_bytes: int, form: _Form) -> Layout:
    # A byte of attributes is skipped. The length of a key may be followed by the key's first byte.
    beginning = struct.Struct(f">{_CODES[length_bytes]}2x{delta_bytes}xH")
    shapes = _Memo(partial(_shape, length_bytes, delta_bytes, form), _SHAPES_MAX)
    return Layout(beginning.unpack_from, shapes)


_LAYOUTS = {key: _layout(*key) for key in product(_CODES, _CODES, (_V3, _V4, _V4_WITH_ID))}
_USUAL_LAYOUT = _LAYOUTS[2, 1, _V4_WITH_ID]
_KNOWN = Known(_USUAL_LAYOUT, _layout_at, _TOPIC_IDS, _NAMES)
