"""The idempotent producer's books: who it is, and which sequence numbers are where.

Pure. The rules are those of Java's TransactionManager without transactions: at most one batch of
a partition is sent again at a time, a gap that cannot be closed is left behind by raising the
epoch (KIP-360), and sequences then begin again at 0.
"""

from __future__ import annotations

from typing import Final

from drumbeat.client.errors import RETRIABLE
from drumbeat.client.producer.batch import (
    NO_OFFSET,
    NO_PRODUCER,
    NO_SEQUENCE,
    ProducerBatch,
    ProducerIdAndEpoch,
    sequence_after,
)
from drumbeat.protocol.errors import ErrorCode

EPOCH_MAX: Final = 2**15 - 1
_HALF_OF_SEQUENCES = 2**30


class PartitionSequences:
    """One partition's."""

    __slots__ = (
        "in_flight",
        "is_unresolved",
        "last_acked_offset",
        "last_acked_sequence",
        "next_sequence",
        "producer",
    )

    def __init__(self) -> None:
        self.producer = NO_PRODUCER  # whom its newest batches are from
        self.next_sequence = 0
        self.last_acked_sequence = NO_SEQUENCE
        self.last_acked_offset = NO_OFFSET
        # Those with a sequence and no outcome, in order; being sent or waiting to be sent again.
        self.in_flight: list[ProducerBatch] = []
        self.is_unresolved = False  # an expired batch may or may not be in the log

    def is_next(self, sequence: int) -> bool:
        """Whether everything before `sequence` has been acknowledged."""
        return sequence == sequence_after(self.last_acked_sequence, 1)

    def restart(self, producer: ProducerIdAndEpoch) -> None:
        """Begin at 0 under another identity, with what is still on its way."""
        sequence = 0
        for batch in self.in_flight:
            batch.set_sequence(producer, sequence)
            sequence = sequence_after(sequence, len(batch.rows))
        self.producer = producer
        self.next_sequence = sequence
        self.last_acked_sequence = NO_SEQUENCE
        self.is_unresolved = False

    def remove(self, batch: ProducerBatch) -> None:
        if batch in self.in_flight:
            self.in_flight.remove(batch)

    def replace(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        place = self.in_flight.index(batch)
        self.in_flight[place : place + 1] = parts


class Sequences:
    """The producer's identity, and the partitions it has written to."""

    def __init__(self) -> None:
        self.producer = NO_PRODUCER
        self._unresolved: list[PartitionSequences] = []
        self._to_restart: list[PartitionSequences] = []

    @property
    def has_producer_id(self) -> bool:
        return self.producer != NO_PRODUCER

    def identify(self, producer: ProducerIdAndEpoch) -> None:
        """Take the identity that InitProducerId gave."""
        self.producer = producer
        self._restart()

    def settle(self) -> None:
        """Between requests: see which gaps have closed, and raise the epoch for those that cannot.

        When the epochs are used up, the producer needs another id: `has_producer_id` is False.
        """
        for partition in [p for p in self._unresolved if not p.in_flight]:
            self._unresolved.remove(partition)
            partition.is_unresolved = False
            if not partition.is_next(partition.next_sequence):
                self._request_restart(partition)
        if self._to_restart and self.has_producer_id:
            producer_id, epoch = self.producer
            is_last = epoch >= EPOCH_MAX
            self.producer = NO_PRODUCER if is_last else ProducerIdAndEpoch(producer_id, epoch + 1)
            self._restart()

    def may_send(self, partition: PartitionSequences, batch: ProducerBatch) -> bool:
        """Whether the partition's next batch may go now."""
        if not self.has_producer_id:
            return False
        if batch.has_sequence:  # sent again: only the oldest, or order is lost
            return partition.in_flight[0] is batch
        if not partition.in_flight:
            return not partition.is_unresolved
        # A broker that knows nothing of this producer takes whatever sequence comes first: until
        # the first batch is stored, a second one could overtake it.
        is_begun = partition.last_acked_sequence != NO_SEQUENCE
        return is_begun and not partition.is_unresolved and partition.producer == self.producer

    def assign(self, partition: PartitionSequences, batch: ProducerBatch) -> None:
        """Number a batch that goes out for the first time."""
        if partition.producer != self.producer:
            partition.restart(self.producer)
        batch.set_sequence(self.producer, partition.next_sequence)
        partition.next_sequence = sequence_after(partition.next_sequence, len(batch.rows))
        partition.in_flight.append(batch)

    def acknowledged(
        self, partition: PartitionSequences, batch: ProducerBatch, base_offset: int
    ) -> None:
        partition.remove(batch)
        partition.last_acked_offset = max(
            partition.last_acked_offset,
            NO_OFFSET if base_offset < 0 else base_offset + len(batch.rows) - 1,
        )
        last = sequence_after(batch.sequence, len(batch.rows) - 1)
        is_newer = 0 < (last - partition.last_acked_sequence) & 0x7FFFFFFF < _HALF_OF_SEQUENCES
        if batch.producer == partition.producer and is_newer:
            partition.last_acked_sequence = last

    def should_retry(
        self,
        partition: PartitionSequences,
        batch: ProducerBatch,
        error: ErrorCode,
        log_start_offset: int,
    ) -> bool:
        """Whether a refused batch is worth sending again; notes if that takes another epoch."""
        if error is ErrorCode.UNKNOWN_PRODUCER_ID:
            # Without the log's start the partition is moving, and the answer not final.
            if log_start_offset >= 0 and not batch.is_sequence_reset:
                self._request_restart(partition)
            return True
        if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # If an older batch is on its way again, that is what the broker misses. If none is,
            # it misses something that it will never get.
            is_oldest = partition.in_flight[:1] == [batch]
            if is_oldest and not batch.is_sequence_reset:
                self._request_restart(partition)
            return True
        return error in RETRIABLE

    def failed(
        self, partition: PartitionSequences, batch: ProducerBatch, *, is_refused: bool
    ) -> None:
        """Given up. `is_refused`: the broker has certainly not stored it, so there is a gap."""
        partition.remove(batch)
        if not batch.has_sequence:
            return
        if is_refused:
            self._request_restart(partition)
            return
        if not partition.is_unresolved:
            partition.is_unresolved = True
            self._unresolved.append(partition)

    def _request_restart(self, partition: PartitionSequences) -> None:
        if partition not in self._to_restart:
            self._to_restart.append(partition)

    def _restart(self) -> None:
        if not self.has_producer_id:
            return
        for partition in self._to_restart:
            partition.restart(self.producer)
            if partition in self._unresolved:
                self._unresolved.remove(partition)
        self._to_restart.clear()
