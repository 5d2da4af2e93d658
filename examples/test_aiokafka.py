"""How to test code that uses aiokafka: `AsyncCluster`, or `drumbeat_cluster.aio`.

With pytest-asyncio or anyio a test would be a coroutine; here each runs its own with asyncio.run.
"""

import asyncio
from datetime import timedelta

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from drumbeat.testing import AsyncCluster, Cluster


def billing_consumer(servers: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        "orders",
        bootstrap_servers=servers,
        group_id="billing",
        client_id="billing-1",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=100,
        retry_backoff_ms=50,
    )


async def publish(servers: str, *values: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for value in values:
            await producer.send_and_wait("orders", value)


def test_a_restart_of_the_coordinator_loses_nothing() -> None:
    async def scenario() -> None:
        async with AsyncCluster(topics=["orders"]) as cluster:
            await publish(cluster.bootstrap_servers, b"tea", b"milk")
            async with billing_consumer(cluster.bootstrap_servers) as consumer:
                assert (await consumer.getone()).value == b"tea"
                await consumer.commit()

                await cluster.restart()

                assert (await consumer.getone()).value == b"milk"
                await consumer.commit()
            assert await cluster.committed("billing") == {("orders", 0): 2}

    asyncio.run(scenario())


def test_a_coordinator_that_is_away_for_a_while(drumbeat_cluster: Cluster) -> None:
    cluster = drumbeat_cluster.aio

    async def scenario() -> None:
        await cluster.create_topic("orders")
        await publish(cluster.bootstrap_servers, b"tea")
        async with billing_consumer(cluster.bootstrap_servers) as consumer:
            await consumer.getone()
            heartbeats = cluster.record("Heartbeat", group="billing")
            async with cluster.coordinator_unloaded("billing", answering="NOT_COORDINATOR"):
                await heartbeats.wait_async()  # the consumer has heard of it
            await consumer.commit()
        assert await cluster.committed("billing") == {("orders", 0): 1}

    asyncio.run(scenario())


def test_offsets_of_a_group_that_is_gone_expire(drumbeat_cluster: Cluster) -> None:
    cluster = drumbeat_cluster.aio

    async def scenario() -> None:
        await cluster.create_topic("orders")
        await publish(cluster.bootstrap_servers, b"tea")
        async with billing_consumer(cluster.bootstrap_servers) as consumer:
            await consumer.getone()
            await consumer.commit()

        await cluster.fast_forward(timedelta(days=6))
        assert await cluster.committed("billing") == {("orders", 0): 1}
        await cluster.fast_forward(timedelta(days=1))  # offsets.retention.minutes is a week
        assert await cluster.committed("billing") == {}

    asyncio.run(scenario())
