"""Offset commits to bytes and back: nearly every record of the log, so the fast path matters.

Kafka writes value version 4, or version 1 for a commit that names its own expiry, which no other
version can hold. Version 4 with short metadata and a topic id behind it is read and
written here by hand; everything else goes through the declarations in `core.classic_records`.
"""

import struct
from functools import cache, lru_cache
from sys import intern
from typing import Final

from drumbeat.core.classic_records import OffsetCommitValue, OffsetKey
from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    OffsetCommitRecord,
    RecordError,
    RecordType,
)
from drumbeat.protocol.compiler import Encoder, decoder, encoder
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.schema import NULL_UUID

VERSIONS: Final = range(5)
LEGACY_VERSIONS: Final = range(1)  # of values under a legacy key
FLEXIBLE_VERSION: Final = 4
_EXPLICIT_EXPIRY_VERSION: Final = 1

PARTITION_BYTES: Final = 4  # at the end of a key

STRING_BYTES_MAX: Final = 32_767  # the length of a string is an int16, in keys and in old values

# Groups commit the same partitions over and over, so keys are remembered, both ways: 65,536 at
# most and none above 512 bytes, or long group ids could take all memory.
KEYS_CACHED: Final = 65_536
KEY_CACHED_BYTES_MAX: Final = 512

_VERSION: Final = struct.Struct(">h")
_INT16: Final = struct.Struct(">h")
_PARTITION: Final = struct.Struct(">i")

# Version 4 as it nearly always is: a length of one byte, the metadata, and the topic id as the
# only tagged field. One layout per length; 0, which is null, has none that any value fits.
V4_LAYOUT = "hqiB{}sq3s16s"  # to be filled with the bytes of metadata
_V4_LENGTH_AT: Final = 14
_V4_LENGTH_MAX: Final = 127  # the length counts one more than the bytes of metadata
_V4_LAYOUTS = (
    struct.Struct(""),
    *(struct.Struct(">" + V4_LAYOUT.format(size)) for size in range(_V4_LENGTH_MAX)),
)
TOPIC_ID_TAG: Final = b"\x01\x00\x10"  # one tagged field: tag 0 of 16 bytes

# Bound once, because finding the method takes half as long as calling it.
_PACK_V4: Final = tuple(layout.pack for layout in _V4_LAYOUTS)
_UNPACK_V4: Final = tuple(layout.unpack for layout in _V4_LAYOUTS)
_pack_partition: Final = _PARTITION.pack
_unpack_partition: Final = _PARTITION.unpack_from

_KEY_PREFIX: Final = _VERSION.pack(RecordType.OFFSET_COMMIT)
_new: Final = tuple.__new__


def encode_offset_commit(record: OffsetCommitRecord) -> tuple[bytes, bytes]:
    group_id, topic, partition, offset, leader_epoch, metadata, at_ms, expire_ms, topic_id = record
    key = encode_offset_key(group_id, topic, partition)
    data = metadata.encode()
    length = len(data) + 1
    if length > _V4_LENGTH_MAX or expire_ms != NO_EXPIRE_TIMESTAMP or topic_id == NULL_UUID:
        return key, _encode_any(record)
    head = (FLEXIBLE_VERSION, offset, leader_epoch, length)
    return key, _PACK_V4[length](*head, data, at_ms, TOPIC_ID_TAG, topic_id)


def encode_offset_key(group_id: str, topic: str, partition: int) -> bytes:
    if len(group_id) + len(topic) > KEY_CACHED_BYTES_MAX:
        return encode_names.__wrapped__(group_id, topic) + _pack_partition(partition)
    return encode_names(group_id, topic) + _pack_partition(partition)


@lru_cache(KEYS_CACHED)
def encode_names(group_id: str, topic: str) -> bytes:
    return b"".join((_KEY_PREFIX, _string(group_id), _string(topic)))


def decode_offset_commit(key: bytes, value: bytes) -> OffsetCommitRecord:
    """The commit that a key of type 1 and its value say; bytes behind them are ignored."""
    try:
        unpack = _UNPACK_V4[value[_V4_LENGTH_AT]]
        version, offset, leader_epoch, _, metadata, timestamp_ms, tag, topic_id = unpack(value)
        names = read_names(key[:-PARTITION_BYTES]) if len(key) <= KEY_CACHED_BYTES_MAX else None
        if names is not None and version == FLEXIBLE_VERSION and tag == TOPIC_ID_TAG:
            group_id, topic = names
            (partition,) = _unpack_partition(key, len(key) - PARTITION_BYTES)
            # fmt: off
            return _new(OffsetCommitRecord, (
                group_id, topic, partition, offset, leader_epoch, metadata.decode(),
                timestamp_ms, NO_EXPIRE_TIMESTAMP, topic_id,
            ))
            # fmt: on
    except (IndexError, struct.error, UnicodeDecodeError):
        pass
    return decode_offset_value(decode_offset_key(key), value, VERSIONS)


def decode_offset_key(key: bytes) -> OffsetKey:
    try:
        group_id, topic, partition = decoder(OffsetKey, 0, False)(key, _VERSION.size)
    except ProtocolError as problem:
        raise RecordError(str(problem)) from None
    return OffsetKey(intern(group_id), intern(topic), partition)


def decode_offset_value(key: OffsetKey, value: bytes, versions: range) -> OffsetCommitRecord:
    """Any version that is among `versions`."""
    if len(value) < _VERSION.size:
        raise RecordError(f"offset commit value of {len(value)} bytes has no version")
    (version,) = _VERSION.unpack_from(value)
    if version not in versions:
        raise RecordError(f"offset commit value has unknown version {version}")
    decode = decoder(OffsetCommitValue, version, version >= FLEXIBLE_VERSION)
    try:
        fields = decode(value, _VERSION.size)
    except ProtocolError as problem:
        raise RecordError(str(problem)) from None
    return OffsetCommitRecord(*key, *fields)


@lru_cache(KEYS_CACHED)
def read_names(prefix: bytes) -> tuple[str, str] | None:
    """Group and topic of a key without its partition.

    None if the key is not an offset commit's, or if they do not fill it exactly.
    Both are interned: a million offsets share the names of a few hundred topics.
    """
    if prefix[: _VERSION.size] != _KEY_PREFIX:
        return None
    (group_bytes,) = _INT16.unpack_from(prefix, _VERSION.size)
    topic_at = _VERSION.size + 2 * _INT16.size + group_bytes
    (topic_bytes,) = _INT16.unpack_from(prefix, topic_at - _INT16.size)
    if min(group_bytes, topic_bytes) < 0 or topic_at + topic_bytes != len(prefix):
        return None
    group_id = prefix[_VERSION.size + _INT16.size : topic_at - _INT16.size].decode()
    return intern(group_id), intern(prefix[topic_at:].decode())


def _encode_any(record: OffsetCommitRecord) -> bytes:
    version = FLEXIBLE_VERSION
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


@cache
def _value_encoder(version: int) -> Encoder:
    return encoder(OffsetCommitValue, version, version >= FLEXIBLE_VERSION)


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) > STRING_BYTES_MAX:
        raise RecordError(f"a string of {len(data)} bytes; a key holds {STRING_BYTES_MAX}")
    return _INT16.pack(len(data)) + data
