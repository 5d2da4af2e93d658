"""One partition's part of a fetch response, turned into records batch by batch as they are wanted.

Decompression and decoding wait until the application gets that far, so a poll costs what it
returns. Transactions that were aborted are left out for read_committed, markers always.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from drumbeat.client.config.consumer import ConsumerConfig, Deserializer
from drumbeat.client.consumer.ordinary_records import Origin, read_ordinary
from drumbeat.client.consumer.partition_state import PartitionState
from drumbeat.client.errors import CorruptRecordError, RecordTooLargeError, SerializationError
from drumbeat.client.values import ConsumerRecord, TimestampType, TopicPartition
from drumbeat.protocol.apis.fetch import AbortedTransaction, PartitionData
from drumbeat.protocol.record_batch import (
    CODEC_MASK,
    BatchHeader,
    CorruptBatch,
    check_crc,
    iter_headers,
)
from drumbeat.protocol.record_section import Row
from drumbeat.protocol.records import (
    ControlRecordType,
    Record,
    control_record_type,
    decode_rows,
)

_SEEK_PAST = "seek() past it to go on"
_new_tuple: Callable[..., ConsumerRecord] = tuple.__new__


class Reading(NamedTuple):
    """How the records of a consumer are read."""

    is_read_committed: bool
    check_crcs: bool
    key_deserializer: Deserializer | None
    value_deserializer: Deserializer | None

    @classmethod
    def of(cls, config: ConsumerConfig) -> Reading:
        return cls(
            config.isolation_level == "read_committed",
            config.check_crcs,
            config.key_deserializer,
            config.value_deserializer,
        )


class RecordSource:
    """Records from `next_offset` on; `end_offset` is what to fetch after all of them."""

    def __init__(
        self, state: PartitionState, offset: int, data: PartitionData, reading: Reading
    ) -> None:
        self.state = state
        self.next_offset = offset
        self.end_offset = offset
        self.leader_epoch = state.leader_epoch
        self.size = len(data.records or b"")
        self._data = data.records or b""
        self._reading = reading
        self._batches: deque[tuple[int, BatchHeader]] = deque()
        self._records: list[ConsumerRecord] = []  # of the batch being read
        self._index = 0
        self._taken: list[ConsumerRecord] = []  # before deserialisation
        self._after_batch = offset
        self._problem: CorruptRecordError | RecordTooLargeError | None = None
        self._aborted = _Aborted(data.aborted_transactions or ())
        self._find_batches()

    @property
    def is_begun(self) -> bool:
        """Whether records of it were handed out."""
        return bool(self._taken)

    @property
    def is_exhausted(self) -> bool:
        return self.next_offset >= self.end_offset and self._problem is None

    def take(self, limit: int) -> list[ConsumerRecord]:
        """Up to `limit` records; none only at the end. Errors are raised when they are reached."""
        taken: list[ConsumerRecord] = []
        while len(taken) < limit:
            if self._index < len(self._records):
                self._take_into(taken, limit)
                continue
            if not self._batches:
                break
            try:
                self._next_batch()
            except CorruptRecordError:
                if taken:
                    break  # again, and by itself, at the next call
                raise
        if not taken and self._problem is not None:
            raise self._problem
        self._taken = taken
        return self._deserialized(taken)

    def unread(self, count: int) -> None:
        """Put back the last `count` records of what `take` gave last."""
        records = self._taken[-count:]
        self._records = records + self._records[self._index :]
        self._index = 0
        self.next_offset = records[0].offset

    # -- batches ---------------------------------------------------------------------------------

    def _find_batches(self) -> None:
        try:
            for position, header in iter_headers(self._data):
                self._batches.append((position, header))
                self.end_offset = max(self.end_offset, header.next_offset)
        except CorruptBatch as problem:
            self._problem = self._corrupt(str(problem), self.end_offset)
        if self._data and not self._batches and self._problem is None:
            self._problem = RecordTooLargeError(
                f"{self.state.tp}: the batch at offset {self.next_offset} is larger than "
                f"max_partition_fetch_bytes, of which {len(self._data)} bytes came: raise it"
            )

    def _next_batch(self) -> None:
        position, header = self._batches[0]
        records = self._read(position, header)
        self._batches.popleft()
        self._records, self._index = records, 0
        self._after_batch = header.next_offset
        self.leader_epoch = header.partition_leader_epoch
        if not records:
            self.next_offset = max(self.next_offset, header.next_offset)

    def _read(self, position: int, header: BatchHeader) -> list[ConsumerRecord]:
        try:
            if self._reading.check_crcs:
                check_crc(self._data, position, header)
            if header.is_control or (header.is_transactional and self._reading.is_read_committed):
                self._aborted.advance(header.last_offset)
            if header.is_control:
                self._aborted.mark(self._data[position : position + header.size], header)
                return []
            if header.is_transactional and self._is_aborted(header):
                return []
            return self._records_of(position, header)
        except CorruptBatch as problem:
            raise self._corrupt(str(problem), header.base_offset) from problem

    def _is_aborted(self, header: BatchHeader) -> bool:
        return self._reading.is_read_committed and header.producer_id in self._aborted.producer_ids

    def _records_of(self, position: int, header: BatchHeader) -> list[ConsumerRecord]:
        is_stamped = header.is_log_append_time
        origin = Origin(
            *self.state.tp,
            TimestampType.LOG_APPEND_TIME if is_stamped else TimestampType.CREATE_TIME,
            header.partition_leader_epoch,
        )
        records = None
        if not (is_stamped or header.attributes & CODEC_MASK):
            records = read_ordinary(self._data, position, header, origin)
        if records is None:
            batch = memoryview(self._data)[position : position + header.size]
            records = _from_rows(decode_rows(batch, header), header, origin)
        if header.base_offset < self.next_offset:  # a fetch begins with the batch that has it
            records = [record for record in records if record.offset >= self.next_offset]
        return records

    def _corrupt(self, problem: str, offset: int) -> CorruptRecordError:
        return CorruptRecordError(
            f"{self.state.tp}: the batch at offset {offset} cannot be read ({problem}): "
            f"{_SEEK_PAST}"
        )

    # -- records ---------------------------------------------------------------------------------

    def _take_into(self, taken: list[ConsumerRecord], limit: int) -> None:
        stop = min(len(self._records), self._index + limit - len(taken))
        taken += self._records[self._index : stop]
        self._index = stop
        is_batch_done = stop == len(self._records)
        # The batch's own end: compaction may have removed its last records.
        self.next_offset = self._after_batch if is_batch_done else taken[-1].offset + 1

    def _deserialized(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        key, value = self._reading.key_deserializer, self._reading.value_deserializer
        if key is None and value is None:
            return records
        done: list[ConsumerRecord] = []
        for record in records:
            try:
                done.append(_deserialize(record, key, value))
            except SerializationError:
                self.unread(len(records) - len(done))
                if done:
                    return done  # what came before is not to be lost; the error is next
                raise
        return done


def _from_rows(rows: list[Row], header: BatchHeader, origin: Origin) -> list[ConsumerRecord]:
    topic, partition, timestamp_type, leader_epoch = origin
    time = header.max_timestamp if header.is_log_append_time else None
    return [
        ConsumerRecord(
            topic,
            partition,
            offset,
            timestamp if time is None else time,
            timestamp_type,
            key,
            value,
            headers,
            leader_epoch,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
        )
        for offset, timestamp, key, value, headers in rows
    ]


def _deserialize(
    record: ConsumerRecord, key: Deserializer | None, value: Deserializer | None
) -> ConsumerRecord:
    fields = list(record)
    if key is not None and record.key is not None:
        fields[5] = _call(key, record, "key", record.key)
    if value is not None and record.value is not None:
        fields[6] = _call(value, record, "value", record.value)
    return _new_tuple(ConsumerRecord, fields)


def _call(deserializer: Deserializer, record: ConsumerRecord, what: str, data: bytes) -> Any:
    try:
        return deserializer(record.topic, data)
    except Exception as problem:
        tp = TopicPartition(record.topic, record.partition)
        # The likely mistake of who passes json.loads as it is.
        called = "; it is called with (topic, bytes)" if isinstance(problem, TypeError) else ""
        raise SerializationError(
            f"{what}_deserializer raised {problem!r}{called}, for the record at offset "
            f"{record.offset} of {tp}: {_SEEK_PAST}"
        ) from problem


class _Aborted:
    """Which producers' transactional records are void at the batch being read."""

    def __init__(self, transactions: tuple[AbortedTransaction, ...]) -> None:
        self._coming = deque(sorted(transactions, key=lambda aborted: aborted.first_offset))
        self.producer_ids: set[int] = set()

    def advance(self, last_offset: int) -> None:
        """Count in the transactions that began up to the end of the batch."""
        while self._coming and self._coming[0].first_offset <= last_offset:
            self.producer_ids.add(self._coming.popleft().producer_id)

    def mark(self, batch: bytes, header: BatchHeader) -> None:
        """A marker ends its producer's transaction."""
        rows = decode_rows(batch, header)
        if rows and _marker(rows[0]) is ControlRecordType.ABORT:
            self.producer_ids.discard(header.producer_id)


def _marker(row: Row) -> ControlRecordType | None:
    return control_record_type(Record._make(row))
