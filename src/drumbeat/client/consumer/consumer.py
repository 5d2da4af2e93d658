"""The consumer: reads records from topics, alone or as a member of a group.

async with Consumer(bootstrap_servers="localhost:9092", group_id="billing") as consumer:
    consumer.subscribe(["orders"])
    async for record in consumer:
        ...

All methods are called on the event loop that `start` ran on; only `wakeup` may come from anywhere.
Membership, rebalance callbacks and automatic commits advance while the application is inside
`poll` (or asks for the next record); heartbeats go on by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.consumer.checks import checked_partitions
from drumbeat.client.consumer.committer import Offsets, OnCommit
from drumbeat.client.consumer.engine import Engine
from drumbeat.client.consumer.listener import RebalanceListener
from drumbeat.client.consumer.metrics import Metrics
from drumbeat.client.consumer.offset_lookup import Committed
from drumbeat.client.consumer.partition_state import OffsetReset
from drumbeat.client.errors import IllegalStateError
from drumbeat.client.net.metadata import PartitionMetadata
from drumbeat.client.topic_names import checked_topic
from drumbeat.client.values import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)

POLL_TIMEOUT_MS = 1_000
CLOSE_TIMEOUT_MS = 30_000

Polled = dict[TopicPartition, list[ConsumerRecord]]


class Consumer:
    """Takes Kafka's consumer options, in snake case; a mapping may have Kafka's dotted names."""

    def __init__(self, options: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._engine = Engine(options, named)

    async def __aenter__(self) -> Consumer:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Connect; raises NoBrokersAvailable, with each address and its reason, if none answers."""
        await self._engine.start()

    async def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """Commit if that is automatic, leave the group, disconnect; within `timeout_ms`.

        A static member (group_instance_id) does not leave: it is expected back.
        """
        await self._engine.close(timeout_ms)

    # -- records ---------------------------------------------------------------------------------

    async def poll(self, timeout_ms: int = POLL_TIMEOUT_MS) -> Polled:
        """Records, up to max_poll_records, by partition; waits up to `timeout_ms` for the first."""
        return await self._engine.rounds.collect(monotonic_ms() + timeout_ms)

    def __aiter__(self) -> Consumer:
        return self

    async def __anext__(self) -> ConsumerRecord:
        for record in self._engine.records:
            return record
        return next(await self.next_records())

    async def next_record(self) -> ConsumerRecord:
        """The next record, however long it takes to come."""
        for record in self._engine.records:
            return record
        return next(await self.next_records())

    async def next_records(self) -> Iterator[ConsumerRecord]:
        """Some records, to be taken one by one; those not taken are handed out again later."""
        return await self._engine.rounds.hand_out()

    def wakeup(self) -> None:
        """Have poll(), or the next one, raise WakeupError. Safe to call from any thread."""
        self._engine.wakeup()

    # -- what to read ----------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read topics, by name or by a pattern for whole names, as a member of the group."""
        if (pattern is None) == (not topics):
            raise IllegalStateError("subscribe() takes either topics or a pattern")
        chosen = [topics] if isinstance(topics, str) else list(topics)
        compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
        self._engine.subscribe(chosen, compiled, listener)

    async def unsubscribe(self) -> None:
        """Read nothing any more; leaves the group."""
        await self._engine.unsubscribe()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, without a group assigning them. Replaces what was assigned."""
        self._engine.assign(partitions)

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._engine.subscriptions.partitions)

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to; for a pattern, those that match."""
        return self._engine.subscribed_topics()

    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out nothing of these (of all, if none is named) until they are resumed."""
        self._engine.set_paused(partitions, True)

    def resume(self, *partitions: TopicPartition) -> None:
        self._engine.set_paused(partitions, False)

    def paused(self) -> frozenset[TopicPartition]:
        states = self._engine.subscriptions.partitions.values()
        return frozenset(state.tp for state in states if state.is_paused)

    # -- positions -------------------------------------------------------------------------------

    def seek(self, tp: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on at `offset`."""
        self._engine.seek(tp, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on at the first offset of these, or of all. Looked up when it is needed."""
        self._engine.reset(partitions, OffsetReset.EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._engine.reset(partitions, OffsetReset.LATEST)

    async def position(self, tp: TopicPartition, timeout_ms: int | None = None) -> int:
        """The offset of the next record to be handed out."""
        return await self._engine.position(tp, timeout_ms)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first offset whose record is not older, or None if there is no such record."""
        self._engine.check_open()
        for tp, timestamp in timestamps.items():
            if timestamp < 0:
                raise IllegalStateError(f"{tp}: timestamp {timestamp} is negative")
        return (await self._engine.lookup.by_timestamp(timestamps, timeout_ms)).offsets

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        return await self._bounds(partitions, OffsetReset.EARLIEST, timeout_ms)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The offset after the last record that this isolation_level may read."""
        return await self._bounds(partitions, OffsetReset.LATEST, timeout_ms)

    async def _bounds(
        self, partitions: Iterable[TopicPartition], bound: OffsetReset, timeout_ms: int | None
    ) -> dict[TopicPartition, int]:
        self._engine.check_open()
        wanted = dict.fromkeys(checked_partitions(partitions), int(bound))
        found = (await self._engine.lookup.by_timestamp(wanted, timeout_ms)).offsets
        return {tp: offset.offset for tp, offset in found.items() if offset is not None}

    def current_lag(self, tp: TopicPartition) -> int | None:
        """How far the position is behind the end, as of the last fetch; None if not known yet."""
        return self._engine.lag(tp)

    # -- commits ---------------------------------------------------------------------------------

    async def commit(self, offsets: Offsets | None = None, timeout_ms: int | None = None) -> None:
        """Commit the positions, or `offsets`, and wait until that is done."""
        await self._engine.commit(offsets, timeout_ms)

    def commit_async(
        self, offsets: Offsets | None = None, callback: OnCommit | None = None
    ) -> None:
        """Commit without waiting; `callback(offsets, error)` is called by a later poll."""
        self._engine.commit_async(offsets, callback)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> Committed:
        """What the group has committed; None where it has not."""
        return await self._engine.committed(partitions, timeout_ms)

    # -- the rest --------------------------------------------------------------------------------

    async def partitions_for(self, topic: str) -> list[PartitionMetadata] | None:
        """The partitions of a topic; None if there is no such topic."""
        self._engine.check_open()
        found = (await self._engine.cluster.describe((checked_topic(topic),))).topic(topic)
        return list(found.partitions) if found is not None else None

    async def list_topics(self) -> dict[str, list[PartitionMetadata]]:
        """All topics that this client may see."""
        self._engine.check_open()
        metadata = await self._engine.cluster.describe(None)
        return {name: list(topic.partitions) for name, topic in metadata.topics.items()}

    def group_metadata(self) -> ConsumerGroupMetadata:
        return self._engine.group_metadata()

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Have the group rebalance, starting with the next poll()."""
        self._engine.enforce_rebalance(reason)

    def metrics(self) -> Metrics:
        """By Kafka's group names, then by Kafka's metric names."""
        return self._engine.metrics_snapshot()
