"""Offset commits to bytes and back: nearly every record of the log, so the fast path matters.

Kafka writes value version 4, or version 1 for a commit that names its own expiry, which no other
version can hold. Version 4 with a short metadata and at most the topic id behind it is read and
written here by hand; everything else goes through the declaration below.
"""

import struct
from functools import cache, lru_cache
from typing import Annotated, NamedTuple

from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    NO_LEADER_EPOCH,
    OffsetCommitRecord,
    RecordError,
    RecordType,
)
from drumbeat.protocol.compiler import Encoder, decoder, encoder
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.schema import NULL_UUID, Int32, Int64, Uuid, V

VERSIONS = range(5)
LEGACY_VERSIONS = range(1)  # of values under a legacy key
_FLEXIBLE_VERSION = 4
_EXPLICIT_EXPIRY_VERSION = 1

STRING_BYTES_MAX = 32_767  # the length of a string is an int16, in keys and in old values

# Groups commit the same partitions over and over, so their keys are kept: at most 65,536 of them
# and none above 512 bytes, or long group ids could take all memory.
KEYS_CACHED = 65_536
KEY_CACHED_BYTES_MAX = 512

_VERSION = struct.Struct(">h")
_INT16 = struct.Struct(">h")
_PARTITION = struct.Struct(">i")
_V4_HEAD = struct.Struct(">hqiB")  # version, offset, leader epoch, bytes of metadata + 1
_V4_TAIL = struct.Struct(">qB")  # commit timestamp, no tagged fields
_V4_TAIL_WITH_TOPIC_ID = struct.Struct(">q3s16s")
_TOPIC_ID_TAG = b"\x01\x00\x10"  # one tagged field: tag 0 of 16 bytes
_V4_METADATA_AT = _V4_HEAD.size
_V4_METADATA_MAX = 126  # the longest whose length takes one byte

_KEY_PREFIX = _VERSION.pack(RecordType.OFFSET_COMMIT)
_new = tuple.__new__


class OffsetKey(NamedTuple):
    group_id: str = ""
    topic: str = ""
    partition: Int32 = 0


class OffsetCommitValue(NamedTuple):
    offset: Int64 = 0
    leader_epoch: Annotated[Int32, V(3)] = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Annotated[Int64, V(1, until=1)] = NO_EXPIRE_TIMESTAMP
    topic_id: Annotated[Uuid, V(4, tag=0)] = NULL_UUID


def encode_offset_key(group_id: str, topic: str, partition: int) -> bytes:
    if len(group_id) + len(topic) > KEY_CACHED_BYTES_MAX:
        return _encode_key.__wrapped__(group_id, topic, partition)
    return _encode_key(group_id, topic, partition)


@lru_cache(KEYS_CACHED)
def _encode_key(group_id: str, topic: str, partition: int) -> bytes:
    return b"".join((_KEY_PREFIX, _string(group_id), _string(topic), _PARTITION.pack(partition)))


def encode_offset_value(record: OffsetCommitRecord) -> bytes:
    _, _, _, offset, leader_epoch, metadata, commit_timestamp_ms, expire_ms, topic_id = record
    data = metadata.encode()
    size = len(data)
    if size > _V4_METADATA_MAX or expire_ms != NO_EXPIRE_TIMESTAMP or topic_id == NULL_UUID:
        return _encode_any(record)
    pack = _v4_layout(size).pack
    head = (_FLEXIBLE_VERSION, offset, leader_epoch, size + 1)
    return pack(*head, data, commit_timestamp_ms, _TOPIC_ID_TAG, topic_id)


def decode_offset_value(key: OffsetKey, value: bytes) -> OffsetCommitRecord:
    """The commit that `value` says; bytes behind it are ignored, as Kafka does."""
    try:
        version, offset, leader_epoch, size = _V4_HEAD.unpack_from(value)
        if version != _FLEXIBLE_VERSION or not 0 < size <= _V4_METADATA_MAX + 1:
            return _decode_any(key, value)
        stop = _V4_METADATA_AT + size - 1
        metadata = value[_V4_METADATA_AT:stop].decode()
        if len(value) == stop + _V4_TAIL_WITH_TOPIC_ID.size:
            commit_timestamp_ms, tag, topic_id = _V4_TAIL_WITH_TOPIC_ID.unpack_from(value, stop)
            if tag != _TOPIC_ID_TAG:
                return _decode_any(key, value)
        else:
            commit_timestamp_ms, tags = _V4_TAIL.unpack_from(value, stop)
            topic_id = NULL_UUID
            if tags:
                return _decode_any(key, value)
    except (struct.error, UnicodeDecodeError):
        return _decode_any(key, value)
    fields = (offset, leader_epoch, metadata, commit_timestamp_ms, NO_EXPIRE_TIMESTAMP, topic_id)
    return _new(OffsetCommitRecord, key + fields)


def _encode_any(record: OffsetCommitRecord) -> bytes:
    version = _FLEXIBLE_VERSION
    if record.expire_timestamp_ms != NO_EXPIRE_TIMESTAMP:
        version = _EXPLICIT_EXPIRY_VERSION
    if len(record.metadata.encode()) > STRING_BYTES_MAX:
        raise RecordError(f"metadata of more than {STRING_BYTES_MAX} bytes")
    value = OffsetCommitValue(
        offset=record.committed_offset,
        leader_epoch=record.leader_epoch,
        metadata=record.metadata,
        commit_timestamp=record.commit_timestamp_ms,
        expire_timestamp=record.expire_timestamp_ms,
        topic_id=record.topic_id,
    )
    return _VERSION.pack(version) + _value_encoder(version)(value)


def _decode_any(key: OffsetKey, value: bytes) -> OffsetCommitRecord:
    if len(value) < _VERSION.size:
        raise RecordError(f"offset commit value of {len(value)} bytes has no version")
    (version,) = _VERSION.unpack_from(value)
    if version not in VERSIONS:
        raise RecordError(f"offset commit value has unknown version {version}")
    decode = decoder(OffsetCommitValue, version, version >= _FLEXIBLE_VERSION)
    try:
        fields = decode(value, _VERSION.size)
    except ProtocolError as problem:
        raise RecordError(str(problem)) from None
    return OffsetCommitRecord(*key, *fields)


@cache
def _value_encoder(version: int) -> Encoder:
    return encoder(OffsetCommitValue, version, version >= _FLEXIBLE_VERSION)


@cache
def _v4_layout(size: int) -> struct.Struct:
    """The whole of version 4 with `size` bytes of metadata and a topic id."""
    return struct.Struct(f">hqiB{size}sq3s16s")


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) > STRING_BYTES_MAX:
        raise RecordError(f"a string of {len(data)} bytes; a key holds {STRING_BYTES_MAX}")
    return _INT16.pack(len(data)) + data
