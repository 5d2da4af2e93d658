"""What has to be known of a whole section of log before compaction can judge any batch in it.

Which transactions were aborted, which are still open, which end markers have outlived their
transaction, and which batches tell a producer's newest sequence number. Pure; Kafka keeps the same
knowledge in its transaction index and producer snapshots.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from drumbeat.protocol.record_batch import NO_PRODUCER_ID, BatchHeader
from drumbeat.protocol.records import ControlRecordType, control_record_type, decode_records
from drumbeat.protocol.varint import Buffer


class SurveyedBatch(NamedTuple):
    header: BatchHeader
    control_type: ControlRecordType | None  # None unless it ends a transaction


class Survey(NamedTuple):
    aborted: Mapping[int, list[tuple[int, int]]]  # by producer: first offset, the marker's offset
    empty_markers: Set[int]  # offsets of markers whose transaction has no batch left
    producer_ends: Set[int]  # last offsets of batches that keep a producer's sequence or epoch
    open_offset: int | None  # where the first transaction begins that nothing has ended yet

    def is_aborted(self, header: BatchHeader) -> bool:
        if not self.aborted or not header.is_transactional:
            return False
        ranges = self.aborted.get(header.producer_id, ())
        slot = bisect_right(ranges, header.base_offset, key=_first_offset) - 1
        return slot >= 0 and header.base_offset < ranges[slot][1]


def _first_offset(transaction: tuple[int, int]) -> int:
    return transaction[0]


def read_control_type(data: Buffer) -> ControlRecordType | None:
    """How the control batch ends its transaction; None if it is about something else or empty."""
    records = decode_records(data)
    return control_record_type(records[0]) if records else None


def survey(batches: Iterable[SurveyedBatch], *, active_since_ms: int) -> Survey:
    """Producers that have written nothing since `active_since_ms` are forgotten."""
    transactions = _Transactions()
    producers: dict[int, _Producer] = {}
    for header, control_type in batches:
        producer_id = header.producer_id
        if producer_id == NO_PRODUCER_ID:
            continue
        if control_type is not None:
            transactions.end(header, control_type)
        elif header.is_transactional and not header.is_control:
            transactions.begun.setdefault(producer_id, header.base_offset)
        producer = producers.get(producer_id)
        if producer is None or producer.epoch < header.producer_epoch:
            producer = producers[producer_id] = _Producer(header.producer_epoch)
        producer.note(header)
    return Survey(
        transactions.aborted,
        transactions.empty_markers,
        {p.end for p in producers.values() if p.last_timestamp >= active_since_ms},
        min(transactions.begun.values(), default=None),
    )


class _Transactions:
    def __init__(self) -> None:
        self.begun: dict[int, int] = {}  # by producer: first offset of what is open
        self.aborted: dict[int, list[tuple[int, int]]] = {}
        self.empty_markers: set[int] = set()

    def end(self, header: BatchHeader, control_type: ControlRecordType) -> None:
        first_offset = self.begun.pop(header.producer_id, None)
        if first_offset is None:
            self.empty_markers.add(header.base_offset)
        elif control_type is ControlRecordType.ABORT:
            ranges = self.aborted.setdefault(header.producer_id, [])
            ranges.append((first_offset, header.base_offset))


class _Producer:
    """One epoch of a producer: its last data batch, or else the marker that began the epoch."""

    __slots__ = ("end", "epoch", "has_data", "last_timestamp")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.has_data = False
        self.end = -1
        self.last_timestamp = -1

    def note(self, header: BatchHeader) -> None:
        self.last_timestamp = header.max_timestamp
        if header.is_control and self.has_data:
            return
        self.has_data = not header.is_control
        self.end = header.last_offset
