"""A partition's log, read from its first batch to its last, becomes its durable state."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from drumbeat.core.control_records import ControlType, read_control_type
from drumbeat.core.record_codec import decode
from drumbeat.core.records import NO_PRODUCER_ID, RecordError, UnknownRecord
from drumbeat.core.reducer import apply, end_transaction
from drumbeat.core.state import State
from drumbeat.log.port import LogBatch, PartitionLog
from drumbeat.protocol.record_batch import CorruptBatch
from drumbeat.protocol.records import decode_records, decode_rows


class UnreadableLog(Exception):  # noqa: N818 - what was found
    """A record that cannot be read; the message says where."""


class Loaded(NamedTuple):
    state: State
    records: int
    unknown: int  # records of a type that this version does not know; they were skipped


def load(log: PartitionLog) -> Loaded:
    """Blocking; memory is bounded by the state, not the log. Raises UnreadableLog, CorruptLog."""
    # Nothing that is loaded is garbage; looking for some would cost a third of the time.
    with _no_garbage_collection():
        return _load(log)


def _load(log: PartitionLog) -> Loaded:
    state = State()
    records = unknown = 0
    for batch in log.batches_from(log.start_offset):
        try:
            unknown += _apply_batch(state, batch)
        except (RecordError, CorruptBatch) as problem:
            raise UnreadableLog(
                f"{log.topic_partition}, batch at offset {batch.header.base_offset}: {problem}"
            ) from problem
        records += batch.header.record_count
    return Loaded(state, records, unknown)


def _apply_batch(state: State, batch: LogBatch) -> int:
    header = batch.header
    if header.is_control:
        for record in decode_records(batch.data):
            control_type = read_control_type(record.key)
            if control_type is not None:
                is_committed = control_type is ControlType.COMMIT
                end_transaction(state, header.producer_id, is_committed)
        return 0
    producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
    unknown = 0
    for log_offset, _timestamp, key, value, _headers in decode_rows(batch.data, header):
        fact = decode(key, value)
        if type(fact) is UnknownRecord:
            unknown += 1
        apply(state, fact, log_offset, producer_id)
    return unknown


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
