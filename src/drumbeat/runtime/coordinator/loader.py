"""A partition's log, read from its first batch to its last, becomes its durable state."""

import gc
import threading
from typing import NamedTuple

from drumbeat.core.control_records import ControlType, read_control_type
from drumbeat.core.offset_chunks import OffsetChunk, read_offset_chunk
from drumbeat.core.record_codec import decode
from drumbeat.core.records import RecordError, UnknownRecord
from drumbeat.core.reducer import apply, apply_offsets, end_transaction
from drumbeat.core.state import State
from drumbeat.log.port import PartitionLog
from drumbeat.protocol.record_batch import (
    CODEC_MASK,
    NO_PRODUCER_ID,
    BatchHeader,
    CorruptBatch,
    read_header,
)
from drumbeat.protocol.records import decode_records, decode_rows


class UnreadableLog(Exception):  # noqa: N818 - what was found
    """A record that cannot be read; the message says where."""


class Loaded(NamedTuple):
    state: State
    records: int
    unknown: int  # records of a type that this version does not know; they were skipped


def load(log: PartitionLog) -> Loaded:
    """Blocking; memory is bounded by the state, not the log. Raises UnreadableLog, CorruptLog."""
    with _no_garbage_collection:
        return _load(log)


def _load(log: PartitionLog) -> Loaded:
    state = State()
    records = unknown = 0
    for chunk in log.chunks_from(log.start_offset):
        position = 0
        while position < len(chunk):
            commits = read_offset_chunk(chunk, position)
            _apply_commits(state, commits)
            records += commits.records
            position = commits.end
            if position == len(chunk):
                break  # it held nothing else, as most do
            header = read_header(chunk, position)
            try:
                unknown += _apply_batch(state, header, chunk[position : position + header.size])
            except (RecordError, CorruptBatch) as problem:
                raise UnreadableLog(
                    f"{log.topic_partition}, batch at offset {header.base_offset}: {problem}"
                ) from problem
            records += header.record_count
            position += header.size
    return Loaded(state, records, unknown)


def _apply_commits(state: State, commits: OffsetChunk, producer_id: int = NO_PRODUCER_ID) -> None:
    for group_id, offsets in commits.offsets.items():
        apply_offsets(state, group_id, offsets, producer_id)


def _apply_batch(state: State, header: BatchHeader, data: bytes) -> int:
    """Returns how many of its records are of unknown types."""
    if header.is_control:
        for record in decode_records(data):
            control_type = read_control_type(record.key)
            if control_type is not None:
                is_committed = control_type is ControlType.COMMIT
                end_transaction(state, header.producer_id, is_committed)
        return 0
    producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
    if header.is_transactional and not header.attributes & CODEC_MASK:
        commits = read_offset_chunk(data, 0, header.attributes)
        if commits.end == len(data):
            _apply_commits(state, commits, producer_id)
            return 0
    unknown = 0
    for log_offset, _timestamp, key, value, _headers in decode_rows(data, header):
        fact = decode(key, value)
        if type(fact) is UnknownRecord:
            unknown += 1
        apply(state, fact, log_offset, producer_id)
    return unknown


class _GarbageCollection:
    """Stands still while partitions are loaded, in whichever threads.

    Nothing that is loaded is garbage, and looking for some would take longer than loading. What
    was loaded goes to the oldest generation without having been looked at on the way there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loads = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._loads:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._loads += 1

    def __exit__(self, *problem: object) -> None:
        with self._lock:
            self._loads -= 1
            if not self._loads and self._was_enabled:
                gc.freeze()
                gc.unfreeze()
                gc.enable()


_no_garbage_collection = _GarbageCollection()
