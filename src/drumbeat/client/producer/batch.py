"""Records of one partition that travel together, and what became of them.

Pure. Records are kept as plain tuples and encoded at once when the batch is sent: that costs a
quarter of encoding them one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from operator import attrgetter
from typing import Final, NamedTuple

from drumbeat.client.errors import KafkaError
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import HEADER_BYTES
from drumbeat.protocol.record_section import Headers, Row
from drumbeat.protocol.records import BatchOptions, Record, encode_batch

NO_OFFSET: Final = -1
NO_TIMESTAMP: Final = -1
NO_SEQUENCE: Final = -1

# Length, attributes, timestamp delta, offset delta, two lengths, header count: what they take in a
# record of some kilobytes. A larger record's longer varints vanish beside its value.
RECORD_OVERHEAD: Final = 12
_HEADER_OVERHEAD: Final = 4
_FIRST = attrgetter("first")


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int = -1
    epoch: int = -1


NO_PRODUCER: Final = ProducerIdAndEpoch()


def headers_size(headers: Headers) -> int:
    """About what the headers take in a batch."""
    return sum(len(name) + len(value or b"") + _HEADER_OVERHEAD for name, value in headers)


class Outcome(NamedTuple):
    """What became of the records from index `first` on, up to the next outcome's."""

    first: int
    base_offset: int = NO_OFFSET
    log_append_time_ms: int = NO_TIMESTAMP
    error: Exception | None = None
    record_errors: Mapping[int, KafkaError] = {}  # by index in the batch that was refused


class ProduceResult:
    """Shared by all records that were appended to one batch, also after that was split."""

    __slots__ = ("_callbacks", "_outcomes", "_pending", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self._pending = 1  # batches that carry these records
        self._outcomes: list[Outcome] = []
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_done(self) -> bool:
        return not self._pending

    def when_done(self, callback: Callable[[], object]) -> None:
        """Call it when all records have an outcome; at once if they have."""
        if self.is_done:
            callback()
        else:
            self._callbacks.append(callback)

    def split(self, parts: int) -> None:
        """One of the batches is now `parts` of them."""
        self._pending += parts - 1

    def complete(self, outcome: Outcome) -> list[Callable[[], object]]:
        """One batch is through; what to call if it was the last."""
        self._outcomes.append(outcome)
        self._pending -= 1
        if self._pending:
            return []
        self._outcomes.sort(key=_FIRST)
        callbacks, self._callbacks = self._callbacks, []
        return callbacks

    def outcome_of(self, index: int) -> tuple[Outcome, int]:
        """The outcome of the record at `index`, and its place in the batch that had it."""
        outcomes = self._outcomes
        found = outcomes[0]
        if len(outcomes) > 1:
            found = outcomes[bisect_right(outcomes, index, key=_FIRST) - 1]
        return found, index - found.first


class ProducerBatch:
    __slots__ = (
        "attempts",
        "created_ms",
        "drained_ms",
        "encoded",
        "first",
        "is_done",
        "is_full",
        "is_sequence_reset",
        "leader",
        "producer",
        "result",
        "retry_at_ms",
        "rows",
        "sequence",
        "size",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition, created_ms: int) -> None:
        self.topic_partition = topic_partition
        self.created_ms = created_ms
        self.drained_ms = created_ms
        self.rows: list[Row] = []
        self.size = HEADER_BYTES  # about what it takes, uncompressed
        self.is_full = False
        self.is_done = False
        self.first = 0  # index of the first row among the records of `result`
        self.result = ProduceResult(topic_partition)
        self.attempts = 0  # times it was sent and has to be sent again
        self.retry_at_ms = created_ms
        self.leader = -1  # the node it was last sent to
        self.producer = NO_PRODUCER
        self.sequence = NO_SEQUENCE  # of the first record
        self.is_sequence_reset = False  # since it was last encoded
        self.encoded: bytes | None = None

    def __repr__(self) -> str:
        return f"<{len(self.rows)} records for {self.topic_partition}, sequence {self.sequence}>"

    @property
    def has_sequence(self) -> bool:
        return self.sequence != NO_SEQUENCE

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        size: int,
    ) -> int:
        """Add a record that takes about `size` bytes; its index."""
        rows = self.rows
        index = len(rows)
        rows.append((index, timestamp, key, value, headers))
        self.size += size
        return index

    def set_sequence(self, producer: ProducerIdAndEpoch, sequence: int) -> None:
        """For the first time, or again after an epoch bump."""
        self.is_sequence_reset = self.has_sequence
        self.producer = producer
        self.sequence = sequence
        self.encoded = None

    def encode(self, codec: Codec, level: int | None) -> bytes:
        """As it goes over the wire; kept for the case that it has to be sent again."""
        self.is_sequence_reset = False
        if self.encoded is None:
            options = BatchOptions(
                codec=codec,
                producer_id=self.producer.producer_id,
                producer_epoch=self.producer.epoch,
                base_sequence=self.sequence,
                compression_level=level,
            )
            records = list(map(tuple.__new__, repeat(Record), self.rows))
            self.encoded = encode_batch(records, options)
        return self.encoded

    def complete(self, outcome: Outcome) -> list[Callable[[], object]]:
        """Tell the records; what to call now."""
        self.is_done = True
        self.encoded = None
        return self.result.complete(outcome._replace(first=self.first))

    def split(self, size_max: int) -> list[ProducerBatch]:
        """The same records in at least two smaller batches, with the sequence numbers they had."""
        half = HEADER_BYTES + sum(map(row_size, self.rows)) // 2
        runs = _runs(self.rows, min(size_max, half))
        parts = [self._part(rows, first) for rows, first in runs]
        self.result.split(len(parts))
        self.is_done = True
        self.encoded = None
        return parts

    def _part(self, rows: Iterable[Row], first: int) -> ProducerBatch:
        part = ProducerBatch(self.topic_partition, self.created_ms)
        for row in rows:
            part.append(*row[1:], row_size(row))
        part.is_full = True
        part.first = self.first + first
        part.result = self.result
        if self.has_sequence:
            part.set_sequence(self.producer, sequence_after(self.sequence, first))
        return part


def row_size(row: Row) -> int:
    _, _, key, value, headers = row
    return RECORD_OVERHEAD + len(key or b"") + len(value or b"") + headers_size(headers)


def sequence_after(sequence: int, count: int) -> int:
    """Sequence numbers are non-negative int32s that begin again at 0."""
    return (sequence + count) & 0x7FFFFFFF


def _runs(rows: list[Row], size_max: int) -> Iterator[tuple[list[Row], int]]:
    """Rows cut into runs of about `size_max` bytes, each with the index of its first."""
    run: list[Row] = []
    first, size = 0, HEADER_BYTES
    for index, row in enumerate(rows):
        if run and size + row_size(row) > size_max:
            yield run, first
            run, first, size = [], index, HEADER_BYTES
        run.append(row)
        size += row_size(row)
    yield run, first
