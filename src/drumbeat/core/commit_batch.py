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
from drumbeat.protocol.records import BatchOptions, enclose, encode_batch
from drumbeat.protocol.schema import NULL_UUID
from drumbeat.protocol.varint import encode_varint, short_varints

_METADATA_BYTES_MAX = 63
# Attributes, of which there are none, and a timestamp that is the batch's: what a record begins
# with, behind its length.
_START: Final = b"\x00\x00"


def _tail(metadata_bytes: int) -> tuple[struct.Struct, bytes]:
    """A record from its partition on, and the value's length, which stands in it."""
    value = V4_LAYOUT.format(metadata_bytes)
    length = encode_varint(struct.calcsize(">" + value))
    return struct.Struct(f">i{len(length)}s{value}x"), length  # at the end: no headers


_TAILS = [_tail(size) for size in range(_METADATA_BYTES_MAX + 1)]
_PACK_TAIL: Final = [layout.pack for layout, _ in _TAILS]
_VALUE_LENGTH: Final = [length for _, length in _TAILS]


def encode_facts(
    facts: Sequence[Record], options: BatchOptions, base_offset: int, timestamp: int
) -> bytes:
    """The batch that holds `facts` at consecutive offsets, all with this timestamp."""
    section = _encode_commits(facts)
    if section is not None:
        return enclose(section, options, base_offset, timestamp, len(facts))
    rows = [(at, timestamp, *encode(fact), ()) for at, fact in enumerate(facts, base_offset)]
    return encode_batch(rows, options)


def _encode_commits(facts: Sequence[Record]) -> bytes | None:
    """The records section; None if one of them is no ordinary commit."""
    short = short_varints()
    if len(facts) >= len(short):
        return None
    parts: list[bytes] = []
    head = b""  # a request's partitions come topic by topic
    head_group_id = head_topic = None
    for delta, fact in enumerate(facts):
        if type(fact) is not OffsetCommitRecord:
            return None
        fields: tuple[Any, ...] = fact  # not to be unpacked as numbers, only to be packed again
        group_id, topic, partition, offset, leader_epoch, metadata, at_ms, expire_ms, topic_id = (
            fields
        )
        data: bytes = metadata.encode()
        size = len(data)
        if size > _METADATA_BYTES_MAX or expire_ms != NO_EXPIRE_TIMESTAMP or topic_id == NULL_UUID:
            return None
        if topic is not head_topic or group_id is not head_group_id:
            if len(group_id) + len(topic) > KEY_CACHED_BYTES_MAX:
                return None
            head, head_group_id, head_topic = _key_head(group_id, topic), group_id, topic
        offset_delta = short[delta]
        # fmt: off
        tail = _PACK_TAIL[size](
            partition, _VALUE_LENGTH[size], FLEXIBLE_VERSION, offset, leader_epoch, size + 1,
            data, at_ms, TOPIC_ID_TAG, topic_id,
        )
        # fmt: on
        length = len(_START) + len(offset_delta) + len(head) + len(tail)
        parts += (short[length], _START, offset_delta, head, tail)
    return b"".join(parts)


@lru_cache(KEYS_CACHED)
def _key_head(group_id: str, topic: str) -> bytes:
    """A key up to its partition, behind its length."""
    names = encode_names(group_id, topic)
    return encode_varint(len(names) + PARTITION_BYTES) + names
