"""Where a topic's records go: the queues of its partitions, and the partition for each record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from drumbeat.client.producer.accumulator import Accumulator, PartitionQueue
from drumbeat.client.producer.partitioner import DrawBelow, StickyPartitioner, partition_for_key
from drumbeat.client.values import TopicPartition

# topic, key, key_bytes, value, value_bytes, partition_count -> partition: as in Java.
Partitioner: TypeAlias = Callable[[str, Any, bytes | None, Any, bytes | None, int], int]


class TopicRoute:
    """One topic's. `candidates` are the partitions that records without a key may go to."""

    __slots__ = ("_accumulator", "_batch_size", "_sticky", "candidates", "queues", "topic")

    def __init__(
        self, topic: str, accumulator: Accumulator, batch_size: int, draw_below: DrawBelow
    ) -> None:
        self.topic = topic
        self._accumulator = accumulator
        self._batch_size = batch_size
        self._sticky = StickyPartitioner(batch_size, draw_below)
        self.queues: list[PartitionQueue] = []
        self.candidates: Sequence[int] = ()

    @property
    def is_idle(self) -> bool:
        return not any(queue.batches or queue.sequences.in_flight for queue in self.queues)

    def update(self, partition_count: int, with_leader: Sequence[int]) -> None:
        """Take note of new metadata. Fewer partitions: it is another topic of the same name."""
        if partition_count < len(self.queues):
            del self.queues[partition_count:]
            self._sticky.partition = -1
        for partition in range(len(self.queues), partition_count):
            self.queues.append(self._accumulator.queue(TopicPartition(self.topic, partition)))
        self.candidates = with_leader or range(partition_count)

    def by_key(self, key: bytes) -> PartitionQueue:
        queues = self.queues
        return queues[partition_for_key(key, len(queues))]

    def sticky(self, size: int) -> PartitionQueue:
        """The queue for a record of `size` bytes that may go anywhere."""
        sticky = self._sticky
        if sticky.partition >= 0:
            queue = self.queues[sticky.partition]
            batch = queue.open
            fits = batch is not None and batch.size + size <= self._batch_size
            if not sticky.is_over(size, fits_batch=fits):
                return queue
            if not fits:
                self._accumulator.close_batch(queue)
        sticky.begin(size, self.candidates)
        return self.queues[sticky.partition]
