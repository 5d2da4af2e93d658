"""Partition logs in memory, for tests, simulation and servers that keep nothing.

The store plays the disk, which outlives its owners. `Faults` makes it misbehave on purpose.
"""

from __future__ import annotations

from drumbeat.log.errors import TopicIdMismatch
from drumbeat.log.memory_faults import Faults
from drumbeat.log.memory_log import MemoryPartitionLog
from drumbeat.log.memory_partition import MemoryPartition
from drumbeat.log.names import check_topic_id, directory_name
from drumbeat.log.port import Durability, EpochEntry, LogSettings, TopicPartition


class MemoryStore:
    """See `port.LogStore`."""

    def __init__(self) -> None:
        self.faults = Faults()
        self._partitions: dict[TopicPartition, MemoryPartition] = {}
        self._held: dict[TopicPartition, MemoryPartitionLog] = {}

    def partitions(self) -> list[TopicPartition]:
        return sorted(self._partitions)

    def topic_id(self, topic_partition: TopicPartition) -> str | None:
        partition = self._partitions.get(topic_partition)
        return None if partition is None else partition.topic_id

    async def acquire(
        self,
        topic_partition: TopicPartition,
        settings: LogSettings,
        *,
        topic_id: str | None = None,
    ) -> MemoryPartitionLog:
        directory_name(topic_partition)  # the same names as on disk
        await self._expel_owner(topic_partition, "a newer owner acquired the partition")
        partition = self._partitions.setdefault(topic_partition, MemoryPartition(topic_partition))
        _ensure_topic_id(partition, topic_id)
        epoch = partition.epochs.latest + 1
        partition.epochs.assign(EpochEntry(epoch, partition.end_offset))
        log = MemoryPartitionLog(partition, settings, self.faults, self._on_closed)
        self._held[topic_partition] = log
        return log

    async def delete(self, topic_partition: TopicPartition) -> None:
        await self._expel_owner(topic_partition, "the partition was deleted")
        self._partitions.pop(topic_partition, None)

    def durability(self) -> Durability:
        return Durability(
            proven=(), assumed=("this process lives: everything is in memory and ends with it",)
        )

    async def close(self) -> None:
        for log in list(self._held.values()):
            await log.release()

    # Faults that concern more than a sync

    def power_cut(self) -> None:
        """Every owner is gone, and whatever was not synced."""
        for log in list(self._held.values()):
            log.lose_power()

    def corrupt(self, topic_partition: TopicPartition, offset: int) -> None:
        self._partitions[topic_partition].corrupt(offset)

    async def _expel_owner(self, topic_partition: TopicPartition, reason: str) -> None:
        while (owner := self._held.get(topic_partition)) is not None:
            await owner.expel(reason)

    def _on_closed(self, log: MemoryPartitionLog) -> None:
        if self._held.get(log.topic_partition) is log:
            del self._held[log.topic_partition]


def _ensure_topic_id(partition: MemoryPartition, topic_id: str | None) -> None:
    if topic_id is None:
        return
    if partition.topic_id is None:
        partition.topic_id = check_topic_id(topic_id)
    elif partition.topic_id != topic_id:
        raise TopicIdMismatch(
            f"{partition.topic_partition} belongs to topic id {partition.topic_id}, not {topic_id}"
        )
