"""What a node tells monitoring: numbers that follow what real clients do, health, readiness."""

import asyncio
import json
import shutil
import socket
import subprocess
import sys

import psutil
import pytest
from confluent_kafka import Consumer, Producer

from drumbeat.protocol.apis import delete_groups, heartbeat, offset_commit, offset_delete
from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.runtime.config import load_config
from drumbeat.runtime.topics import CONSUMER_OFFSETS
from drumbeat.server.node import Node, memory_storage
from support.data_topics import batch, create_topic, produce_to
from support.monitoring import Metrics, get
from support.node_process import NodeProcess, run
from support.waiting import wait_until
from support.wire import Wire

SETTINGS = ("--set", "group.initial.rebalance.delay.ms=0", "--metrics-port", "0")
COORDINATOR = "kafka_server_group_coordinator_metrics"
MANAGER = "kafka_coordinator_group_groupmetadatamanager"
TIMEOUT_S = 20.0


def url_of(node: NodeProcess) -> str:
    (line,) = (line for line in node.ready if line.startswith("metrics: "))
    return line.removeprefix("metrics: ").removesuffix("/metrics")


@pytest.fixture(scope="module")
def shared_node(tmp_path_factory):
    """For tests that do nothing to it."""
    folder = tmp_path_factory.mktemp("shared")
    data = str(folder / "data")
    with NodeProcess("--data", data, *SETTINGS, logs=folder / "node.log") as running:
        yield running


@pytest.fixture
def node(tmp_path):
    data = str(tmp_path / "data")
    with NodeProcess("--data", data, *SETTINGS, logs=tmp_path / "node.log") as running:
        yield running


def await_value(node: NodeProcess, value: float, name: str, **labels: str) -> Metrics:
    """The metrics, as soon as one of them has this value."""
    seen: list[Metrics] = []

    def has_come() -> bool:
        seen[:] = [Metrics(url_of(node))]
        return seen[0].value(name, **labels) == value

    try:
        wait_until(has_come, TIMEOUT_S, f"{name} {labels} becomes {value}")
    except AssertionError:
        raise AssertionError(f"{name} {labels}: {seen[0].value(name, **labels)}") from None
    return seen[0]


def requests(metrics: Metrics, api: str) -> float:
    return metrics.value("kafka_network_requestmetrics_requests_total", request=api)


# -- /metrics ------------------------------------------------------------------------------------


def test_numbers_follow_what_clients_do(node):
    before = Metrics(url_of(node))
    assert before.value(f"{MANAGER}_numgroups") == 0
    assert before.value("kafka_server_socket_server_metrics_connection_count") == 0

    _produce(node, 10)
    consumer = _member(node)
    stable = await_value(node, 1, f"{MANAGER}_numgroupsstable")
    assert stable.value("drumbeat_group_members") == 1
    assert stable.value(f"{COORDINATOR}_group_count", protocol="classic") == 1
    assert stable.value(f"{COORDINATOR}_num_partitions", state="active") == 1
    assert stable.value("drumbeat_group_events", type="member_joined") == 1
    assert stable.value("kafka_log_log_logendoffset", topic="t") == 10
    assert stable.value("kafka_log_log_size", topic="t") > 10
    assert requests(stable, "Produce") >= 1
    assert requests(stable, "JoinGroup") >= 2

    consumer.commit(asynchronous=False)
    committed = Metrics(url_of(node))
    assert committed.value(f"{COORDINATOR}_offset_commit_count") == 1
    assert committed.value(f"{MANAGER}_numoffsets") == 1
    assert requests(committed, "OffsetCommit") == 1
    syncs = "drumbeat_log_sync_duration_seconds_count"
    assert committed.value(syncs) > before.value(syncs)

    rebalances = committed.value(f"{COORDINATOR}_group_completed_rebalance_count")
    assert rebalances >= 1
    consumer.close()
    left = await_value(node, 1, f"{MANAGER}_numgroupsempty")
    assert left.value("drumbeat_group_members") == 0
    assert left.value("drumbeat_group_events", type="member_left") == 1
    # To be left empty is no completed rebalance.
    assert left.value(f"{COORDINATOR}_group_completed_rebalance_count") == rebalances
    await_value(node, 0, "kafka_server_socket_server_metrics_connection_count")


def test_deletions_and_expirations_are_counted_apart(tmp_path):
    sweeping = ("--set", "offsets.retention.check.interval.ms=50")
    with NodeProcess("--memory", *SETTINGS, *sweeping, logs=tmp_path / "node.log") as node:
        with Wire(node.bootstrap_servers) as wire:
            create_topic(wire, "t")
            _commit(wire, "expires", version=2, retention_time_ms=0)
            await_value(node, 1, f"{COORDINATOR}_offset_expiration_count")
            _commit(wire, "loses one")
            topics = (OffsetDeleteRequestTopic("t", (OffsetDeleteRequestPartition(0),)),)
            wire.call(offset_delete.API, 0, OffsetDeleteRequest("loses one", topics))
            _commit(wire, "is deleted")
            wire.call(delete_groups.API, 2, DeleteGroupsRequest(("is deleted",)))
        metrics = Metrics(url_of(node))
    assert metrics.value(f"{COORDINATOR}_offset_commit_count") == 3
    assert metrics.value(f"{COORDINATOR}_offset_expiration_count") == 1
    # As in Kafka only OffsetDelete counts here, not the deletion of a whole group.
    assert metrics.value(f"{COORDINATOR}_offset_deletion_count") == 1
    assert metrics.value(f"{MANAGER}_numoffsets") == 0


def test_every_request_is_counted_under_its_version(shared_node):
    with Wire(shared_node.bootstrap_servers) as wire:
        for version in (0, 4, 4):
            wire.call(heartbeat.API, version, HeartbeatRequest("g", 1, "m"))
        metrics = Metrics(url_of(shared_node))
    name = "kafka_network_requestmetrics_requests_total"
    assert metrics.value(name, request="Heartbeat", version="0") == 1
    assert metrics.value(name, request="Heartbeat", version="4") == 2
    assert metrics.value("drumbeat_request_duration_seconds_count", request="Heartbeat") == 2
    assert metrics.value("drumbeat_request_bytes_total", request="Heartbeat") > 0
    assert metrics.value("drumbeat_response_bytes_total", request="Heartbeat") > 0


def test_topics_names_are_labels_whatever_they_are(shared_node):
    with Wire(shared_node.bootstrap_servers) as wire:
        produce_to(wire, create_topic(wire, "a.b-c_d"), batch(b"v"))
    labels = Metrics(url_of(shared_node)).labels("kafka_log_log_size")
    assert {"topic": "a.b-c_d", "partition": "0"} in labels


def test_the_process_is_measured(shared_node):
    metrics = Metrics(url_of(shared_node))
    process = psutil.Process(shared_node.pid)
    assert metrics.value("process_start_time_seconds") == pytest.approx(
        process.create_time(), abs=2
    )
    assert metrics.value("process_resident_memory_bytes") == pytest.approx(
        process.memory_info().rss, rel=0.5
    )
    used_since = sum(process.cpu_times()[:2])
    assert 0 < metrics.value("process_cpu_seconds_total") < used_since + 0.01  # what a tick is
    assert metrics.value("process_open_fds") > 3
    assert metrics.value("python_gc_collections_total") > 0
    assert metrics.value("drumbeat_disk_free_bytes") > 0
    assert metrics.value("drumbeat_build_info") == 1


# -- health and readiness ------------------------------------------------------------------------


def test_a_node_that_serves_is_healthy_and_ready(shared_node):
    for page in ("/healthz", "/readyz"):
        answer = get(url_of(shared_node) + page)
        assert (answer.status, answer.document) == (200, {"status": "ok"})


@pytest.mark.parametrize("options", [["--memory"], []], ids=["memory", "disk"])
def test_the_data_directory_is_part_of_health(options, tmp_path):
    data = tmp_path / "data"
    options = options or ["--data", str(data)]
    with NodeProcess(*options, *SETTINGS, logs=tmp_path / "node.log") as node:
        shutil.rmtree(data, ignore_errors=True)
        health = get(url_of(node) + "/healthz")
        offline = Metrics(url_of(node)).value("kafka_log_logmanager_offlinelogdirectorycount")
    if options == ["--memory"]:
        assert (health.status, offline) == (200, 0)
        return
    assert (health.status, offline) == (503, 1)
    reason = "the data directory cannot be read: No such file or directory"
    assert health.document == {"status": "unavailable", "reasons": [reason]}


def test_a_node_is_ready_from_its_start_to_its_stop():
    async def main() -> None:
        config = load_config(None, ["metrics.port=0"], {"port": "0"}).config
        node = Node(config, memory_storage(config))
        assert await _reasons(node) == ["the listener is not open"]
        await node.start()
        assert await _reasons(node) == []
        await node.stop()
        assert await _reasons(node) == ["the node is stopping"]

    asyncio.run(main())


def test_a_node_is_not_ready_while_offsets_are_loaded():
    async def main() -> None:
        config = load_config(None, ["metrics.port=0"], {"port": "0"}).config
        async with Node(config, memory_storage(config)) as node:
            groups, gate = node.broker.groups, asyncio.Event()
            await groups.ensure_topic()
            loads = [asyncio.create_task(groups.load(n, gate.wait())) for n in range(7)]
            await asyncio.sleep(0)
            names = ", ".join(f"{CONSUMER_OFFSETS}-{n}" for n in range(5))
            assert await _reasons(node) == [f"loading {names} and 2 more"]
            gate.set()
            await asyncio.gather(*loads)
            assert await _reasons(node) == []

    asyncio.run(main())


def test_a_node_is_not_ready_if_offsets_cannot_be_read(node, tmp_path):
    _produce(node, 1)
    _member(node).close()
    node.stop()
    (segment,) = (tmp_path / "data").glob(f"{CONSUMER_OFFSETS}-*/*.log")
    damaged = bytearray(segment.read_bytes())
    damaged[70] ^= 1
    segment.write_bytes(damaged + damaged)  # what follows it makes it more than a torn end
    node.start()

    told = [f"not served: {segment.parent.name}; the log says why"]

    def is_told() -> bool:
        readiness = get(url_of(node) + "/readyz")
        return readiness.status == 503 and readiness.document["reasons"] == told

    wait_until(is_told, TIMEOUT_S, "the damage is noticed")
    assert get(url_of(node) + "/healthz").status == 200
    assert Metrics(url_of(node)).value(f"{COORDINATOR}_num_partitions", state="failed") == 1


async def _reasons(node: Node) -> list[str]:
    assert node.monitoring is not None
    answer = await node.monitoring.readiness()
    return [] if answer.status == 200 else json.loads(answer.body)["reasons"]


# -- being there at all --------------------------------------------------------------------------


def test_nothing_of_it_is_there_unless_asked_for():
    """Not even imported: it would be most of what a start takes."""
    code = """
import asyncio, sys
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.runtime.config import load_config
from drumbeat.server.node import Node, memory_storage
async def main():
    config = load_config(None, [], {"port": "0"}).config
    async with Node(config, memory_storage(config)) as node:
        assert node.monitoring is None
        found = [name for name in sys.modules if "metrics" in name or "monitoring" in name]
        print(*found, *({"http", "drumbeat.server.http_server"} & set(sys.modules)))
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


def test_it_is_where_the_listener_is_unless_told(tmp_path):
    elsewhere = ("--set", "listeners=PLAINTEXT://127.0.0.2:0")
    with NodeProcess("--memory", *SETTINGS, *elsewhere, logs=tmp_path / "a.log") as node:
        assert url_of(node).startswith("http://127.0.0.2:")
        assert get(url_of(node) + "/healthz").status == 200
    told = (*elsewhere, "--set", "metrics.host=127.0.0.3")
    with NodeProcess("--memory", *SETTINGS, *told, logs=tmp_path / "b.log") as node:
        assert url_of(node).startswith("http://127.0.0.3:")


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("up", "--memory", "--port", "0", "--metrics-port", port)
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert f"cannot serve metrics on 127.0.0.1, port {port}: " in ended.stderr
    assert "--metrics-port" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_scraper_that_stays_does_not_keep_a_node_from_stopping(node):
    host, port = url_of(node).removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as idle:
        idle.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert node.stop() == 0
    assert "Traceback" not in node.log_text


# -- clients -------------------------------------------------------------------------------------


def _commit(wire: Wire, group_id: str, version: int = 8, **fields: int) -> None:
    topic = OffsetCommitRequestTopic(name="t", partitions=(OffsetCommitRequestPartition(0, 1),))
    request = OffsetCommitRequest(group_id=group_id, topics=(topic,), **fields)
    (answer,) = wire.call(offset_commit.API, version, request).topics
    assert [partition.error_code for partition in answer.partitions] == [0]


def _produce(node: NodeProcess, count: int) -> None:
    producer = Producer({"bootstrap.servers": node.bootstrap_servers, "log_level": 0})
    for _ in range(count):
        producer.produce("t", b"v")
    assert producer.flush(TIMEOUT_S) == 0


def _member(node: NodeProcess) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap_servers,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe(["t"])
    wait_until(lambda: consumer.poll(0.2) is not None, TIMEOUT_S, "a record arrives")
    return consumer
