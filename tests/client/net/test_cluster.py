"""The cluster view against a running broker."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

import pytest

from client.net.scripted_broker import listening, saying
from drumbeat.client.config import CommonConfig, ProducerConfig
from drumbeat.client.errors import (
    InvalidTopicError,
    KafkaError,
    NoBrokersAvailable,
    UnknownTopicOrPartitionError,
)
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.net.nodes import broker_id
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import heartbeat
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.testing import Cluster as Broker
from support.data_topics import create_topic, fresh_name
from support.ports import free_ports
from support.waiting import wait_until
from support.wire import Wire


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker({"auto.create.topics.enable": "true"}) as broker:
        yield broker.bootstrap_servers


def with_cluster(config: CommonConfig, check: Callable[[Cluster], Awaitable[None]]) -> None:
    async def run() -> None:
        cluster = Cluster(config)
        await cluster.start()
        try:
            await check(cluster)
        finally:
            await cluster.close()

    asyncio.run(run())


def test_metadata_of_watched_topics(bootstrap: str):
    with Wire(bootstrap) as wire:
        topic = create_topic(wire, partitions=3)

    async def check(cluster: Cluster) -> None:
        before = cluster.metadata
        assert list(before.brokers) == [before.controller_id]
        assert before.partition_count(topic.name) is None
        cluster.watch([topic.name])
        after = await cluster.refresh()
        assert after is cluster.metadata
        assert after.version > before.version
        assert after.partition_count(topic.name) == 3
        assert after.topic_names[topic.topic_id] == topic.name
        tp = TopicPartition(topic.name, 2)
        assert await cluster.leader(tp) == after.leader(tp) == after.controller_id
        assert await cluster.controller() == cluster.least_loaded()
        cluster.watch(None)
        assert topic.name in (await cluster.refresh()).topics

    with_cluster(CommonConfig.of(bootstrap_servers=bootstrap), check)


def test_concurrent_refreshes_are_one_request(bootstrap: str):
    async def check(cluster: Cluster) -> None:
        version = cluster.metadata.version
        snapshots = await asyncio.gather(*(cluster.refresh() for _ in range(20)))
        assert {snapshot.version for snapshot in snapshots} == {version + 1}

    with_cluster(CommonConfig.of(bootstrap_servers=bootstrap), check)


def test_a_refresh_knows_what_was_watched_when_it_was_asked_for(bootstrap: str):
    with Wire(bootstrap) as wire:
        first, second = create_topic(wire), create_topic(wire)

    async def check(cluster: Cluster) -> None:
        cluster.watch([first.name])
        running = asyncio.create_task(cluster.refresh())
        await asyncio.sleep(0)
        cluster.watch([first.name, second.name])
        assert second.name in (await cluster.refresh()).topics
        await running
        assert second.name in cluster.metadata.topics

    with_cluster(CommonConfig.of(bootstrap_servers=bootstrap), check)


def test_only_those_who_may_create_topics_by_asking(bootstrap: str):
    name = fresh_name("auto")

    async def ask(cluster: Cluster) -> None:
        with suppress(UnknownTopicOrPartitionError):
            await cluster.leader(TopicPartition(name, 0), timeout_ms=300)

    async def knows(cluster: Cluster) -> bool:
        cluster.watch([name])
        return (await cluster.refresh()).partition_count(name) is not None

    def exists() -> bool:
        found: list[bool] = []

        async def check(cluster: Cluster) -> None:
            found.append(await knows(cluster))

        with_cluster(CommonConfig.of(bootstrap_servers=bootstrap), check)
        return found[0]

    with_cluster(CommonConfig.of(bootstrap_servers=bootstrap), ask)
    assert not exists()
    with_cluster(ProducerConfig.of(bootstrap_servers=bootstrap), ask)
    assert exists()


@pytest.mark.parametrize(
    ("topic", "error", "text"),
    [
        ("missing", UnknownTopicOrPartitionError, "missing-0: .*create it first"),
        ("not/allowed", InvalidTopicError, "not/allowed-0: .*not allowed"),
    ],
)
def test_why_there_is_no_leader(bootstrap: str, topic: str, error: type[KafkaError], text: str):
    async def check(cluster: Cluster) -> None:
        with pytest.raises(error, match=text):
            await cluster.leader(TopicPartition(topic, 0), timeout_ms=50)

    with_cluster(CommonConfig.of(bootstrap_servers=bootstrap), check)


def test_a_coordinator_has_a_connection_of_its_own(bootstrap: str):
    async def check(cluster: Cluster) -> None:
        node_id = await cluster.coordinator("group")
        assert node_id not in cluster.metadata.brokers
        assert broker_id(node_id) in cluster.metadata.brokers
        assert await cluster.coordinator("group") == node_id
        response = await cluster.send(
            node_id, heartbeat.API, HeartbeatRequest(group_id="group", member_id="m")
        )
        assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert cluster.version(node_id, heartbeat.API) == heartbeat.API.versions[-1]
        cluster.forget_coordinator("group")
        assert await cluster.coordinator("group") == node_id

    with_cluster(CommonConfig.of(bootstrap_servers=bootstrap), check)


def test_the_second_bootstrap_server_will_do(bootstrap: str):
    servers = [f"127.0.0.1:{free_ports(1)[0]}", bootstrap]

    async def check(cluster: Cluster) -> None:
        assert cluster.metadata.brokers

    with_cluster(CommonConfig.of(bootstrap_servers=servers), check)


def test_no_bootstrap_server_at_all():
    async def check() -> None:
        async with listening(saying(b"HTTP/1.0 400 Bad Request\r\n\r\n")) as address:
            refused = f"127.0.0.1:{free_ports(1)[0]}"
            cluster = Cluster(CommonConfig.of(bootstrap_servers=[refused, address]))
            with pytest.raises(NoBrokersAvailable) as caught:
                await cluster.start()
            assert f"{refused}: connection refused" in str(caught.value)
            assert f"{address}: an HTTP server answers here" in str(caught.value)

    asyncio.run(check())


def test_a_broker_that_restarts_is_found_again():
    port = free_ports(1)[0]
    broker = Broker(port=port)
    broker.start()

    async def check(cluster: Cluster) -> None:
        node_id = cluster.least_loaded()
        coordinator = await cluster.coordinator("group")
        await asyncio.to_thread(broker.stop)
        with pytest.raises(KafkaError) as caught:
            await cluster.send(coordinator, heartbeat.API, HeartbeatRequest(group_id="group"))
        assert caught.value.retriable
        await asyncio.to_thread(broker.start)
        version = cluster.metadata.version
        assert (await cluster.refresh()).version > version
        assert cluster.least_loaded() == node_id
        await cluster.retry(
            lambda: cluster.send(coordinator, heartbeat.API, HeartbeatRequest(group_id="group"))
        )

    try:
        with_cluster(CommonConfig.of(bootstrap_servers=f"127.0.0.1:{port}"), check)
    finally:
        broker.stop()


def test_idle_connections_are_closed_and_opened_again(bootstrap: str):
    config = CommonConfig.of(bootstrap_servers=bootstrap, connections_max_idle_ms=20)

    async def check(cluster: Cluster) -> None:
        node_id = await cluster.coordinator("group")
        await cluster.send(node_id, heartbeat.API, HeartbeatRequest(group_id="group"))
        await asyncio.to_thread(
            wait_until,
            lambda: cluster.version(node_id, heartbeat.API) is None,
            5.0,
            "an idle connection to be closed",
        )
        await cluster.send(node_id, heartbeat.API, HeartbeatRequest(group_id="group"))

    with_cluster(config, check)
