"""All shards of this node: which group belongs to which, when each is loaded, and their jobs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from drumbeat.core.config import GroupConfig
from drumbeat.core.events import GroupEvent, GroupEventType
from drumbeat.core.offsets.expiry import on_topics_deleted, sweep
from drumbeat.log.errors import LogError, LogFull
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import partition_for
from drumbeat.runtime.config import topic_config
from drumbeat.runtime.coordinator.counts import CoordinatorCounts
from drumbeat.runtime.coordinator.event_log import EventLog
from drumbeat.runtime.coordinator.loader import UnreadableLog, load
from drumbeat.runtime.coordinator.refusals import refuse
from drumbeat.runtime.coordinator.routing import ShardRouter
from drumbeat.runtime.coordinator.shard import ACTIVE, Environment, Shard
from drumbeat.runtime.coordinator.timers import Turns
from drumbeat.runtime.entropy import new_member_uuid
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Deferred, Request
from drumbeat.runtime.tasks import answer_of
from drumbeat.runtime.topic_changes import create_automatically
from drumbeat.runtime.topics import CONSUMER_OFFSETS, GROUP_EVENTS, Topic

if TYPE_CHECKING:
    from drumbeat.runtime.broker import Broker

log = logging.getLogger(__name__)


NewShard = Callable[[int, Partition, Environment], Shard]


class PartitionStates(NamedTuple):
    """Partitions of `__consumer_offsets`, by what becomes of a request to them."""

    loading: list[int]
    active: list[int]
    failed: list[int]  # given away, or unreadable


class GroupCoordinator:
    def __init__(self, broker: "Broker", new_shard: NewShard = Shard) -> None:
        self._broker = broker
        self._new_shard = new_shard
        self._router = ShardRouter(
            broker.config.offsets_topic_num_partitions, self._submit_unserved
        )
        self.submit = self._router.submit  # without a step in between: every request asks
        self._shards = self._router.shards
        self._loading: dict[int, asyncio.Task[None]] = {}
        self._new: set[int] = set()  # partitions that had no log when they were first asked for
        self._failed: set[int] = set()  # partitions that are given away, or cannot be read
        self._turns = Turns()
        self._is_stopped = False
        self._events = EventLog(self._open_events, broker.tasks)
        self.counts = CoordinatorCounts()

    async def start(self) -> None:
        """Begin to load what there is; groups are served as their partitions become ready."""
        topic = self._broker.topics.get(CONSUMER_OFFSETS)
        if topic is not None:
            self._router.partition_count = topic.partition_count
            for existing in self._broker.storage.logs.partitions():
                if existing.topic == CONSUMER_OFFSETS:
                    self._begin_load(existing.partition)
        self._broker.tasks.spawn(self._sweep_for_ever())

    async def stop(self) -> None:
        """Send everybody who waits away, and take nothing more."""
        self._is_stopped = True
        await self._stop_loading()
        for index, shard in self._shards.items():
            shard.stop()
            self._tell_partition(GroupEventType.PARTITION_UNLOADED, index, 0, None)
        self._shards.clear()
        await self._events.flush()

    async def _stop_loading(self) -> None:
        """Or a shard would begin to serve when nobody is there to stop it any more."""
        tasks = [task for task in self._loading.values() if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- requests --------------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self._router.partition_count)

    def _submit_unserved(self, request: Request, body: Any, index: int) -> Any:
        if self._is_stopped:
            return refuse(request, body, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if index in self._failed:
            return refuse(request, body, ErrorCode.NOT_COORDINATOR)
        if self._is_loading(index):
            return refuse(request, body, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return self._broker.tasks.defer(self._open_then_submit(request, body, index))

    async def _open_then_submit(self, request: Request, body: Any, index: int) -> Any:
        """The first requests of all to this partition wait for it to be made."""
        await self.ensure_topic()
        # Somebody else's request may have had it made meanwhile: once is enough, for a second
        # shard would know nothing of who is waiting in the first.
        if index not in self._shards and index not in self._failed:
            self._new.add(index)
            await asyncio.shield(self._begin_load(index))
        shard = self._shards.get(index)
        if shard is None or shard.state is not ACTIVE:
            return refuse(request, body, ErrorCode.NOT_COORDINATOR)
        result = shard.submit(request, body)
        return await answer_of(result) if isinstance(result, Deferred) else result

    def active_shards(self) -> list[Shard]:
        return [shard for shard in self._shards.values() if shard.state is ACTIVE]

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    def partition_states(self) -> PartitionStates:
        return PartitionStates(
            loading=sorted(index for index in self._loading if self._is_loading(index)),
            active=sorted(shard.index for shard in self.active_shards()),
            failed=sorted(self._failed),
        )

    @property
    def is_loading(self) -> bool:
        return any(self._is_loading(index) for index in self._loading)

    def _is_loading(self, index: int) -> bool:
        """Whether a log is being read. Opening one that is new takes too short to refuse."""
        task = self._loading.get(index)
        return task is not None and not task.done() and index not in self._new

    # -- loading ---------------------------------------------------------------------------------

    async def ensure_topic(self) -> Topic | None:
        topic = self._broker.topics.get(CONSUMER_OFFSETS)
        return topic or await create_automatically(self._broker, CONSUMER_OFFSETS)

    async def unload(self, index: int) -> None:
        """Give a partition away: its groups hear NOT_COORDINATOR until it is loaded again."""
        if (loading := self._loading.get(index)) is not None:
            await asyncio.shield(loading)
        self._failed.add(index)
        if (shard := self._shards.pop(index, None)) is not None:
            shard.stop()
            self._tell_partition(GroupEventType.PARTITION_UNLOADED, index, 0, None)
            await shard.partition.log.sync()  # or it would not all be there to load

    async def load(self, index: int, ready: Awaitable[object]) -> None:
        """Take a partition back; its groups hear that it is being loaded until `ready` too."""

        async def load_when_ready() -> None:
            await ready
            await self._load(index)

        self._failed.discard(index)
        self._loading[index] = asyncio.create_task(load_when_ready())
        await asyncio.shield(self._loading[index])

    def _begin_load(self, index: int) -> asyncio.Task[None]:
        task = self._loading.get(index)
        if task is None or task.done():
            task = self._loading[index] = asyncio.create_task(self._load(index))
        return task

    async def _load(self, index: int) -> None:
        topic = self._broker.topics.get(CONSUMER_OFFSETS)
        partition = await self._broker.open_partition(topic, index) if topic else None
        if partition is None:
            self._failed.add(index)
            return
        started_ms = self._broker.clock.monotonic_ms()
        shard = self._new_shard(index, partition, self._environment(partition))
        try:
            loaded = await asyncio.to_thread(load, partition.log)
        except (UnreadableLog, LogError, OSError) as problem:
            fields = {"partition": index, "reason": str(problem)}
            log.critical("%s cannot be served: %s", shard, problem, extra={"fields": fields})
            self._failed.add(index)
            return
        if loaded.unknown:
            log.warning("%s: skipped %d records of unknown types", shard, loaded.unknown)
        shard.activate(loaded.state)
        self._shards[index] = shard
        self._new.discard(index)
        self._tell_partition(GroupEventType.PARTITION_LOADED, index, loaded.records, started_ms)

    def _environment(self, partition: Partition) -> Environment:
        broker = self._broker
        return Environment(
            clock=broker.clock,
            config=group_config(broker),
            codec=Codec(broker.config.offsets_topic_compression_codec),
            topics=broker.topics,
            turns=self._turns,
            new_id=new_member_uuid,
            tell=self._tell,
            on_failed=self._on_failed,
            counts=self.counts,
        )

    def _on_failed(self, shard: Shard, problem: Exception) -> None:
        """A full disk has dropped what it could not keep: what it has is served again.

        After anything else nobody knows what the disk has; the partition stays down.
        """
        self._shards.pop(shard.index, None)
        self._tell_partition(GroupEventType.PARTITION_UNLOADED, shard.index, 0, None)
        if isinstance(problem, LogFull):
            self._begin_load(shard.index)
        else:
            self._failed.add(shard.index)

    def _tell_partition(
        self, kind: GroupEventType, index: int, records: int, started_ms: int | None
    ) -> None:
        now_ms = self._broker.clock.monotonic_ms()
        fields = {
            "partition": index,
            "records": records,
            "load_ms": now_ms - started_ms if started_ms is not None else 0,
        }
        self._tell([GroupEvent(kind, "", self._broker.clock.now_ms(), fields)])

    def _tell(self, events: Iterable[GroupEvent]) -> None:
        events = tuple(events)
        self.counts.note(events)
        self._events.tell(events)

    # -- jobs ------------------------------------------------------------------------------------

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._broker.config.offsets_retention_check_interval_ms / 1000)
            await self.sweep()

    async def sweep(self) -> None:
        """Delete expired offsets now; the periodic job does the same."""
        removed = await self._run_everywhere(sweep)
        self.counts.offset_expirations += removed

    async def on_topics_deleted(self, topics: Mapping[str, bytes]) -> None:
        await self._run_everywhere(on_topics_deleted, topics)

    async def _run_everywhere(self, job: Any, *arguments: Any) -> int:
        """How many offsets the job has removed."""
        removed = 0
        for shard in self.active_shards():
            for removed_here in shard.run(job, *arguments):
                removed += removed_here
                await asyncio.sleep(0)
            if shard.state is ACTIVE:
                shard.partition.log.request_sync()
        return removed

    async def flush_events(self) -> None:
        """Have `__group_events` tell all that has happened until now."""
        await self._events.flush()

    async def _open_events(self) -> Partition | None:
        topic = self._broker.topics.get(GROUP_EVENTS)
        topic = topic or await create_automatically(self._broker, GROUP_EVENTS)
        return await self._broker.open_partition(topic, 0) if topic else None


def group_config(broker: "Broker") -> GroupConfig:
    config = broker.config
    topic = broker.topics.get(CONSUMER_OFFSETS)
    return GroupConfig(
        group_min_session_timeout_ms=config.group_min_session_timeout_ms,
        group_max_session_timeout_ms=config.group_max_session_timeout_ms,
        group_initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        group_max_size=config.group_max_size,
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_minutes=config.offsets_retention_minutes,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        offsets_batch_bytes_max=topic_config(
            topic.configs if topic else {}, config
        ).max_message_bytes,
    )
