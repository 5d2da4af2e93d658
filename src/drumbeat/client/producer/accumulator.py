"""Batches that wait to be sent, by partition: which are due, which have waited too long.

Pure: time, leaders and backoff are arguments. A partition's queue holds batches that are to be
sent again in front, in the order of their sequence numbers, and the one being filled at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from drumbeat.client.producer.batch import ProducerBatch
from drumbeat.client.producer.sequences import PartitionSequences, Sequences
from drumbeat.client.values import TopicPartition

LeaderOf: TypeAlias = Callable[[TopicPartition], int | None]


class AccumulatorSettings(NamedTuple):
    batch_size: int
    linger_ms: int
    delivery_timeout_ms: int
    max_request_size: int
    keeps_order_by_muting: bool = False  # one batch of a partition at a time


class Due(NamedTuple):
    """What could be sent, and when to look again."""

    nodes: frozenset[int]
    leaderless: frozenset[str]  # topics with batches for partitions whose leader is not known
    next_check_ms: int | None


class PartitionQueue:
    """What waits for one partition."""

    __slots__ = ("batches", "is_muted", "open", "sequences", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.batches: deque[ProducerBatch] = deque()
        self.open: ProducerBatch | None = None  # the last of them, while it takes records
        self.is_muted = False
        self.sequences = PartitionSequences()


class Accumulator:
    """`sequences` is None for a producer that is not idempotent."""

    def __init__(self, settings: AccumulatorSettings, sequences: Sequences | None) -> None:
        self._settings = settings
        self._sequences = sequences
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._waiting: dict[TopicPartition, PartitionQueue] = {}  # those with batches
        self._in_flight: dict[ProducerBatch, None] = {}
        self.used_bytes = 0
        self.waiters = 0  # for everything to be sent, or for memory: nothing lingers for them

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def incomplete(self) -> list[ProducerBatch]:
        """Every batch without an outcome."""
        waiting = [batch for queue in self._waiting.values() for batch in queue.batches]
        return [*self._in_flight, *waiting]

    # -- filling ---------------------------------------------------------------------------------

    def queue(self, topic_partition: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(topic_partition)
        if queue is None:
            queue = self._queues[topic_partition] = PartitionQueue(topic_partition)
        return queue

    def close_batch(self, queue: PartitionQueue) -> None:
        """It takes no more records, and need not linger."""
        if queue.open is not None:
            queue.open.is_full = True
            queue.open = None

    def open_batch(self, queue: PartitionQueue, now_ms: int) -> ProducerBatch:
        self.close_batch(queue)
        batch = queue.open = ProducerBatch(queue.topic_partition, now_ms)
        queue.batches.append(batch)
        self.used_bytes += batch.size
        self._waiting[queue.topic_partition] = queue
        return batch

    # -- sending ---------------------------------------------------------------------------------

    def due(self, leader_of: LeaderOf, now_ms: int) -> Due:
        """Nodes that lead a partition whose first batch should go now."""
        nodes: set[int] = set()
        leaderless: set[str] = set()
        next_check_ms: int | None = None
        for topic_partition, queue in self._waiting.items():
            leader = leader_of(topic_partition)
            if leader is None:
                leaderless.add(topic_partition.topic)
                continue
            if leader in nodes or queue.is_muted:
                continue
            due_ms = self._due_ms(queue, leader)
            if due_ms > now_ms:
                next_check_ms = due_ms if next_check_ms is None else min(next_check_ms, due_ms)
            elif self._may_send(queue):
                nodes.add(leader)
        return Due(frozenset(nodes), frozenset(leaderless), next_check_ms)

    def drain(self, node_id: int, leader_of: LeaderOf, now_ms: int) -> list[ProducerBatch]:
        """One batch of each of the node's partitions, within a request's size.

        Once the node gets a request, batches go along that have lingered for half of their time.
        The one being filled right now stays: it would leave almost empty.
        """
        drained: list[ProducerBatch] = []
        size = 0
        for queue in self._sendable(node_id, leader_of, now_ms):
            if drained and size + queue.batches[0].size > self._settings.max_request_size:
                break
            batch = self._take(queue, now_ms)
            batch.leader = node_id
            size += batch.size
            drained.append(batch)
        return drained

    def _sendable(self, node_id: int, leader_of: LeaderOf, now_ms: int) -> Iterator[PartitionQueue]:
        for topic_partition, queue in list(self._waiting.items()):
            if queue.is_muted or leader_of(topic_partition) != node_id:
                continue
            is_retry = queue.batches[0].attempts > 0
            early_ms = 0 if is_retry else (self._settings.linger_ms + 1) // 2
            if self._due_ms(queue, node_id) - early_ms <= now_ms and self._may_send(queue):
                yield queue

    def _take(self, queue: PartitionQueue, now_ms: int) -> ProducerBatch:
        batch = queue.batches.popleft()
        if queue.open is batch:
            queue.open = None
        del self._waiting[queue.topic_partition]
        if queue.batches:  # to the end, so that every partition has its turn
            self._waiting[queue.topic_partition] = queue
        if self._sequences is not None and not batch.has_sequence:
            self._sequences.assign(queue.sequences, batch)
        batch.drained_ms = now_ms
        self._in_flight[batch] = None
        queue.is_muted = self._settings.keeps_order_by_muting
        return batch

    def _due_ms(self, queue: PartitionQueue, leader: int) -> int:
        batch = queue.batches[0]
        if batch.attempts:  # another leader knows nothing of the failure
            return batch.retry_at_ms if leader == batch.leader else batch.created_ms
        if batch.is_full or len(queue.batches) > 1 or self.waiters:
            return batch.created_ms
        return batch.created_ms + self._settings.linger_ms

    def _may_send(self, queue: PartitionQueue) -> bool:
        sequences = self._sequences
        return sequences is None or sequences.may_send(queue.sequences, queue.batches[0])

    # -- after the answer ------------------------------------------------------------------------

    def retry(self, batch: ProducerBatch, at_ms: int) -> None:
        """Put it back in front, behind those with lower sequence numbers."""
        batch.attempts += 1
        batch.retry_at_ms = at_ms
        self._put_back(batch)

    def split(self, batch: ProducerBatch) -> None:
        """Put it back as several smaller ones, which are sent like new."""
        parts = batch.split(self._settings.batch_size)
        queue = self.queue(batch.topic_partition)
        if batch.has_sequence:
            queue.sequences.replace(batch, parts)
        self.used_bytes += sum(part.size for part in parts)
        self._forget(batch)
        for part in reversed(parts):
            self._put_back(part)

    def complete(self, batch: ProducerBatch) -> None:
        """It has an outcome: its memory is free."""
        self._forget(batch)

    def take_expired(self, now_ms: int) -> tuple[list[ProducerBatch], int | None]:
        """Batches older than the delivery timeout, and when the next ones will be."""
        limit_ms = now_ms - self._settings.delivery_timeout_ms
        expired = [batch for batch in self._in_flight if batch.created_ms <= limit_ms]
        for queue in list(self._waiting.values()):
            while queue.batches and queue.batches[0].created_ms <= limit_ms:
                expired.append(self._drop_first(queue))
        oldest = [queue.batches[0].created_ms for queue in self._waiting.values()]
        oldest += [batch.created_ms for batch in self._in_flight if batch.created_ms > limit_ms]
        return expired, min(oldest) + self._settings.delivery_timeout_ms if oldest else None

    def drop_all(self) -> list[ProducerBatch]:
        """Every batch without an outcome; nothing is left to send."""
        dropped = self.incomplete()
        for queue in self._waiting.values():
            queue.batches.clear()
            queue.open = None
        self._waiting.clear()
        return dropped

    def _drop_first(self, queue: PartitionQueue) -> ProducerBatch:
        batch = queue.batches.popleft()
        if queue.open is batch:
            queue.open = None
        if not queue.batches:
            del self._waiting[queue.topic_partition]
        return batch

    def _put_back(self, batch: ProducerBatch) -> None:
        queue = self.queue(batch.topic_partition)
        self._in_flight.pop(batch, None)
        queue.is_muted = False
        place = 0
        if batch.has_sequence:
            order = {one: index for index, one in enumerate(queue.sequences.in_flight)}
            while place < len(queue.batches) and (
                order.get(queue.batches[place], len(order)) < order.get(batch, -1)
            ):
                place += 1
        queue.batches.insert(place, batch)
        self._waiting[queue.topic_partition] = queue

    def _forget(self, batch: ProducerBatch) -> None:
        self._in_flight.pop(batch, None)
        self.used_bytes -= batch.size
        self.queue(batch.topic_partition).is_muted = False
