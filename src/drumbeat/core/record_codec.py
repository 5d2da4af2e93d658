"""Records to the bytes that Kafka's coordinator writes, and back.

A key is an int16 record type and a plain message; a value is an int16 version and a message; a
null value is a tombstone. A type that is not known is an UnknownRecord: newer software may have
written it. A value of a known type that cannot be read is a RecordError: skipping it would
serve a state that is not the log's.
"""

import struct
from collections.abc import Iterable
from typing import Any, Final, assert_never

from drumbeat.core.classic_records import (
    GroupMetadataKey,
    GroupMetadataValue,
)
from drumbeat.core.offset_codec import (
    LEGACY_VERSIONS,
    STRING_BYTES_MAX,
    decode_offset_commit,
    decode_offset_key,
    decode_offset_value,
    encode_offset_commit,
    encode_offset_key,
)
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
    RecordError,
    RecordType,
    UnknownRecord,
)
from drumbeat.protocol.compiler import decoder, encoder
from drumbeat.protocol.errors import ProtocolError

GROUP_METADATA_VERSIONS = range(5)
_GROUP_METADATA_WRITTEN = 3
_GROUP_METADATA_FLEXIBLE = 4

BATCH_OVERHEAD_BYTES = 61
RECORD_OVERHEAD_BYTES = 21  # lengths, deltas and flags of one record at their widest

_UTF8_BYTES_PER_CHAR_MAX: Final = 4

# Those of groups that Drumbeat keeps and does not serve.
_MODERN_TYPES: Final = frozenset(RecordType) - {
    RecordType.LEGACY_OFFSET_COMMIT,
    RecordType.OFFSET_COMMIT,
    RecordType.GROUP_METADATA,
}

_INT16 = struct.Struct(">h")
_OFFSET_COMMIT = _INT16.pack(RecordType.OFFSET_COMMIT)


def encode(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value, byte for byte what Kafka 4.3 writes. RecordError if a string is too long."""
    if isinstance(record, OffsetCommitRecord):
        return encode_offset_commit(record)
    match record:
        case OffsetCommitTombstone():
            return encode_offset_key(*record), None
        case GroupMetadataRecord():
            return _encode_group_key(record.group_id), _encode_group_value(record)
        case GroupMetadataTombstone():
            return _encode_group_key(record.group_id), None
        case ModernGroupRecord() | UnknownRecord():
            return record.key, record.value
        case _:
            assert_never(record)


def decode(key: bytes | None, value: bytes | None) -> Record:
    if value is not None and key is not None and key[:2] == _OFFSET_COMMIT:
        return decode_offset_commit(key, value)
    if key is None or len(key) < _INT16.size:
        raise RecordError(f"record key {key!r} has no type")
    (record_type,) = _INT16.unpack_from(key)
    if record_type in (RecordType.OFFSET_COMMIT, RecordType.LEGACY_OFFSET_COMMIT):
        offset_key = decode_offset_key(key)
        if value is None:
            return OffsetCommitTombstone(*offset_key)
        return decode_offset_value(offset_key, value, LEGACY_VERSIONS)
    if record_type == RecordType.GROUP_METADATA:
        return _decode_group(read_message(GroupMetadataKey, 0, False, key)[0], value)
    if record_type in _MODERN_TYPES:
        # A node that has none of them need not wait for their messages to be declared.
        from drumbeat.core.modern_codec import decode_modern  # noqa: PLC0415

        return decode_modern(RecordType(record_type), key, value)
    return UnknownRecord(record_type, key, value)


def fits_in_batch(records: Iterable[Record], batch_bytes_max: int) -> bool:
    """Whether these records can be written, and together stay within one batch of that size."""
    size = BATCH_OVERHEAD_BYTES
    try:
        for record in records:
            key, value = encode(record)
            size += RECORD_OVERHEAD_BYTES + len(key) + len(value or b"")
    except RecordError:
        return False
    return size <= batch_bytes_max


# -- classic groups -------------------------------------------------------------------------------


def _encode_group_key(group_id: str) -> bytes:
    _check_strings(group_id)
    body = encoder(GroupMetadataKey, 0, False)(GroupMetadataKey(group_id))
    return _INT16.pack(RecordType.GROUP_METADATA) + body


def _encode_group_value(record: GroupMetadataRecord) -> bytes:
    _check_strings(record.protocol_type, record.protocol_name, record.leader)
    for member in record.members:
        _check_strings(*member[:4])
    members: tuple[Any, ...] = record.members  # field by field what a MemberMetadataValue is
    value = GroupMetadataValue(
        protocol_type=record.protocol_type,
        generation=record.generation_id,
        protocol=record.protocol_name,
        leader=record.leader,
        current_state_timestamp=record.state_timestamp_ms,
        members=members,
    )
    encode_value = encoder(GroupMetadataValue, _GROUP_METADATA_WRITTEN, False)
    return _INT16.pack(_GROUP_METADATA_WRITTEN) + encode_value(value)


def _decode_group(group_id: str, value: bytes | None) -> Record:
    if value is None:
        return GroupMetadataTombstone(group_id)
    version = read_version("group metadata", value)
    if version not in GROUP_METADATA_VERSIONS:
        raise RecordError(f"group metadata value has unknown version {version}")
    is_flexible = version >= _GROUP_METADATA_FLEXIBLE
    group = GroupMetadataValue(*read_message(GroupMetadataValue, version, is_flexible, value))
    return GroupMetadataRecord(
        group_id=group_id,
        protocol_type=group.protocol_type,
        generation_id=group.generation,
        protocol_name=group.protocol,
        leader=group.leader,
        state_timestamp_ms=group.current_state_timestamp,
        members=tuple(MemberMetadata(*member) for member in group.members),
    )


# -- shared ---------------------------------------------------------------------------------------


def read_version(name: str, value: bytes) -> int:
    """The int16 that a value begins with."""
    if len(value) < _INT16.size:
        raise RecordError(f"{name} value of {len(value)} bytes has no version")
    (version,) = _INT16.unpack_from(value)
    return int(version)


def read_message(
    message: type[Any], version: int, is_flexible: bool, data: bytes
) -> tuple[Any, ...]:
    """`data` behind its leading int16, as `message`."""
    try:
        fields: tuple[Any, ...] = decoder(message, version, is_flexible)(data, _INT16.size)
    except ProtocolError as problem:
        raise RecordError(str(problem)) from None
    return fields


def is_writable(text: str) -> bool:
    """Whether a string fits the int16 length that record keys and values give it."""
    return (
        len(text) * _UTF8_BYTES_PER_CHAR_MAX <= STRING_BYTES_MAX
        or len(text.encode()) <= STRING_BYTES_MAX
    )


def _check_strings(*texts: str | None) -> None:
    for text in texts:
        if text is not None and not is_writable(text):
            raise RecordError(f"a string of more than {STRING_BYTES_MAX} bytes")
