"""The records of a commit, encoded together: most of what a coordinator writes.

What `record_codec.encode` and `encode_batch` make of the same records, byte for byte, without the
values in between. One key and value at a time takes up to twice as long; it is the way for
everything that is not ordinary.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from drumbeat.core.offset_codec import (
    FLEXIBLE_VERSION,
    KEY_CACHED_BYTES_MAX,
    KEYS_CACHED,
    PARTITION_BYTES,
    TOPIC_ID_TAG,
    V4_LAYOUT,
    encode_names,
)
from drumbeat.core.record_codec import encode
from drumbeat.core.records import NO_EXPIRE_TIMESTAMP, OffsetCommitRecord, Record
from drumbeat.protocol.records import Envelope, encode_batch
from drumbeat.protocol.schema import NULL_UUID
from drumbeat.protocol.varint import encode_varint, short_varints

_METADATA_BYTES_MAX: Final = 63
# Attributes, of which there are none, and a timestamp that is the batch's: what a record begins
# with, behind its length.
_START: Final = b"\x00\x00"
_TOPIC_ID_LAYOUT: Final = "3s16s"  # how a value ends; see `_ends`

# Found when the module is loaded: in compiled code a global that is not Final is looked up again
# for every record.
_OffsetCommitRecord: Final = OffsetCommitRecord
_NULL_UUID: Final = NULL_UUID


def _middle(metadata_bytes: int) -> tuple[struct.Struct, bytes]:
    """A record from its partition to its timestamp, and what stands behind the partition: the
    value's length and version."""
    version, fields = V4_LAYOUT[0], V4_LAYOUT[1:].format(metadata_bytes)
    size = struct.calcsize(f">{version}{fields}")
    value_start = encode_varint(size) + struct.pack(f">{version}", FLEXIBLE_VERSION)
    fields = fields.removesuffix(_TOPIC_ID_LAYOUT)
    return struct.Struct(f">i{len(value_start)}s{fields}"), value_start


_MIDDLES: Final = [_middle(size) for size in range(_METADATA_BYTES_MAX + 1)]
_PACK_MIDDLE: Final = [layout.pack for layout, _ in _MIDDLES]
_VALUE_START: Final = [value_start for _, value_start in _MIDDLES]


def encode_facts(
    facts: Sequence[Record], envelope: Envelope, base_offset: int, timestamp: int
) -> bytes:
    """The batch that holds `facts` at consecutive offsets, all with this timestamp."""
    section = _encode_commits(facts)
    if section is not None:
        count = len(facts)
        return envelope.enclose(section, base_offset, count - 1, timestamp, timestamp, count)
    rows = [(at, timestamp, *encode(fact), ()) for at, fact in enumerate(facts, base_offset)]
    return encode_batch(rows, envelope.options)


def _encode_commits(facts: Sequence[Record]) -> bytes | None:
    """The records section; None if one of them is no ordinary commit."""
    short: tuple[bytes, ...] = short_varints()
    if len(facts) >= len(short):
        return None
    parts: list[bytes] = []
    head = tail = b""  # a request's partitions come topic by topic
    head_group_id = head_topic = tail_topic_id = None
    for delta, fact in enumerate(facts):
        if type(fact) is not _OffsetCommitRecord:
            return None
        fields: tuple[Any, ...] = fact  # not to be unpacked as numbers, only to be packed again
        group_id, topic, partition, offset, leader_epoch, metadata, at_ms, expire_ms, topic_id = (
            fields
        )
        text: str = metadata
        data = text.encode() if text else b""
        size = len(data)
        if size > _METADATA_BYTES_MAX or expire_ms != NO_EXPIRE_TIMESTAMP:
            return None
        if (
            topic is not head_topic
            or group_id is not head_group_id
            or topic_id is not tail_topic_id
        ):
            if len(group_id) + len(topic) > KEY_CACHED_BYTES_MAX or topic_id == _NULL_UUID:
                return None
            head, tail = _ends(group_id, topic, topic_id)
            head_group_id, head_topic, tail_topic_id = group_id, topic, topic_id
        offset_delta = short[delta]
        value_start = _VALUE_START[size]
        # fmt: off
        middle: bytes = _PACK_MIDDLE[size](
            partition, value_start, offset, leader_epoch, size + 1, data, at_ms,
        )
        # fmt: on
        length = len(_START) + len(offset_delta) + len(head) + len(middle) + len(tail)
        parts.append(short[length])
        parts.append(_START)
        parts.append(offset_delta)
        parts.append(head)
        parts.append(middle)
        parts.append(tail)
    return b"".join(parts)


@lru_cache(KEYS_CACHED)
def _ends(group_id: str, topic: str, topic_id: bytes) -> tuple[bytes, bytes]:
    """A key up to its partition, behind its length; and what follows a value's timestamp."""
    names = encode_names(group_id, topic)
    head = encode_varint(len(names) + PARTITION_BYTES) + names
    return head, TOPIC_ID_TAG + topic_id + b"\x00"  # at the end: no headers
