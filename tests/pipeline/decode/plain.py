"""The `log_records` rows of a log read the plain way: one record after the other, with the codecs
that the coordinator itself loads its state with. What the vectorised decoder is compared with."""

from typing import Any

from drumbeat.core.classic_records import OffsetCommitValue, OffsetKey
from drumbeat.core.control_records import read_control_type
from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    OffsetCommitRecord,
    OffsetCommitTombstone,
    RecordError,
    UnknownRecord,
)
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.protocol.compiler import encoder
from drumbeat.protocol.record_batch import BatchHeader, CorruptBatch, check_crc, iter_headers
from drumbeat.protocol.records import Record, decode_records

Row = dict[str, Any]
NAMES = [column.name for column in LOG_RECORDS.columns]
CLUSTER, PARTITION = "cluster-1", 7


def plain_rows(data: bytes) -> tuple[list[Row], int | None]:
    """All rows up to the first batch that is not sound, and where that is."""
    rows: list[Row] = []
    next_offset = end = 0
    try:
        for position, header in iter_headers(data):
            if header.base_offset < next_offset:
                return rows, position
            check_crc(data, position, header)
            records = decode_records(data[position : position + header.size])
            rows += [_row(header, record) for record in records]
            next_offset, end = header.next_offset, position + header.size
    except CorruptBatch:
        return rows, end
    return rows, None


def _row(header: BatchHeader, record: Record) -> Row:
    facts = {
        "cluster_id": CLUSTER,
        "log_partition": PARTITION,
        "log_offset": record.offset,
        "append_ts": record.timestamp,
        "ts_type": int(header.is_log_append_time),
        "batch_base_offset": header.base_offset,
        "leader_epoch": header.partition_leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "is_txn": header.is_transactional,
        "is_control": header.is_control,
        "is_tombstone": record.value is None and not header.is_control,
        "value_version": _int16(record.value),
        "key": record.key,
        "value": record.value,
        "key_bytes": -1 if record.key is None else len(record.key),
        "value_bytes": -1 if record.value is None else len(record.value),
    }
    facts |= _control(record.key) if header.is_control else data_facts(record.key, record.value)
    return {name: facts.get(name) for name in NAMES}


def _control(key: bytes | None) -> Row:
    try:
        control_type = read_control_type(key)
    except RecordError as error:
        return {"decode_error": str(error)}
    name = None if control_type is None else control_type.name
    return {"control_type": name, "key_version": _int16(key)}


def data_facts(key: bytes | None, value: bytes | None) -> Row:
    key_type = {"key_type": _int16(key)}
    try:
        record = decode(key, value)
    except RecordError as error:
        of_key = {} if value is None else data_facts(key, None)
        of_key = {name: fact for name, fact in of_key.items() if name not in ("key", "value")}
        return of_key | key_type | {"decode_error": str(error)}
    if isinstance(record, UnknownRecord):
        return key_type | {"decode_error": f"unknown record type {record.record_type}"}
    facts = key_type | {"key_version": 0, "group_id": record.group_id}
    if not isinstance(record, OffsetCommitRecord | OffsetCommitTombstone):
        return facts
    facts |= {"topic": record.topic, "partition": record.partition}
    if is_canonical(record, key, value):
        facts |= {"key": None, "value": None}
    if isinstance(record, OffsetCommitRecord):
        facts |= {
            "committed_offset": record.committed_offset,
            "commit_leader_epoch": _unless(-1, record.leader_epoch),
            "metadata": record.metadata,
            "commit_ts": record.commit_timestamp_ms,
            "expire_ts": _unless(-1, record.expire_timestamp_ms),
            "topic_id": _unless(bytes(16), record.topic_id),
        }
    return facts


def is_canonical(record: Any, key: bytes, value: bytes | None) -> bool:
    """Whether key and value are what a coordinator writes for this record, to the byte."""
    written_key = key[:2] + encoder(OffsetKey, 0, False)(OffsetKey(*record[:3]))
    if written_key != key or value is None:
        return written_key == key
    version = _int16(value)
    written = encoder(OffsetCommitValue, version, version >= 4)(OffsetCommitValue(*record[3:]))
    return value[:2] + written == value


def _unless(nothing: Any, value: Any) -> Any:
    return None if value == nothing else value


def _int16(data: bytes | None) -> int | None:
    return None if data is None or len(data) < 2 else int.from_bytes(data[:2], "big", signed=True)
