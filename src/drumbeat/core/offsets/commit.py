"""From what a client wants to commit to the records that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drumbeat.core.config import GroupConfig
from drumbeat.core.offset_codec import STRING_BYTES_MAX
from drumbeat.core.record_codec import RECORD_OVERHEAD_BYTES, fits_in_batch
from drumbeat.core.records import NO_EXPIRE_TIMESTAMP, OffsetCommitRecord

_BROKER_RETENTION: Final = -1
_INT64_MAX: Final = 2**63 - 1
_UTF8_BYTES_PER_CHAR_MAX: Final = 4
# What a record takes besides group id and metadata; a topic's name has at most 249 bytes.
_RECORD_BYTES_MAX: Final = RECORD_OVERHEAD_BYTES + 249 + 64


def expire_timestamp_ms(now_ms: int, retention_time_ms: int) -> int:
    """When a commit that names its own retention (v2-4) expires."""
    if retention_time_ms == _BROKER_RETENTION:
        return NO_EXPIRE_TIMESTAMP
    # Kafka's sum runs over into the past when a client asks for ever; ours stops at the end.
    return min(now_ms + retention_time_ms, _INT64_MAX)


def is_metadata_too_large(metadata: str, config: GroupConfig) -> bool:
    """Kafka counts UTF-16 units, of which a character takes one or two."""
    units_max = config.offset_metadata_max_bytes
    if len(metadata) * 2 <= units_max:
        return False
    return len(metadata.encode("utf-16-le")) // 2 > units_max


def fits_one_batch(
    config: GroupConfig, group_id: str, records: Sequence[OffsetCommitRecord]
) -> bool:
    """One request's records must fit one batch: all of them are stored, or none."""
    group_bytes = len(group_id) * _UTF8_BYTES_PER_CHAR_MAX
    metadata_bytes = config.offset_metadata_max_bytes * _UTF8_BYTES_PER_CHAR_MAX
    bound = len(records) * (_RECORD_BYTES_MAX + group_bytes + metadata_bytes)
    is_writable = max(group_bytes, metadata_bytes) <= STRING_BYTES_MAX
    if is_writable and bound <= config.offsets_batch_bytes_max:
        return True
    return fits_in_batch(records, config.offsets_batch_bytes_max)
