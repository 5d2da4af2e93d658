"""Members that die, stop polling or are cut off, and brokers that restart.

Nothing is lost, and what a live owner has committed is not delivered again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from client.consumer.proxy import Proxy
from client.consumer.stage import Diary, Stage, numbered, poll_until, read, run, tps
from drumbeat.client.consumer.consumer import Consumer
from drumbeat.client.errors import CommitFailedError, DrumbeatError, RebalanceInProgressError
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.testing import Cluster
from support.data_topics import Topic, fresh_name
from support.ports import free_ports

PARTITIONS, RECORDS = 4, 60
QUICK_RETRIES = {"retry_backoff_ms": 20, "reconnect_backoff_ms": 20}
QUICK = {"session_timeout_ms": 400, "heartbeat_interval_ms": 50, "retry_backoff_ms": 20}


class Ledger:
    """Who was given what, and what was committed; refuses what must not happen."""

    def __init__(self) -> None:
        self.delivered: set[tuple[int, int]] = set()
        self._committed: dict[int, int] = {}

    async def step(self, consumer: Consumer) -> None:
        """Poll, and commit what came."""
        polled = await consumer.poll(20)
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        for tp, records in polled.items():
            for record in records:
                assert record.offset >= self._committed.get(tp.partition, 0), f"again: {record}"
                self.delivered.add((record.partition, record.offset))
            offsets[tp] = OffsetAndMetadata(records[-1].offset + 1)
        if offsets:
            await self._commit(consumer, offsets)

    async def _commit(
        self, consumer: Consumer, offsets: dict[TopicPartition, OffsetAndMetadata]
    ) -> None:
        try:
            await consumer.commit(offsets, timeout_ms=500)
        except (CommitFailedError, RebalanceInProgressError):
            return  # these come again, to whoever has them now
        except DrumbeatError as problem:
            if not getattr(problem, "retriable", False):
                raise
            return
        for tp, offset in offsets.items():
            self._committed[tp.partition] = offset.offset

    async def until_all(self, topic_records: int, *consumers: Consumer) -> None:
        wanted = {(p, n) for p in range(PARTITIONS) for n in range(topic_records)}
        while not wanted <= self.delivered:
            for consumer in consumers:
                await self.step(consumer)


@pytest.fixture(params=["range", "cooperative-sticky"])
def options(request) -> dict[str, Any]:
    return {
        "group_id": fresh_name("g"),
        "partition_assignment_strategy": request.param,
        "enable_auto_commit": False,
        "max_poll_records": 7,
        **QUICK,
    }


async def two_members(
    topic: Topic, ledger: Ledger, first: Consumer, second: Consumer, diary: Diary
) -> None:
    first.subscribe([topic.name], listener=diary)
    second.subscribe([topic.name])
    half = PARTITIONS // 2
    while not len(first.assignment()) == len(second.assignment()) == half:
        await ledger.step(first)
        await ledger.step(second)
    for _ in range(3):
        await ledger.step(first)
        await ledger.step(second)


async def vanish(consumer: Consumer) -> None:
    """As if its process were killed: connections end, nobody says good-bye."""
    await consumer._engine._release()


def test_a_member_that_is_killed(stage: Stage, options: dict[str, Any]):
    topic = stage.topic(partitions=PARTITIONS, records=RECORDS)
    ledger = Ledger()

    async def work() -> None:
        first = stage.group(**options)
        async with stage.group(**options) as second:
            await first.start()
            await two_members(topic, ledger, first, second, Diary())
            await first.poll(20)  # taken, and never committed
            await vanish(first)
            await ledger.until_all(RECORDS, second)

    run(work)


def test_a_member_that_stops_polling(stage: Stage, options: dict[str, Any]):
    topic = stage.topic(partitions=PARTITIONS, records=RECORDS)
    ledger, diary = Ledger(), Diary()

    async def work() -> None:
        slow = stage.group(**options, max_poll_interval_ms=400)
        async with slow, stage.group(**options) as second:
            await two_members(topic, ledger, slow, second, diary)
            await slow.poll(20)
            while len(second.assignment()) < PARTITIONS:
                await ledger.step(second)
            with pytest.raises((CommitFailedError, RebalanceInProgressError), match="poll"):
                await slow.commit()
            await ledger.until_all(RECORDS, second)
            # It comes back, and is told that its partitions went to others meanwhile.
            while "lost" not in diary.told or len(second.assignment()) == PARTITIONS:
                await ledger.step(slow)
                await ledger.step(second)
            await asyncio.to_thread(stage.produce, topic, 3, start=RECORDS)
            await ledger.until_all(RECORDS + 3, slow, second)

    run(work)


def test_a_member_that_is_cut_off(options: dict[str, Any]):
    ledger, diary = Ledger(), Diary()

    async def work(proxy: Proxy, stage: Stage) -> None:
        topic = await asyncio.to_thread(stage.topic, partitions=PARTITIONS, records=RECORDS)
        first = stage.group(**options, client_id="first")
        async with first, stage.group(**options, client_id="second") as second:
            await two_members(topic, ledger, first, second, diary)
            proxy.cut("first")
            while len(second.assignment()) < PARTITIONS:
                await ledger.step(first)
                await ledger.step(second)
            await ledger.until_all(RECORDS, second)
            proxy.heal("first")
            while "lost" not in diary.told or len(second.assignment()) == PARTITIONS:
                await ledger.step(first)
                await ledger.step(second)
            await asyncio.to_thread(stage.produce, topic, 3, start=RECORDS)
            await ledger.until_all(RECORDS + 3, first, second)

    behind_proxy(work)


def test_a_connection_that_breaks_is_made_again(options: dict[str, Any]):
    """Short enough for the session to survive: nobody rebalances."""
    ledger, diary = Ledger(), Diary()

    async def work(proxy: Proxy, stage: Stage) -> None:
        topic = await asyncio.to_thread(stage.topic, partitions=PARTITIONS, records=RECORDS)
        patient = {**options, "session_timeout_ms": 10_000}
        async with stage.group(**patient, client_id="first") as consumer:
            consumer.subscribe([topic.name], listener=diary)
            while len(ledger.delivered) < 20:
                await ledger.step(consumer)
            generation_id = consumer.group_metadata().generation_id
            for _ in range(3):
                proxy.cut("first")
                await ledger.step(consumer)
                proxy.heal("first")
                before = len(ledger.delivered)
                while len(ledger.delivered) == before:
                    await ledger.step(consumer)
            await ledger.until_all(RECORDS, consumer)
            assert consumer.group_metadata().generation_id == generation_id
        assert diary.told == ["assigned", "revoked"]

    behind_proxy(work)


def behind_proxy(work: Callable[[Proxy, Stage], Awaitable[None]]) -> None:
    async def proxied() -> None:
        proxy = Proxy()
        with Cluster({"group.min.session.timeout.ms": "100"}) as cluster:
            host, port = cluster.bootstrap_servers.split(":")
            proxy.target = (host, int(port))
            broker = cluster.node.broker
            broker.advertised = broker.advertised._replace(port=proxy.port)
            await proxy.start()
            try:
                await work(proxy, Stage(proxy.servers))
            finally:
                await proxy.stop()

    run(proxied)


def test_a_broker_that_restarts(tmp_path):
    (port,) = free_ports(1)
    broker = Cluster(data=str(tmp_path), port=port)
    broker.start()
    stage = Stage(broker.bootstrap_servers)
    topic = stage.topic(partitions=2, records=5)
    zero, one = tps(topic, 0, 1)

    async def work() -> None:
        options = {
            "enable_auto_commit": False,
            "session_timeout_ms": 10_000,
            "retry_backoff_ms": 20,
        }
        async with stage.group(**options) as consumer:
            consumer.subscribe([topic.name])
            await read(consumer, 10)
            await consumer.commit()
            await asyncio.to_thread(broker.stop)
            assert await consumer.poll(100) == {}
            await asyncio.to_thread(broker.start)
            await asyncio.to_thread(stage.produce, topic, 5, start=5)
            values = await read(consumer, 10)
            assert sorted(values) == sorted(numbered(0, range(5, 10)) + numbered(1, range(5, 10)))
            await poll_until(lambda: len(consumer.assignment()) == 2, consumer)
            await consumer.commit()
            committed = await consumer.committed([zero, one])
            assert committed == dict.fromkeys((zero, one), OffsetAndMetadata(10, "", 1))

    try:
        run(work)
    finally:
        broker.stop()


def test_waiting_costs_nothing():
    """For data, for other members, for a broker that is gone: no loop goes round and round."""
    broker = Cluster()
    broker.start()
    stage = Stage(broker.bootstrap_servers)
    topic = stage.topic(partitions=2)
    group_id = fresh_name("g")

    async def cpu_s_of_polling(consumer: Consumer) -> float:
        began_s = time.thread_time()
        await consumer.poll(400)
        return time.thread_time() - began_s

    async def work() -> None:
        first, second = (stage.group(group_id=group_id, **QUICK_RETRIES) for _ in range(2))
        await first.start()
        await second.start()
        first.subscribe([topic.name])
        second.subscribe([topic.name])
        await poll_until(lambda: len(first.assignment()) == 2, first)
        assert await cpu_s_of_polling(first) < 0.2
        assert await cpu_s_of_polling(second) < 0.2  # the first does not rejoin
        await asyncio.to_thread(broker.stop)
        assert await cpu_s_of_polling(first) < 0.2
        await asyncio.gather(first.close(200), second.close(200))

    run(work)


def test_close_within_its_timeout_though_the_broker_is_gone(tmp_path):
    broker = Cluster()
    broker.start()
    stage = Stage(broker.bootstrap_servers)
    topic = stage.topic(records=2)

    async def work() -> None:
        consumer = stage.group()
        await consumer.start()
        consumer.subscribe([topic.name])
        await read(consumer, 2)
        await asyncio.to_thread(broker.stop)
        async with asyncio.timeout(5):
            await consumer.close(timeout_ms=300)

    run(work)
