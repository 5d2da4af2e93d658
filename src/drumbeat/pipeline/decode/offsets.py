"""Offset commits and their tombstones: nearly every record of the log, read column by column.

A commit is read here if its key and value hold exactly what a coordinator writes, in any version
that one has written. Whatever is odd about the others is for `others` to tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drumbeat.core.offset_codec import PARTITION_BYTES
from drumbeat.core.records import NO_EXPIRE_TIMESTAMP, NO_LEADER_EPOCH, RecordType
from drumbeat.pipeline.decode.arena import Arena, Flags, Ints
from drumbeat.pipeline.decode.columns import Columns
from drumbeat.pipeline.decode.distinct import Codes, distinct, encode_fixed
from drumbeat.pipeline.decode.records import RecordIndex
from drumbeat.pipeline.decode.texts import is_valid, read_texts

KEY_VERSION: Final = 0  # of the message behind the record type

_INT16: Final = np.dtype(">i2")
_INT32: Final = np.dtype(">i4")
_KEY_BYTES_MIN: Final = 10  # type, two empty strings, partition
_NAMES_AT: Final = 2  # in a key, behind the record type
_LEGACY: Final = int(RecordType.LEGACY_OFFSET_COMMIT)
_CURRENT: Final = int(RecordType.OFFSET_COMMIT)

_VERSION_AND_OFFSET: Final = [("version", ">i2"), ("committed_offset", ">i8")]
_LEADER_EPOCH: Final = [("commit_leader_epoch", ">i4")]
_LENGTH: Final = [("length", ">i2")]
_COMPACT_LENGTH: Final = [("length", "u1"), ("length_more", "u1")]
_COMMIT_TS: Final = [("commit_ts", ">i8")]
_EXPIRE_TS: Final = [("expire_ts", ">i8")]
_TOPIC_ID: Final = [("tag_count", "u1"), ("tag_and_size", ">u2"), ("topic_id", "V16")]
_TOPIC_ID_TAG: Final = 0x0010  # tag 0, 16 bytes
_UNTAGGED_BYTES: Final = 9  # timestamp and the count of tagged fields
_LENGTH_BYTES: Final = 2
_ONE_BYTE_MAX: Final = 0x7F
_NEVER: Final = -1
_EMPTY: Final = pa.array([""])
_EITHER: Final = (_LEGACY, _CURRENT)

# What stands for "none" in fields that a version has to have.
_LEADER_EPOCH_OR: Final = ("commit_leader_epoch", NO_LEADER_EPOCH)
_EXPIRE_TS_OR: Final = ("expire_ts", NO_EXPIRE_TIMESTAMP)


class Layout(NamedTuple):
    """A version of the value: what stands before the metadata, and what behind it."""

    head: np.dtype[Any]
    tail: np.dtype[Any]
    record_types: tuple[int, ...] = (_CURRENT,)


_OLD: Final = np.dtype(_VERSION_AND_OFFSET + _LENGTH)
_OLD_TAIL: Final = np.dtype(_COMMIT_TS)
LAYOUTS: Final = (
    Layout(_OLD, _OLD_TAIL, _EITHER),
    Layout(_OLD, np.dtype(_COMMIT_TS + _EXPIRE_TS)),
    Layout(_OLD, _OLD_TAIL),
    Layout(np.dtype(_VERSION_AND_OFFSET + _LEADER_EPOCH + _LENGTH), _OLD_TAIL),
    Layout(
        np.dtype(_VERSION_AND_OFFSET + _LEADER_EPOCH + _COMPACT_LENGTH),
        np.dtype(_COMMIT_TS + _TOPIC_ID),
    ),
)


def decode_commits(arena: Arena, index: RecordIndex, is_data: Flags, columns: Columns) -> Flags:
    """Fill in what commits and their tombstones say; returns which of the records these are."""
    keys = _keys(arena, index, is_data)
    is_read = np.zeros(len(is_data), np.bool_)
    is_read[keys.rows[index.value_length[keys.rows] < 0]] = True
    for rows, version in _by_version(arena, index, keys):
        values = _read_values(arena, index, rows, LAYOUTS[version])
        is_read[_set_values(arena, values, version, columns)] = True
    _set_keys(arena, index, keys.part(is_read[keys.rows]), columns)
    return is_read


# -- keys ------------------------------------------------------------------------------------------


class _Names(NamedTuple):
    """Group ids and topics of distinct keys; null where there is something wrong with one."""

    groups: pa.Array
    topics: pa.Array
    is_sound: Flags


class _Keys(NamedTuple):
    """Sound keys of commits, each with a code for its names."""

    rows: Ints
    types: npt.NDArray[np.int16]
    codes: Codes
    names: _Names

    def part(self, chosen: Flags) -> _Keys:
        if chosen.all():
            return self
        return _Keys(self.rows[chosen], self.types[chosen], self.codes[chosen], self.names)


def _keys(arena: Arena, index: RecordIndex, is_data: Flags) -> _Keys:
    rows = np.flatnonzero(is_data & (index.key_length >= _KEY_BYTES_MIN))
    types = arena.gather(_INT16, index.key_start[rows])
    is_commit = (types == _CURRENT) | (types == _LEGACY)
    if not is_commit.all():
        rows, types = rows[is_commit], types[is_commit]
    starts, lengths = index.key_start[rows], index.key_length[rows] - PARTITION_BYTES
    codes, firsts = distinct(arena, starts, lengths)
    names = _read_names(arena, starts[firsts], starts[firsts] + lengths[firsts])
    return _Keys(rows, types, codes, names).part(names.is_sound[codes])


def _read_names(arena: Arena, starts: Ints, ends: Ints) -> _Names:
    """What stands between the record type and the partition, which it has to fill exactly."""
    group_at = starts + _NAMES_AT + _LENGTH_BYTES
    group_length = arena.gather(_INT16, group_at - _LENGTH_BYTES).astype(np.int64)
    topic_at = group_at + np.maximum(group_length, 0) + _LENGTH_BYTES
    topic_length = arena.gather(_INT16, topic_at - _LENGTH_BYTES).astype(np.int64)
    is_exact = (group_length >= 0) & (topic_length >= 0) & (topic_at + topic_length == ends)
    groups = read_texts(arena, group_at, np.where(is_exact, group_length, 0))
    topics = read_texts(arena, topic_at, np.where(is_exact, topic_length, 0))
    return _Names(groups, topics, is_exact & is_valid(groups) & is_valid(topics))


def _set_keys(arena: Arena, index: RecordIndex, keys: _Keys, columns: Columns) -> None:
    rows = keys.rows
    partition_at = index.key_start[rows] + index.key_length[rows] - PARTITION_BYTES
    columns.ints("partition").set(rows, arena.gather(_INT32, partition_at))
    columns.ints("key_type").set(rows, keys.types)
    columns.ints("key_version").set(rows, KEY_VERSION)
    columns.texts("group_id").set_coded(rows, keys.codes, keys.names.groups)
    columns.texts("topic").set_coded(rows, keys.codes, keys.names.topics)


# -- values ----------------------------------------------------------------------------------------


class _Values(NamedTuple):
    """Values of one version, all of whose bytes are accounted for."""

    rows: Ints
    head: npt.NDArray[Any]
    metadata_start: Ints
    metadata_length: Ints
    tail: npt.NDArray[Any]

    def part(self, chosen: Flags) -> _Values:
        return self if chosen.all() else _Values(*(column[chosen] for column in self))


def _by_version(arena: Arena, index: RecordIndex, keys: _Keys) -> Iterator[tuple[Ints, int]]:
    has_version = index.value_length[keys.rows] >= _INT16.itemsize
    versions = arena.gather(_INT16, index.value_start[keys.rows])
    for version, layout in enumerate(LAYOUTS):
        chosen = has_version & (versions == version)
        if layout.record_types != _EITHER:
            chosen &= keys.types == _CURRENT
        if chosen.any():
            yield keys.rows[chosen], version


def _read_values(arena: Arena, index: RecordIndex, rows: Ints, layout: Layout) -> _Values:
    start = index.value_start[rows]
    head = arena.gather(layout.head, start)
    length, length_bytes = _metadata_length(head)
    metadata_start = start + (layout.head.itemsize - _LENGTH_BYTES) + length_bytes
    tail_at = metadata_start + np.maximum(length, 0)
    tail = arena.gather(layout.tail, tail_at)
    end = start + index.value_length[rows]
    is_whole = (length >= 0) & (tail_at + _tail_bytes(tail) == end)
    return _Values(rows, head, metadata_start, length, tail).part(is_whole)


def _metadata_length(head: npt.NDArray[Any]) -> tuple[Ints, Ints | int]:
    """How long the metadata is, and how long that length; -1 where it cannot be right."""
    length = head["length"].astype(np.int64)
    if "length_more" not in _fields(head):
        return length, _LENGTH_BYTES
    is_long = length > _ONE_BYTE_MAX
    if not is_long.any():
        return length - 1, 1
    more = head["length_more"].astype(np.int64)
    length = np.where(is_long, (length & _ONE_BYTE_MAX) | more << 7, length) - 1
    length[is_long & ((more == 0) | (more > _ONE_BYTE_MAX))] = -1
    return length, np.where(is_long, 2, 1)


def _tail_bytes(tail: npt.NDArray[Any]) -> Ints | int:
    """How long the rest has to be for nothing to be left over."""
    if "topic_id" not in _fields(tail):
        return tail.dtype.itemsize
    is_topic_id = (tail["tag_count"] == 1) & (tail["tag_and_size"] == _TOPIC_ID_TAG)
    halves = np.ascontiguousarray(tail["topic_id"]).view(np.uint64)
    is_topic_id &= (halves[::2] | halves[1::2]) != 0
    with_tag = np.where(is_topic_id, tail.dtype.itemsize, _NEVER)
    return np.where(tail["tag_count"] == 0, _UNTAGGED_BYTES, with_tag)


def _set_values(arena: Arena, values: _Values, version: int, columns: Columns) -> Ints:
    """Returns the rows that were set: those whose metadata is text."""
    values = _set_metadata(arena, values, columns)
    rows, head, tail = values.rows, values.head, values.tail
    columns.ints("value_version").set(rows, version)
    columns.ints("committed_offset").set(rows, head["committed_offset"])
    columns.ints("commit_ts").set(rows, tail["commit_ts"])
    for fields, name, nothing in ((head, *_LEADER_EPOCH_OR), (tail, *_EXPIRE_TS_OR)):
        if name in _fields(fields):
            is_set = fields[name] != nothing
            columns.ints(name).set(rows[is_set], fields[name][is_set])
    if "topic_id" in _fields(tail):
        is_set = tail["tag_count"] > 0
        ids = encode_fixed(tail["topic_id"][is_set])
        codes, values_of = ids.indices.to_numpy(), ids.dictionary.cast(pa.binary())
        columns.texts("topic_id").set_coded(rows[is_set], codes, values_of)
    return rows


def _set_metadata(arena: Arena, values: _Values, columns: Columns) -> _Values:
    """Returns the values whose metadata is text."""
    column = columns.texts("metadata")
    is_noted = values.metadata_length > 0
    if not is_noted.any():
        column.set_coded(values.rows, 0, _EMPTY)
        return values
    noted = values.part(is_noted)
    codes, firsts = distinct(arena, noted.metadata_start, noted.metadata_length)
    texts = read_texts(arena, noted.metadata_start[firsts], noted.metadata_length[firsts])
    is_text = is_valid(texts)[codes]
    column.set_coded(noted.rows[is_text], codes[is_text], texts)
    column.set_coded(values.rows[~is_noted], 0, _EMPTY)
    is_sound = ~is_noted
    is_sound[is_noted] = is_text
    return values.part(is_sound)


def _fields(values: npt.NDArray[Any]) -> tuple[str, ...]:
    return values.dtype.names or ()
