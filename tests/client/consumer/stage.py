"""What the consumer's tests share: a broker, topics with records, and ways to wait."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from drumbeat.client.consumer.consumer import Consumer
from drumbeat.client.consumer.listener import RebalanceListener
from drumbeat.client.values import TopicPartition
from support.data_topics import Topic, batch, create_topic, fresh_name, produce_to
from support.wire import Wire

LIMIT_S = 20.0


class Stage:
    """Topics on a broker; every consumer made here knows it."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def topic(self, *, partitions: int = 1, records: int = 0, **configs: str) -> Topic:
        with Wire(self.servers) as wire:
            topic = create_topic(wire, partitions=partitions, **configs)
        self.produce(topic, records)
        return topic

    def produce(self, topic: Topic, records: int, *, start: int = 0) -> None:
        """That many to each partition, numbered; the value says where it was written."""
        if not records:
            return
        with Wire(self.servers) as wire:
            for partition in range(self.partitions_of(wire, topic)):
                values = (b"%d:%d" % (partition, start + n) for n in range(records))
                produce_to(wire, topic, batch(*values), partition=partition)

    def partitions_of(self, wire: Wire, topic: Topic) -> int:
        from support.topics import partition_count

        return partition_count(wire, topic.name)

    def consumer(self, **options: Any) -> Consumer:
        defaults = {
            "auto_offset_reset": "earliest",
            "heartbeat_interval_ms": 50,
            "fetch_max_wait_ms": 50,
        }
        return Consumer(bootstrap_servers=self.servers, **{**defaults, **options})

    def group(self, **options: Any) -> Consumer:
        return self.consumer(**{"group_id": fresh_name("group"), **options})


def tps(topic: Topic, *partitions: int) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for partition in partitions]


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT_S):
            await work()

    asyncio.run(limited())


async def read(consumer: Consumer, count: int) -> list[bytes]:
    """The values of the next `count` records or more."""
    values: list[bytes] = []
    while len(values) < count:
        for records in (await consumer.poll(200)).values():
            values += (record.value for record in records)
    return values


async def poll_until(condition: Callable[[], bool], *consumers: Consumer) -> list[Any]:
    """Poll them in turn; the records that came meanwhile."""
    records: list[Any] = []
    while not condition():
        for consumer in consumers:
            for polled in (await consumer.poll(20)).values():
                records += polled
    return records


def never() -> bool:
    return False


def numbered(partition: int, numbers: Iterable[int]) -> list[bytes]:
    return [b"%d:%d" % (partition, number) for number in numbers]


class Diary(RebalanceListener):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, list[int]]] = []

    @property
    def told(self) -> list[str]:
        return [what for what, _ in self.entries]

    def on_partitions_assigned(self, partitions) -> None:
        self._note("assigned", partitions)

    def on_partitions_revoked(self, partitions) -> None:
        self._note("revoked", partitions)

    def on_partitions_lost(self, partitions) -> None:
        self._note("lost", partitions)

    def _note(self, what, partitions) -> None:
        self.entries.append((what, sorted(tp.partition for tp in partitions)))
