"""The disk of the simulated cluster: syncs take time and may fail, and a crash keeps what it likes.

It outlives the nodes. A node reaches it through a `Mount`, which is gone once the node is dead.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from drumbeat.log.errors import AppendFailed, Fenced, LogFull
from drumbeat.log.memory import MemoryStore
from drumbeat.log.memory_faults import Faults, SyncFault
from drumbeat.log.memory_log import MemoryPartitionLog
from drumbeat.log.memory_partition import StoredBatch
from drumbeat.log.port import Durability, LogSettings, PartitionLog, TopicPartition
from drumbeat.runtime.topics import CONSUMER_OFFSETS, Topic

STALL_MS = 60_000.0


@dataclass(frozen=True)
class DiskHabits:
    """How badly the disk behaves."""

    sync_ms: tuple[float, float] = (0.2, 2.0)
    slow_sync_ms: tuple[float, float] = (50.0, 3_000.0)
    is_slow: float = 0.0  # the share of syncs that are slow
    is_full: float = 0.0  # ... that find no space left
    is_failing: float = 0.0  # ... whose outcome nobody can know


class _RandomFaults(Faults):
    """Decides about each sync when it begins."""

    def __init__(self, rng: Random, on_failing: Callable[[], None]) -> None:
        super().__init__()
        self._rng = rng
        self._on_failing = on_failing
        self.habits = DiskHabits()

    def schedule(self, end: Callable[[SyncFault | None], None]) -> None:
        rng, habits = self._rng, self.habits
        bounds = habits.slow_sync_ms if rng.random() < habits.is_slow else habits.sync_ms
        asyncio.get_running_loop().call_later(rng.uniform(*bounds) / 1000, self._end, end)

    def _end(self, end: Callable[[SyncFault | None], None]) -> None:
        rng, habits = self._rng, self.habits
        if rng.random() < habits.is_failing:
            self._on_failing()
            end(SyncFault(AppendFailed, lands=rng.random() < 0.5))
        elif rng.random() < habits.is_full:
            end(SyncFault(LogFull, lands=False))
        else:
            end(None)


class Disk(MemoryStore):
    """Partition logs and the list of topics."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng
        self.on_failing: Callable[[], None] = lambda: None
        self.random_faults = _RandomFaults(rng, self._failing)
        self.faults = self.random_faults
        self.topics = TopicFolder()

    def _failing(self) -> None:
        self.on_failing()

    @property
    def habits(self) -> DiskHabits:
        return self.random_faults.habits

    def stall(self) -> None:
        """Syncs begin and do not end, until somebody sets other habits."""
        self.random_faults.habits = replace(self.habits, sync_ms=(STALL_MS, STALL_MS))

    def crash(self) -> tuple[int, int]:
        """Power goes. Of what was not synced any number of whole batches may be there, in order.

        Returns how many batches of group logs were not synced, and how many of these survived.
        """
        unsynced = survived = 0
        for log in list(self._held.values()):
            log.listen(None, None)  # whoever would be told is dead
            batches = unsynced_batches(log)
            kept = self._rng.randint(0, len(batches))
            log._partition.store(batches[:kept], log.settings)
            if log.topic_partition.topic == CONSUMER_OFFSETS:
                unsynced += len(batches)
                survived += kept
        self.power_cut()
        return unsynced, survived

    def batches(self, topic_partition: TopicPartition) -> list[StoredBatch]:
        """All that is durable."""
        stored = self._partitions.get(topic_partition)
        if stored is None:
            return []
        return [batch for segment in stored._segments for batch in segment.batches]


def unsynced_batches(log: PartitionLog) -> list[StoredBatch]:
    assert isinstance(log, MemoryPartitionLog)
    return [*log._in_flight, *log._staged]


class TopicFolder:
    """A runtime.topic_catalog.TopicStore whose topics outlive the node."""

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}
        self.names: dict[bytes, str] = {}  # by id, for ever

    def get(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def load(self) -> list[Topic]:
        return list(self._topics.values())

    def save(self, topic: Topic) -> None:
        self._topics[topic.name] = topic
        self.names[topic.topic_id] = topic.name

    def remove(self, topic: Topic) -> None:
        self._topics.pop(topic.name, None)


class Mount:
    """One node's way to the disk: a log.port.LogStore that a dead node cannot use any more."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._is_mounted = True

    def unmount(self) -> None:
        self._is_mounted = False

    def partitions(self) -> list[TopicPartition]:
        return self._disk.partitions()

    def topic_id(self, topic_partition: TopicPartition) -> str | None:
        return self._disk.topic_id(topic_partition)

    async def acquire(
        self,
        topic_partition: TopicPartition,
        settings: LogSettings,
        *,
        topic_id: str | None = None,
    ) -> PartitionLog:
        self._check()
        return await self._disk.acquire(topic_partition, settings, topic_id=topic_id)

    async def delete(self, topic_partition: TopicPartition) -> None:
        self._check()
        await self._disk.delete(topic_partition)

    def durability(self) -> Durability:
        return self._disk.durability()

    async def close(self) -> None:
        if self._is_mounted:
            await self._disk.close()

    def _check(self) -> None:
        if not self._is_mounted:
            raise Fenced("this node is dead")
