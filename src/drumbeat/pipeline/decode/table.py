"""Decoded records as one Arrow RecordBatch in the `log_records` schema."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drumbeat.pipeline.decode.arena import Arena
from drumbeat.pipeline.decode.columns import Columns
from drumbeat.pipeline.decode.headers import Batches
from drumbeat.pipeline.decode.offsets import decode_commits
from drumbeat.pipeline.decode.others import decode_others
from drumbeat.pipeline.decode.records import RecordIndex
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.protocol.record_batch import CONTROL_FLAG, LOG_APPEND_TIME_FLAG, TRANSACTIONAL_FLAG

# Their values do repeat, though most records have none: not worth a number each.
_RAW: Final = ("key", "value")


def _coded(field: pa.Field) -> pa.Field:
    """As a number into a dictionary, if it is text: what files are written from the fastest."""
    is_text = pa.types.is_string(field.type) or pa.types.is_binary(field.type)
    if not is_text or field.name in _RAW:
        return field
    return field.with_type(pa.dictionary(pa.int32(), field.type))


PLAIN: Final = LOG_RECORDS.arrow_schema
CODED: Final = pa.schema([_coded(field) for field in PLAIN])


class Origin(NamedTuple):
    """Whose log it is."""

    cluster_id: str
    log_partition: int


def record_batch(
    origin: Origin, arena: Arena, batches: Batches, index: RecordIndex, schema: pa.Schema = PLAIN
) -> pa.RecordBatch:
    """All records of the index, decoded as far as they can be; the schema is PLAIN or CODED."""
    required = _required_columns(batches, index)
    is_control = required["is_control"]
    count = len(index.batch)
    columns = Columns(count)
    is_read = decode_commits(arena, index, ~is_control, columns)
    if not is_read.all():
        decode_others(arena, index, np.flatnonzero(~is_read), is_control, columns)
    constants = origin._asdict()
    arrays = [
        _constant(constants[field.name], count, field.type)
        if field.name in constants
        else pa.array(required[field.name], field.type)
        if field.name in required
        else columns.to_arrow(field)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _required_columns(batches: Batches, index: RecordIndex) -> dict[str, npt.NDArray[Any]]:
    """What the batches and the index say of every record."""
    batch = index.batch
    attributes = batches.ints("attributes")
    has_append_time = (attributes & LOG_APPEND_TIME_FLAG) != 0
    created = batches.ints("base_timestamp")[batch] + index.timestamp_delta
    appended = batches.ints("max_timestamp")
    is_control = (attributes & CONTROL_FLAG) != 0
    return {
        "log_offset": batches.ints("base_offset")[batch] + index.offset_delta,
        "append_ts": np.where(has_append_time[batch], appended[batch], created),
        "ts_type": has_append_time.astype(np.int8)[batch],
        "batch_base_offset": batches.ints("base_offset")[batch],
        "leader_epoch": batches.ints("partition_leader_epoch").astype(np.int32)[batch],
        "producer_id": batches.ints("producer_id")[batch],
        "producer_epoch": batches.ints("producer_epoch").astype(np.int16)[batch],
        "is_txn": ((attributes & TRANSACTIONAL_FLAG) != 0)[batch],
        "is_control": is_control[batch],
        "is_tombstone": (index.value_length < 0) & ~is_control[batch],
        "key_bytes": index.key_length.astype(np.int32),
        "value_bytes": index.value_length.astype(np.int32),
    }


@lru_cache(maxsize=16)
def _constant(value: str | int, count: int, column_type: pa.DataType) -> pa.Array:
    """Runs are of few sizes, so most of them share these."""
    if not pa.types.is_dictionary(column_type):
        return pa.repeat(pa.scalar(value, column_type), count)
    codes = np.zeros(count, np.int32)
    return pa.DictionaryArray.from_arrays(codes, pa.array([value], column_type.value_type))
