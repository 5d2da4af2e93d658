"""Which partitions of `__consumer_offsets` this node serves: loads and unloads, in any order.

Every call about a partition begins an epoch, and ends at once what the epoch before it served. A
load has to wait for the log to be opened, synced and read, and changes nothing until then; if the
epoch is another by that time, it just ends. So the last call wins in whatever order they finish,
and a partition never has two shards.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from drumbeat.core.events import GroupEventType
from drumbeat.log.errors import LogError, LogFull
from drumbeat.runtime.coordinator.loader import Loaded, UnreadableLog, load
from drumbeat.runtime.coordinator.shard import ACTIVE, Shard
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.topics import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from drumbeat.runtime.broker import Broker

log = logging.getLogger(__name__)


class Standing(Enum):
    """What becomes of a request to a partition."""

    OPENING = auto()  # it had no log until now, and takes too short to refuse anybody
    LOADING = auto()
    SERVED = auto()
    AWAY = auto()  # given away, or unreadable


_UNDER_WAY: Final = (Standing.OPENING, Standing.LOADING)

# (what happened, partition, records, when the load began or None)
TellPartition = Callable[[GroupEventType, int, int, int | None], None]


class Elections:
    def __init__(
        self,
        broker: "Broker",
        shards: dict[int, Shard],
        new_shard: Callable[[int, Partition], Shard],
        tell: TellPartition,
    ) -> None:
        self._broker = broker
        self._shards = shards
        self._new_shard = new_shard
        self._tell = tell
        self._epochs: dict[int, int] = {}
        self._standings: dict[int, Standing] = {}
        self._newest: dict[int, asyncio.Task[None]] = {}  # the load of each partition's epoch
        self._loads: dict[asyncio.Task[None], None] = {}  # those that were overtaken too
        self.is_stopped = False

    def standing(self, index: int) -> Standing | None:
        """None for a partition that nobody has asked for."""
        return self._standings.get(index)

    def standing_at(self, standing: Standing) -> list[int]:
        return sorted(index for index, found in self._standings.items() if found is standing)

    # -- calls -----------------------------------------------------------------------------------

    async def load(self, index: int, ready: Awaitable[object]) -> None:
        """Returns once it is served, or cannot be, or another call has come."""
        await _end_of(self._elect(index, Standing.LOADING, ready))

    async def unload(self, index: int) -> None:
        shard = self._begin_epoch(index, Standing.AWAY)
        if shard is not None:
            await shard.partition.log.sync()  # what it has written is there for the next owner

    def begin_load(self, index: int) -> None:
        if self._standings.get(index) not in _UNDER_WAY:
            self._elect(index, Standing.LOADING)

    async def open_new(self, index: int) -> None:
        """Make a partition that nobody has asked for; once, however many wait for it."""
        if self._standings.get(index) is None:
            self._elect(index, Standing.OPENING)
        await _end_of(self._newest[index])

    def on_failed(self, shard: Shard, problem: Exception) -> None:
        """A full disk has dropped what it could not keep: what it has is served again.

        After anything else nobody knows what the disk has; the partition stays down.
        """
        if isinstance(problem, LogFull):
            self._elect(shard.index, Standing.LOADING)
        else:
            self._begin_epoch(shard.index, Standing.AWAY)

    async def stop(self) -> None:
        """Serve nothing from now on, not even what is being loaded."""
        self.is_stopped = True
        loads = list(self._loads)
        for task in loads:
            task.cancel()
        await asyncio.gather(*loads, return_exceptions=True)
        for index in self._standings:
            self._begin_epoch(index, Standing.AWAY)
        self._standings.clear()

    # -- epochs ----------------------------------------------------------------------------------

    def _begin_epoch(self, index: int, standing: Standing) -> Shard | None:
        """Whoever has waited for the epoch before is sent away; its shard, if it had one."""
        self._epochs[index] = self._epochs.get(index, -1) + 1
        self._standings[index] = standing
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.stop()
            self._tell(GroupEventType.PARTITION_UNLOADED, index, 0, None)
        return shard

    def _elect(
        self, index: int, standing: Standing, ready: Awaitable[object] | None = None
    ) -> asyncio.Task[None]:
        self._begin_epoch(index, standing)
        task = asyncio.create_task(self._load(index, self._epochs[index], ready))
        self._newest[index] = task
        self._loads[task] = None
        task.add_done_callback(self._loads.pop)
        return task

    def _is_newest(self, index: int, epoch: int) -> bool:
        return not self.is_stopped and self._epochs[index] == epoch

    async def _load(self, index: int, epoch: int, ready: Awaitable[object] | None) -> None:
        try:
            if ready is not None:
                await ready
            started_ms = self._broker.clock.monotonic_ms()
            partition = await self._open(index)
            if partition is None or not self._is_newest(index, epoch):
                return
            loaded = await _read(partition)
            if loaded is not None and self._is_newest(index, epoch):
                self._serve(index, partition, loaded, started_ms)
        finally:
            if self._is_newest(index, epoch) and self._standings[index] in _UNDER_WAY:
                self._standings[index] = Standing.AWAY  # until the next call, as in Kafka

    async def _open(self, index: int) -> Partition | None:
        topic = self._broker.topics.get(CONSUMER_OFFSETS)
        return await self._broker.open_partition(topic, index) if topic else None

    def _serve(self, index: int, partition: Partition, loaded: Loaded, started_ms: int) -> None:
        shard = self._new_shard(index, partition)
        if loaded.unknown:
            log.warning("%s: skipped %d records of unknown types", shard, loaded.unknown)
        shard.activate(loaded.state)
        if shard.state is ACTIVE:  # or its log has failed already, and `on_failed` has been called
            self._shards[index] = shard
            self._standings[index] = Standing.SERVED
            self._tell(GroupEventType.PARTITION_LOADED, index, loaded.records, started_ms)


async def _read(partition: Partition) -> Loaded | None:
    """None if it cannot be read; the log says why."""
    try:
        with suppress(LogFull):  # then it has dropped what it could not keep
            # The shard before may have written what is not synced yet, and only that is read.
            await partition.log.sync()
        return await asyncio.to_thread(load, partition.log)
    except (UnreadableLog, LogError, OSError) as problem:
        name = partition.log.topic_partition
        fields = {"partition": name.partition, "reason": str(problem)}
        log.critical("%s cannot be served: %s", name, problem, extra={"fields": fields})
        return None


async def _end_of(task: asyncio.Task[None]) -> None:
    """Whoever waits can be cancelled without the task, and the task without them."""
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
