"""All shards of this node: which group belongs to which, when each is loaded, and their jobs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from drumbeat.core.config import GroupConfig
from drumbeat.core.events import GroupEvent, GroupEventType
from drumbeat.core.offsets.expiry import on_topics_deleted, sweep
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import partition_for
from drumbeat.runtime.config import topic_config
from drumbeat.runtime.coordinator.counts import CoordinatorCounts
from drumbeat.runtime.coordinator.elections import Elections, Standing
from drumbeat.runtime.coordinator.event_log import EventLog
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

NewShard = Callable[[int, Partition, Environment], Shard]

_REFUSALS: Final[Mapping[Standing | None, ErrorCode | None]] = {
    Standing.AWAY: ErrorCode.NOT_COORDINATOR,
    Standing.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    Standing.SERVED: None,
    Standing.OPENING: None,
    None: None,
}


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
        self.elections = Elections(broker, self._shards, self._make_shard, self._tell_partition)
        self._turns = Turns()
        self._events = EventLog(self._open_events, broker.tasks)
        self.counts = CoordinatorCounts()

    async def start(self) -> None:
        """Begin to load what there is; groups are served as their partitions become ready."""
        topic = self._broker.topics.get(CONSUMER_OFFSETS)
        if topic is not None:
            self._router.partition_count = topic.partition_count
            for existing in self._broker.storage.logs.partitions():
                if existing.topic == CONSUMER_OFFSETS:
                    self.elections.begin_load(existing.partition)
        self._broker.tasks.spawn(self._sweep_for_ever())

    async def stop(self) -> None:
        """Send everybody who waits away, and take nothing more."""
        await self.elections.stop()
        await self._events.flush()

    # -- requests --------------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self._router.partition_count)

    def _submit_unserved(self, request: Request, body: Any, index: int) -> Any:
        error_code = self._refusal(index)
        if error_code is not None:
            return refuse(request, body, error_code)
        return self._broker.tasks.defer(self._open_then_submit(request, body, index))

    def _refusal(self, index: int) -> ErrorCode | None:
        """What a partition that is not served answers; None if it is about to be made."""
        if self.is_stopped:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return _REFUSALS[self.elections.standing(index)]

    async def _open_then_submit(self, request: Request, body: Any, index: int) -> Any:
        """The first requests of all to this partition wait for it to be made."""
        await self.ensure_topic()
        if self._refusal(index) is None and index not in self._shards:
            await self.elections.open_new(index)
        shard = self._shards.get(index)
        if shard is None or shard.state is not ACTIVE:  # unloaded in between, or loaded once more
            return refuse(request, body, self._refusal(index) or ErrorCode.NOT_COORDINATOR)
        result = shard.submit(request, body)
        return await answer_of(result) if isinstance(result, Deferred) else result

    def active_shards(self) -> list[Shard]:
        return [shard for shard in self._shards.values() if shard.state is ACTIVE]

    @property
    def is_stopped(self) -> bool:
        return self.elections.is_stopped

    def partition_states(self) -> PartitionStates:
        return PartitionStates(
            loading=self.elections.standing_at(Standing.LOADING),
            active=sorted(shard.index for shard in self.active_shards()),
            failed=self.elections.standing_at(Standing.AWAY),
        )

    @property
    def is_loading(self) -> bool:
        return bool(self.elections.standing_at(Standing.LOADING))

    # -- loading ---------------------------------------------------------------------------------

    async def ensure_topic(self) -> Topic | None:
        topic = self._broker.topics.get(CONSUMER_OFFSETS)
        return topic or await create_automatically(self._broker, CONSUMER_OFFSETS)

    async def unload(self, index: int) -> None:
        """Give a partition away: its groups hear NOT_COORDINATOR until it is loaded again."""
        await self.elections.unload(index)

    async def load(self, index: int, ready: Awaitable[object]) -> None:
        """Take a partition, anew if it is here; until `ready` its groups hear that it is loaded."""
        await self.elections.load(index, ready)

    def _make_shard(self, index: int, partition: Partition) -> Shard:
        return self._new_shard(index, partition, self._environment())

    def _environment(self) -> Environment:
        broker = self._broker
        return Environment(
            clock=broker.clock,
            config=group_config(broker),
            codec=Codec(broker.config.offsets_topic_compression_codec),
            topics=broker.topics,
            turns=self._turns,
            new_id=new_member_uuid,
            tell=self._tell,
            on_failed=self.elections.on_failed,
            counts=self.counts,
        )

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
