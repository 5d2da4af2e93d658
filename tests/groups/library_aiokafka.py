"""Members made of aiokafka. They live on one event loop; a thread each drives them from outside."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from groups.members import (
    POLL_S,
    SETTLE_TIMEOUT_S,
    Delivery,
    LibraryMember,
    Partition,
    next_offsets,
)

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
T = TypeVar("T")


_starting = threading.Lock()


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="aiokafka", daemon=True).start()
    return loop


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    with _starting:
        loop = _event_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return submit(coroutine).result(SETTLE_TIMEOUT_S)


class AiokafkaMember(LibraryMember):
    library = "aiokafka"

    def _open(self) -> None:
        run(self._start())

    async def _start(self) -> None:
        options = self.options
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self.servers,
            group_id=self.group_id,
            client_id=self.name,
            group_instance_id=options.instance_id,
            partition_assignment_strategy=(ASSIGNORS[options.assignor],),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=options.session_ms,
            max_poll_interval_ms=options.max_poll_ms,
            heartbeat_interval_ms=options.heartbeat_ms,
            metadata_max_age_ms=options.metadata_ms,
            max_poll_records=options.max_poll_records,
            fetch_max_wait_ms=100,
        )
        await self._consumer.start()

    def _subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        async def subscribe() -> None:
            self._consumer.subscribe(topics, pattern=pattern, listener=_Listener(self))

        run(subscribe())

    def _wait_for(self, coroutine: Coroutine[Any, Any, None]) -> None:
        run(coroutine)

    def _poll(self) -> None:
        self._wait_for(self._read())

    async def _read(self) -> None:
        """Delivered in the same step of the loop, so before any rebalance that comes after it."""
        polled = await self._consumer.getmany(timeout_ms=int(POLL_S * 1000))
        self.deliver(
            [Delivery(r.topic, r.partition, r.offset) for rs in polled.values() for r in rs]
        )

    def _assigned(self) -> frozenset[Partition]:
        return frozenset((p.topic, p.partition) for p in self._consumer.assignment())

    def _commit_pending(self) -> None:
        """A rebalance may come at any time but this: what is pending is asked for on the loop."""

        async def commit() -> None:
            pending = self._ledger.pending(self.name)
            if pending and await self._try_commit(next_offsets(pending)):
                self._ledger.commit(self.name, pending)

        self._wait_for(commit())

    def _commit(self, offsets: dict[Partition, int]) -> bool:
        return run(self._try_commit(offsets))

    async def _try_commit(self, offsets: dict[Partition, int]) -> bool:
        try:
            await self._consumer.commit({TopicPartition(*p): o for p, o in offsets.items()})
        except KafkaError:
            return False
        return True

    def _close(self) -> None:
        run(self._consumer.stop())


class _Listener(ConsumerRebalanceListener):
    def __init__(self, member: AiokafkaMember) -> None:
        self._member = member

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self._member.lose((p.topic, p.partition) for p in revoked)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """The member looks after every poll."""
