"""Every record that is not a plain offset commit, one by one: they are few.

Group records, transaction markers, records of types that this version does not know, and damaged
ones. Their bytes are kept as they stand, and what cannot be read says why.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any, Final

import numpy as np

from drumbeat.core.control_records import read_control_type
from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    NO_LEADER_EPOCH,
    GroupMetadataRecord,
    GroupMetadataTombstone,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
    RecordError,
    UnknownRecord,
)
from drumbeat.pipeline.decode.arena import Arena, Flags, Ints
from drumbeat.pipeline.decode.columns import Columns
from drumbeat.pipeline.decode.offsets import KEY_VERSION
from drumbeat.pipeline.decode.records import RecordIndex
from drumbeat.protocol.schema import NULL_UUID

_INT16: Final = struct.Struct(">h")
_NOTHING: Final = {
    "commit_leader_epoch": NO_LEADER_EPOCH,
    "expire_ts": NO_EXPIRE_TIMESTAMP,
    "topic_id": NULL_UUID,
}


def decode_others(
    arena: Arena, index: RecordIndex, rows: Ints, is_control: Flags, columns: Columns
) -> None:
    """Fill in what these rows say."""
    said: defaultdict[str, tuple[list[int], list[Any]]] = defaultdict(lambda: ([], []))
    for row in rows.tolist():
        key = _bytes(arena, index.key_start[row], index.key_length[row])
        value = _bytes(arena, index.value_start[row], index.value_length[row])
        facts = control_facts(key) if is_control[row] else data_facts(key, value)
        for name, fact in (facts | _raw_facts(key, value)).items():
            if fact is not None and fact != _NOTHING.get(name):
                said[name][0].append(row)
                said[name][1].append(fact)
    for name, (said_rows, facts_of) in said.items():
        columns.set(name, np.array(said_rows, np.int64), facts_of)


def control_facts(key: bytes | None) -> dict[str, Any]:
    try:
        control_type = read_control_type(key)
    except RecordError as error:
        return {"decode_error": str(error)}
    name = None if control_type is None else control_type.name
    return {"control_type": name, "key_version": _int16(key)}


def data_facts(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """What a record says, as far as it can be read."""
    try:
        return _record_facts(decode(key, value)) | {"key_type": _int16(key)}
    except RecordError as error:
        facts = {"key_type": _int16(key), "decode_error": str(error)}
    if value is not None:  # perhaps it is only the value that is damaged
        facts = data_facts(key, None) | facts
    return facts


def _record_facts(record: Record) -> dict[str, Any]:
    match record:
        case OffsetCommitRecord():
            return dict(zip(_COMMIT_COLUMNS, record, strict=True)) | _KNOWN_KEY
        case OffsetCommitTombstone():
            return dict(zip(_COMMIT_COLUMNS, record, strict=False)) | _KNOWN_KEY
        case GroupMetadataRecord() | GroupMetadataTombstone() | ModernGroupRecord():
            return {"group_id": record.group_id} | _KNOWN_KEY
        case UnknownRecord():
            return {"decode_error": f"unknown record type {record.record_type}"}


_KNOWN_KEY: Final = {"key_version": KEY_VERSION}
_COMMIT_COLUMNS: Final = (  # in the order of OffsetCommitRecord
    "group_id",
    "topic",
    "partition",
    "committed_offset",
    "commit_leader_epoch",
    "metadata",
    "commit_ts",
    "expire_ts",
    "topic_id",
)


def _raw_facts(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    return {"key": key, "value": value, "value_version": _int16(value)}


def _int16(data: bytes | None) -> int | None:
    if data is None or len(data) < _INT16.size:
        return None
    return int(_INT16.unpack_from(data)[0])


def _bytes(arena: Arena, start: np.int64, length: np.int64) -> bytes | None:
    return None if length < 0 else arena.bytes(int(start), int(start + length))
