"""An embedded cluster: what it can be asked for, and that it is the same one after a restart."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from drumbeat.protocol.apis import api_versions, create_topics, metadata
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.runtime.config import ConfigError
from drumbeat.testing import AsyncCluster, Cluster, DrumbeatContainer, NewTopic
from support.data_topics import batch, create_topic, fetch_from, produce_to, values_in
from support.ports import free_ports
from support.waiting import wait_until
from support.wire import Wire

API_VERSIONS, METADATA = api_versions.API, metadata.API
READY_CPU_S = 0.25  # of the half a second that a start may take


def is_answered(wire):
    return wire.call(API_VERSIONS, 0, api_versions.ApiVersionsRequest()).error_code == 0


def metadata_of(wire, topic):
    body = MetadataRequest(topics=(MetadataRequestTopic(name=topic),))
    return wire.call(METADATA, 9, body).topics[0]


# -- what it can be asked for ----------------------------------------------------------------------

TOPICS = [
    (["a", "b"], {"a": 1, "b": 1}),
    ({"a": 3}, {"a": 3}),
    ({"a": NewTopic(2, {"cleanup.policy": "compact"})}, {"a": 2}),
]


@pytest.mark.parametrize(("topics", "partitions"), TOPICS)
def test_topics_are_there_from_the_start(topics, partitions):
    with Cluster(topics=topics) as cluster:
        assert {name: len(cluster.end_offsets(name)) for name in partitions} == partitions


@pytest.mark.parametrize(("auto_create_topics", "error_code"), [(True, 0), (False, 3)])
def test_whether_topics_are_created_by_asking_for_them(auto_create_topics, error_code):
    with (
        Cluster(auto_create_topics=auto_create_topics) as cluster,
        Wire(cluster.bootstrap_servers) as wire,
    ):
        assert metadata_of(wire, "t").error_code == error_code


def test_configuration_takes_effect_whatever_its_type():
    config = {"num.partitions": 4, "auto.create.topics.enable": True, "group.max.size": "7"}
    with Cluster(config) as cluster, Wire(cluster.bootstrap_servers) as wire:
        assert len(metadata_of(wire, "t").partitions) == 4
        assert cluster.node.broker.config.group_max_size == 7


WRONG = [
    (lambda: Cluster({"num.partition": 1}), ConfigError, "did you mean 'num.partitions'"),
    (lambda: Cluster({"num.partitions": "many"}), ConfigError, "num.partitions"),
    (lambda: Cluster(topics="orders"), TypeError, "a list of names"),
    (lambda: Cluster().bootstrap_servers, RuntimeError, "not running"),
    (lambda: Cluster().group("g"), RuntimeError, "not running"),
    (lambda: DrumbeatContainer().get_bootstrap_server(), RuntimeError, "start"),
    (lambda: Cluster(topics=["a b"]).start(), ValueError, "INVALID_TOPIC_EXCEPTION.*'a b'"),
    (lambda: Cluster(topics={"a": 0}).start(), ValueError, "INVALID_PARTITIONS"),
]


@pytest.mark.parametrize(("make", "error", "message"), WRONG)
def test_a_wrong_wish_is_told_and_leaves_nothing_behind(make, error, message):
    threads = threading.active_count()
    with pytest.raises(error, match=message):
        make()
    assert threading.active_count() == threads


def test_it_is_ready_in_time():
    """Measured as CPU time: the machine has other things to do."""
    began_s = time.process_time()
    with Cluster(topics={"orders": 3}) as cluster, Wire(cluster.bootstrap_servers) as wire:
        assert is_answered(wire)
    assert time.process_time() - began_s < READY_CPU_S


# -- the same one after a restart ------------------------------------------------------------------


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_restart_keeps_data_topics_configs_and_address(tmp_path, on_disk):
    data = tmp_path / "data" if on_disk else None
    with Cluster(topics=["kept"], data=data) as cluster:
        servers = cluster.bootstrap_servers
        with Wire(servers) as wire:
            topic = create_topic(wire)
            produce_to(wire, topic, batch(b"a"))
            cluster.restart()
            assert wire.is_closed()
        assert cluster.bootstrap_servers == servers
        with Wire(servers) as wire:
            assert values_in(fetch_from(wire, topic, 0).records) == [b"a"]
            assert produce_to(wire, topic, batch(b"b")).base_offset == 1
        assert cluster.end_offsets("kept") == {0: 0}


def test_a_data_directory_outlives_the_cluster(tmp_path):
    for end_offset in (1, 2):
        with Cluster(topics=["orders"], data=tmp_path) as cluster:
            with Wire(cluster.bootstrap_servers) as wire:
                answer = metadata_of(wire, "orders")
                topic = create_topics.CreatableTopicResult(answer.name, answer.topic_id)
                produce_to(wire, topic, batch(b"a"), version=12)
            assert cluster.end_offsets("orders") == {0: end_offset}


def test_stopped_and_started_it_begins_anew():
    cluster = Cluster()
    for _ in range(2):
        cluster.start()
        cluster.create_topic("orders")
        cluster.stop()
    cluster.stop()


# -- standing still --------------------------------------------------------------------------------


def test_a_paused_cluster_answers_later():
    with Cluster() as cluster, Wire(cluster.bootstrap_servers) as wire:
        assert is_answered(wire)
        with cluster.paused():
            wire.send(API_VERSIONS, 0, api_versions.ApiVersionsRequest())
            wire.socket.settimeout(0.2)
            with pytest.raises(TimeoutError):
                wire.receive()
            with pytest.raises(RuntimeError, match="resume"):
                cluster.group("g")
        wire.socket.settimeout(10)
        assert len(wire.receive_frame()) > 4


def test_a_paused_cluster_can_be_stopped():
    with Cluster() as cluster:
        cluster.pause()


# -- from many threads, and from coroutines --------------------------------------------------------


def test_calls_may_come_from_any_thread():
    with Cluster() as cluster, ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda _: cluster.new_topic("t", partitions=2), range(40)))
        assert len(set(names)) == 40
        assert all(pool.map(lambda name: len(cluster.end_offsets(name)) == 2, names))


def test_a_call_on_the_clusters_own_thread_is_refused():
    async def ask():
        cluster.group("g")

    with Cluster() as cluster, pytest.raises(RuntimeError, match="wait for itself"):
        cluster.run(ask)


def test_the_asynchronous_twin_does_the_same():
    async def scenario():
        async with AsyncCluster(topics={"orders": 2}) as cluster:
            await cluster.create_topic("more", 3)
            assert await cluster.end_offsets("more") == {0: 0, 1: 0, 2: 0}
            assert (await cluster.group("g")).state == "Dead"
            assert (await cluster.committed("g"), await cluster.lag("g")) == ({}, {})
            await cluster.fast_forward(timedelta(days=1))
            servers = cluster.bootstrap_servers
            await cluster.restart()
            assert cluster.bootstrap_servers == servers
            with pytest.raises(TimeoutError, match="was not Stable"):
                await cluster.wait_for("g", "Stable", timeout=0.01)
            await cluster.pause()
            await cluster.resume()
            assert await cluster.end_offsets("orders") == {0: 0, 1: 0}

    asyncio.run(scenario())


def test_a_wait_that_is_given_up_ends_on_the_cluster_too():
    with Cluster() as cluster:

        async def scenario():
            async with asyncio.timeout(0.05):
                await cluster.aio.wait_for("g", "Stable", timeout=60)

        with pytest.raises(TimeoutError):
            asyncio.run(scenario())

        async def waits():
            coroutines = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]
            return "Operations.wait_for" in coroutines

        wait_until(lambda: not cluster.run(waits), 10, "the wait ends")


# -- testcontainers' interface ---------------------------------------------------------------------


def test_a_container_takes_what_kafkas_container_takes():
    container = DrumbeatContainer("confluentinc/cp-kafka:7.6.0", port=9093, name="kafka")
    chained = (
        container.with_kraft()
        .with_cluster_id("x")
        .with_env("KAFKA_NUM_PARTITIONS", "3")
        .with_env("KAFKA_HEAP_OPTS", "-Xmx1g")
        .with_envs(KAFKA_LISTENERS="PLAINTEXT://0.0.0.0:9093", KAFKA_BROKER_ID="5")
        .with_exposed_ports(9093)
        .with_network_aliases("kafka")
    )
    assert chained is container
    assert container.start(timeout=5) is container
    with Wire(container.get_bootstrap_server()) as wire:
        assert len(metadata_of(wire, "t").partitions) == 3
    address = (container.get_container_host_ip(), container.get_exposed_port(9093))
    assert container.get_bootstrap_server() == "{}:{}".format(*address)
    assert container.cluster.end_offsets("t") == {0: 0, 1: 0, 2: 0}
    container.stop()
    container.stop()


def test_a_port_can_be_chosen():
    (port,) = free_ports(1)
    with Cluster(port=port) as cluster:
        assert cluster.bootstrap_servers == f"127.0.0.1:{port}"
