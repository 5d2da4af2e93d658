"""Keys and values of the groups of KIP-848, share groups and streams groups."""

from typing import Any

from drumbeat.core.modern_records import (
    LAYOUTS,
    ConsumerGroupMemberMetadataValue,
    NativeMemberMetadataValue,
)
from drumbeat.core.record_codec import read_message, read_version
from drumbeat.core.records import ModernGroupRecord, RecordError, RecordType


def decode_modern(record_type: RecordType, key: bytes, value: bytes | None) -> ModernGroupRecord:
    if value is not None:
        read_modern_value(record_type, value)
    return ModernGroupRecord(record_type, read_modern_key(record_type, key)[0], key, value)


def read_modern_key(record_type: RecordType, key: bytes) -> tuple[Any, ...]:
    """The key of a ModernGroupRecord as one of the messages in `core.modern_records`."""
    return read_message(LAYOUTS[record_type].key, 0, False, key)


def read_modern_value(record_type: RecordType, value: bytes) -> tuple[Any, ...]:
    """The value of a ModernGroupRecord as one of the messages in `core.modern_records`."""
    version = read_version(record_type.name, value)
    if version != 0:
        raise RecordError(f"{record_type.name} value has unknown version {version}")
    message = LAYOUTS[record_type].value
    if message is not ConsumerGroupMemberMetadataValue:
        return read_message(message, 0, True, value)
    try:
        return read_message(message, 0, True, value)
    except RecordError:
        native = read_message(NativeMemberMetadataValue, 0, True, value)
        return ConsumerGroupMemberMetadataValue(*native[:-1])
