"""Every record that is not a plain offset commit, one by one: they are few.

Group records, transaction markers, records of types that this version does not know, and damaged
ones. Their bytes are kept as they stand, and what cannot be read says why.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc

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
from drumbeat.pipeline.decode.texts import read_bytes
from drumbeat.protocol.schema import NULL_UUID

_INT16: Final = np.dtype(">i2")
_unpack_int16 = struct.Struct(">h").unpack_from
_NOTHING: Final = {
    "commit_leader_epoch": NO_LEADER_EPOCH,
    "expire_ts": NO_EXPIRE_TIMESTAMP,
    "topic_id": NULL_UUID,
}


class _Raw(NamedTuple):
    """Keys, or values, of some rows; those that are null have length -1."""

    rows: Ints
    starts: Ints
    lengths: Ints

    def part(self, chosen: Flags) -> _Raw:
        return _Raw(*(column[chosen] for column in self))


def decode_others(
    arena: Arena, index: RecordIndex, rows: Ints, is_control: Flags, columns: Columns
) -> None:
    """Fill in what these rows say."""
    are_control = is_control[rows]
    keys = _Raw(rows, index.key_start[rows], index.key_length[rows])
    values = _Raw(rows, index.value_start[rows], index.value_length[rows])
    _set_int16(arena, keys.part(~are_control), "key_type", columns)
    _set_int16(arena, values, "value_version", columns)
    said: defaultdict[str, tuple[list[int], list[Any]]] = defaultdict(lambda: ([], []))
    for row, is_marker, key, value in zip(
        rows.tolist(),
        are_control.tolist(),
        _set_raw(arena, keys, "key", columns),
        _set_raw(arena, values, "value", columns),
        strict=True,
    ):
        facts = control_facts(key) if is_marker else data_facts(key, value)
        for name, fact in facts.items():
            if fact is not None and fact != _NOTHING.get(name):
                said[name][0].append(row)
                said[name][1].append(fact)
    for name, (said_rows, facts_of) in said.items():
        columns.set(name, np.array(said_rows, np.int64), facts_of)


def _set_raw(arena: Arena, raw: _Raw, name: str, columns: Columns) -> list[bytes | None]:
    data = read_bytes(arena, raw.starts, np.maximum(raw.lengths, 0))
    if (raw.lengths < 0).any():
        data = pc.if_else(raw.lengths >= 0, data, None)
    columns.texts(name).set_coded(raw.rows, np.arange(len(data), dtype=np.int32), data)
    found: list[bytes | None] = data.to_pylist()
    return found


def _set_int16(arena: Arena, raw: _Raw, name: str, columns: Columns) -> None:
    """What the first two bytes say, where there are as many."""
    raw = raw.part(raw.lengths >= _INT16.itemsize)
    columns.ints(name).set(raw.rows, arena.gather(_INT16, raw.starts))


@lru_cache(maxsize=64)  # of the millions in a log, hardly two are different
def control_facts(key: bytes | None) -> Mapping[str, Any]:
    try:
        control_type = read_control_type(key)
    except RecordError as error:
        return {"decode_error": str(error)}
    assert key is not None
    name = None if control_type is None else control_type.name
    return {"control_type": name, "key_version": _unpack_int16(key)[0]}


def data_facts(key: bytes | None, value: bytes | None) -> Mapping[str, Any]:
    """What a record says, as far as it can be read."""
    try:
        return _record_facts(decode(key, value))
    except RecordError as error:
        facts = {"decode_error": str(error)}
    if value is not None:  # perhaps it is only the value that is damaged
        return {**data_facts(key, None), **facts}
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
