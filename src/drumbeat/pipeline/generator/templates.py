"""Batches made by stamping numbers into a copy of one that the protocol's encoder wrote.

All batches of one member differ in offsets, times and checksum only, and those stand at the
same place in each. Finding the places once makes a million records a second possible.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from drumbeat.core.record_codec import encode
from drumbeat.core.records import OffsetCommitRecord
from drumbeat.pipeline.generator.behaviour import Ints
from drumbeat.pipeline.generator.plan import GroupPlan
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    Record,
    encode_batch,
    encode_control_batch,
)

LEADER_EPOCH: Final = 0
PRODUCER_EPOCH: Final = 0

_CRC_AT: Final = 17
_CHECKED_AT: Final = 21  # the checksum covers everything from here on
_TIMESTAMPS_AT: Final = (27, 35)  # base and maximum
_KEEP_GIL: Final = 0
_INT64: Final = struct.Struct(">q")
_OFFSET_MARK: Final = 0x7E5A_C3D1_9B42_0000  # no key, topic id or time looks like these
_TIME_MARK: Final = 0x7E5A_C3D1_9B43_0000

Bytes = npt.NDArray[np.uint8]


class Template(NamedTuple):
    """One batch, and the columns of its bytes that change."""

    data: Bytes
    records: int
    time_columns: Ints
    offset_columns: Ints

    def filled(self, times_ms: Ints, offsets: Ints) -> Bytes:
        """One row of bytes per batch; `offsets` has one row per batch and a column per record."""
        rows = np.tile(self.data, (len(times_ms), 1))
        stamps = _big_endian(times_ms).reshape(len(times_ms), 8)
        for at in _TIMESTAMPS_AT:
            rows[:, at : at + 8] = stamps
        if len(self.offset_columns):
            rows[:, self.time_columns] = np.tile(stamps, self.records)
            rows[:, self.offset_columns] = _big_endian(offsets).reshape(len(times_ms), -1)
        return rows


def commit_template(group: GroupPlan, slot: int) -> Template:
    """A commit of every partition of a slot."""
    owned = enumerate(group.slots[slot])
    rows = [_marked_commit(group, index, *place) for index, place in owned]
    data = encode_batch(rows, batch_options(group.producer_id))
    marks = range(len(rows))
    return Template(
        data=np.frombuffer(data, np.uint8),
        records=len(rows),
        time_columns=_columns(data, [_TIME_MARK + mark for mark in marks]),
        offset_columns=_columns(data, [_OFFSET_MARK + mark for mark in marks]),
    )


def marker_template(producer_id: int, control_type: ControlRecordType) -> Template:
    data = encode_control_batch(
        control_type,
        coordinator_epoch=LEADER_EPOCH,
        producer_id=producer_id,
        producer_epoch=PRODUCER_EPOCH,
        timestamp=0,
    )
    nothing = np.empty(0, np.int64)
    return Template(np.frombuffer(data, np.uint8), 1, nothing, nothing)


def sealed(rows: Bytes, base_offsets: Ints) -> list[memoryview]:
    """The batches of `rows`, each with its place in the log and its checksum."""
    count, size = rows.shape
    rows[:, :8] = _big_endian(base_offsets).reshape(count, 8)
    rows[:, 12:16] = 0
    flat = rows.reshape(-1).data
    ends = range(size, count * size + 1, size)
    checked = size - _CHECKED_AT
    sums = [crc32c(flat[end - checked : end], 0, _KEEP_GIL) for end in ends]
    rows[:, _CRC_AT:_CHECKED_AT] = np.array(sums, ">u4").view(np.uint8).reshape(count, 4)
    return [flat[end - size : end] for end in ends]


def batch_options(producer_id: int) -> BatchOptions:
    if producer_id < 0:
        return BatchOptions(partition_leader_epoch=LEADER_EPOCH)
    return BatchOptions(
        partition_leader_epoch=LEADER_EPOCH,
        producer_id=producer_id,
        producer_epoch=PRODUCER_EPOCH,
        is_transactional=True,
    )


def _marked_commit(group: GroupPlan, index: int, topic_index: int, partition: int) -> Record:
    topic = group.topics[topic_index]
    commit = OffsetCommitRecord(
        group_id=group.group_id,
        topic=topic.name,
        partition=partition,
        committed_offset=_OFFSET_MARK + index,
        leader_epoch=LEADER_EPOCH,
        metadata="",
        commit_timestamp_ms=_TIME_MARK + index,
        topic_id=topic.topic_id,
    )
    return Record(index, 0, *encode(commit))


def _columns(data: bytes, marks: list[int]) -> Ints:
    starts = [data.index(_INT64.pack(mark)) for mark in marks]
    return np.add.outer(starts, np.arange(8)).reshape(-1).astype(np.int64)


def _big_endian(numbers: Ints) -> Bytes:
    return np.ascontiguousarray(numbers, ">i8").view(np.uint8)
