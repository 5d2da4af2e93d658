"""Idempotent producers: which sequence numbers a partition has seen from each producer id.

Pure. Kafka's rules (ProducerStateManager): an epoch only grows; within an epoch sequences follow
each other without a gap; the last five batches are remembered, so that a batch sent again is
recognised and answered with the offset it got the first time.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import NO_PRODUCER_ID, BatchHeader

REMEMBERED_BATCHES = 5
NO_PRODUCER_EPOCH = -1
_SEQUENCE_MAX = 2**31 - 1


class RememberedBatch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class Producer:
    __slots__ = ("batches", "epoch", "last_timestamp")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[RememberedBatch] = deque(maxlen=REMEMBERED_BATCHES)
        self.last_timestamp = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class Producers:
    """The producers of one partition."""

    def __init__(self, headers: Iterable[BatchHeader] = ()) -> None:
        self._by_id: dict[int, Producer] = {}
        for header in headers:
            self.remember(header, header.base_offset)

    def __len__(self) -> int:
        return len(self._by_id)

    def duplicate(self, header: BatchHeader) -> RememberedBatch | None:
        """The batch as it was appended before, if it was."""
        producer = self._by_id.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            return None
        sent = (header.base_sequence, header.last_sequence)
        return next(
            (b for b in producer.batches if (b.base_sequence, b.last_sequence) == sent), None
        )

    def check(self, header: BatchHeader) -> ErrorCode:
        """Whether this batch may be appended next."""
        producer = self._by_id.get(header.producer_id)
        if producer is None or producer.epoch == NO_PRODUCER_EPOCH:
            return ErrorCode.NONE  # forgotten by retention, perhaps: Kafka starts anew from here
        if header.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if header.producer_epoch > producer.epoch:
            is_next = header.base_sequence == 0
        else:
            is_next = header.base_sequence == _following(producer.last_sequence)
        return ErrorCode.NONE if is_next else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def remember(self, header: BatchHeader, base_offset: int) -> None:
        """Take note of an appended batch that got `base_offset`."""
        if header.producer_id <= NO_PRODUCER_ID or header.is_control:
            return
        producer = self._by_id.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            producer = self._by_id[header.producer_id] = Producer(header.producer_epoch)
        last_offset = base_offset + header.last_offset_delta
        producer.last_timestamp = header.max_timestamp
        producer.batches.append(
            RememberedBatch(
                header.base_sequence,
                header.last_sequence,
                base_offset,
                last_offset,
                header.max_timestamp,
            )
        )

    def expire(self, before_ms: int) -> None:
        """Forget producers that have written nothing since `before_ms`."""
        stale = [key for key, value in self._by_id.items() if value.last_timestamp < before_ms]
        for producer_id in stale:
            del self._by_id[producer_id]


def _following(sequence: int) -> int:
    return 0 if sequence == _SEQUENCE_MAX else sequence + 1
