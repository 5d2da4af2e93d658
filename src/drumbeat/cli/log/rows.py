"""Batches and records of a log as rows, and what a record of `__consumer_offsets` says."""

from base64 import b64encode, urlsafe_b64encode
from typing import Any, NamedTuple

from drumbeat.cli.record_lines import headers_document, plain, time_or_none
from drumbeat.core.modern_codec import read_modern_key, read_modern_value
from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    GroupMetadataRecord,
    MemberMetadata,
    ModernGroupRecord,
    RecordError,
    UnknownRecord,
)
from drumbeat.protocol import consumer_protocol
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.record_batch import NO_PRODUCER_ID, BatchHeader, CorruptBatch
from drumbeat.protocol.records import Record, control_record_type

_FLAGS = {
    "control": "is_control",
    "transactional": "is_transactional",
    "append_time": "is_log_append_time",
    "delete_horizon": "has_delete_horizon",
}


class BatchRow(NamedTuple):
    position: int
    base_offset: int
    last_offset: int
    records: int
    max_timestamp: str | None
    codec: str
    size: int
    leader_epoch: int
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None
    flags: str | None
    crc: str

    def table_row(self) -> dict[str, Any]:
        """What fits on a line."""
        told = (self.producer_id, self.producer_epoch, self.base_sequence)
        is_idempotent = self.producer_id is not None
        return {
            "position": self.position,
            "offsets": f"{self.base_offset}-{self.last_offset}",
            "records": self.records,
            "max_timestamp": self.max_timestamp,
            "codec": self.codec,
            "bytes": self.size,
            "producer/epoch/seq": "/".join(map(str, told)) if is_idempotent else None,
            "flags": self.flags,
        }


class RecordRow(NamedTuple):
    offset: int
    timestamp: str | None
    key: Any
    value: Any
    headers: Any

    def table_row(self) -> dict[str, Any]:
        return self._asdict()


class OffsetsRow(NamedTuple):
    offset: int
    timestamp: str | None
    type: str
    group: str | None
    fields: dict[str, Any]

    def table_row(self) -> dict[str, Any]:
        says = _SUMMARIES.get(self.type)
        return self._asdict() | {"fields": says(self.fields) if says else self.fields or None}


def batch_row(position: int, header: BatchHeader) -> BatchRow:
    has_producer = header.producer_id != NO_PRODUCER_ID
    flags = [name for name, attribute in _FLAGS.items() if getattr(header, attribute)]
    return BatchRow(
        position=position,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        records=header.record_count,
        max_timestamp=time_or_none(header.max_timestamp),
        codec=header.codec.name.lower(),
        size=header.size,
        leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id if has_producer else None,
        producer_epoch=header.producer_epoch if has_producer else None,
        base_sequence=header.base_sequence if has_producer else None,
        flags=" ".join(flags) or None,
        crc=f"{header.crc:08x}",
    )


def record_row(record: Record, *, is_control: bool) -> RecordRow:
    return RecordRow(
        offset=record.offset,
        timestamp=time_or_none(record.timestamp),
        key=_marker(record) if is_control else plain(record.key),
        value=None if is_control else plain(record.value),
        headers=headers_document(record.headers) or None,
    )


def offsets_row(record: Record, *, is_control: bool) -> OffsetsRow:
    """Never raises: what cannot be read is shown with the reason."""
    said: tuple[str, str | None, dict[str, Any]]
    if is_control:
        said = _marker(record), None, {}
    else:
        try:
            said = _decoded(record)
        except RecordError as problem:
            raw = {"key": plain(record.key), "value": plain(record.value), "error": str(problem)}
            said = "unreadable", None, raw
    kind, group_id, fields = said
    return OffsetsRow(record.offset, time_or_none(record.timestamp), kind, group_id, fields)


def _marker(record: Record) -> str:
    """A transaction's end."""
    try:
        marker = control_record_type(record)
    except CorruptBatch:
        marker = None
    return f"{marker.name.lower()} marker" if marker is not None else "unknown marker"


def _decoded(record: Record) -> tuple[str, str | None, dict[str, Any]]:
    """The kind of record, its group, and its fields."""
    fact = decode(record.key, record.value)
    if isinstance(fact, UnknownRecord):
        raw = {"key": plain(fact.key), "value": plain(fact.value)}
        return f"type {fact.record_type}", None, raw
    if isinstance(fact, ModernGroupRecord):
        key, value = read_modern_key(fact.record_type, fact.key), fact.value
        read = () if value is None else read_modern_value(fact.record_type, value)
        kind = fact.record_type.name.lower() + ("_tombstone" if value is None else "")
        return kind, fact.group_id, _document(key, "group_id") | _document(read)
    kind = _KINDS[type(fact).__name__]
    fields = _document(fact, "group_id")
    if isinstance(fact, GroupMetadataRecord):
        is_consumers = fact.protocol_type == consumer_protocol.PROTOCOL_TYPE
        fields["members"] = [_member(member, is_consumers) for member in fact.members]
    return kind, fact.group_id, fields


_KINDS = {
    "OffsetCommitRecord": "offset_commit",
    "OffsetCommitTombstone": "offset_commit_tombstone",
    "GroupMetadataRecord": "group_metadata",
    "GroupMetadataTombstone": "group_metadata_tombstone",
}


def _place(fields: dict[str, Any]) -> str:
    return f"{fields['topic']}-{fields['partition']}"


def _commit_text(fields: dict[str, Any]) -> str:
    noted = f", {fields['metadata']!r}" if fields["metadata"] else ""
    return f"{_place(fields)} at {fields['committed_offset']}{noted}"


def _group_text(fields: dict[str, Any]) -> str:
    members = [f"{one['client_id']}{one['client_host']}" for one in fields["members"]]
    names = f": {', '.join(members)}" if members else ""
    protocol = fields["protocol_name"] or "no protocol"
    return f"generation {fields['generation_id']}, {protocol}, {len(members)} members{names}"


# The records that most logs consist of, as a line; all others are shown as they are.
_SUMMARIES = {
    "offset_commit": _commit_text,
    "offset_commit_tombstone": _place,
    "group_metadata": _group_text,
}


def _member(member: MemberMetadata, is_consumer: bool) -> dict[str, Any]:
    fields = _document(member)
    if is_consumer:
        fields["subscription"] = _blob(member.subscription, consumer_protocol.decode_subscription)
        fields["assignment"] = _blob(member.assignment, consumer_protocol.decode_assignment)
    return fields


def _blob(data: bytes, read: Any) -> Any:
    """Members may put anything there; what is not of the consumer protocol is shown as it is."""
    try:
        return _value(read(data))
    except ProtocolError:
        return _value(data)


def _document(message: Any, *without: str) -> dict[str, Any]:
    fields = message._asdict() if hasattr(message, "_asdict") else {}
    return {
        name: _topic_id(value) if name == "topic_id" else _value(value)
        for name, value in fields.items()
        if name not in without
    }


def _topic_id(value: bytes) -> str:
    """As Kafka writes it."""
    return urlsafe_b64encode(value).decode().rstrip("=")


def _value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    if hasattr(value, "_asdict"):
        return _document(value)
    return [_value(item) for item in value] if isinstance(value, tuple) else value
