"""Limits on connections: how many, how long idle, how long half a request may take.

Time is what `Listener.sweep` is told; nothing here waits for it to pass.
"""

import asyncio
import logging
from contextlib import ExitStack
from itertools import count

import pytest

from drumbeat.protocol.apis import fetch, incremental_alter_configs, metadata
from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from drumbeat.protocol.apis.metadata import MetadataRequest
from drumbeat.server.connection import PEER_MS_MAX
from drumbeat.server.listener import UVLOOP_ACCEPTS_PER_TURN
from support.data_topics import batch, create_topic, fetch_partition, fetch_request, produce_to
from support.hostile import assert_served
from support.waiting import wait_until
from support.wire import ConnectionClosed, Wire, request_frame

IDLE_MS_MAX = 600_000  # connections.max.idle.ms
PATIENCE_S = 5.0
REQUEST = request_frame(metadata.API, 9, MetadataRequest(topics=()))
BROKER, SET = 4, 0


def sweep_in(cluster, ms: int) -> int:
    """Sweep as if `ms` had passed; how many connections are left."""

    async def sweep() -> int:
        listener = cluster.node.listener
        listener.sweep(listener.now_ms() + ms)
        await asyncio.sleep(0)  # closed connections are forgotten in the turn after
        await asyncio.sleep(0)
        return listener.connection_count

    return cluster.run(sweep)


def await_connections(cluster, count: int) -> None:
    listener = cluster.node.listener
    what = f"{count} connections"
    wait_until(lambda: listener.connection_count == count, PATIENCE_S, what)


def is_served(bootstrap_servers: str) -> bool:
    with Wire(bootstrap_servers) as wire:
        try:
            assert_served(wire)
        except (ConnectionClosed, ConnectionError):
            return False
        return True


def half_sent(cluster, stack: ExitStack, data: bytes = REQUEST[:10]) -> Wire:
    wire = stack.enter_context(Wire(cluster.bootstrap_servers))
    wire.send_bytes(data)
    return wire


# -- how many ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["max.connections", "max.connections.per.ip"])
def test_connections_over_the_limit_are_refused(key, start, caplog):
    cluster = start({key: "3"})
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(cluster.bootstrap_servers)) for _ in range(3)]
        await_connections(cluster, 3)
        assert not is_served(cluster.bootstrap_servers)
        assert f"refused, {key} is 3" in caplog.text
        for wire in wires:
            assert_served(wire)
        wires[0].socket.close()
        await_connections(cluster, 2)
        assert is_served(cluster.bootstrap_servers)


def test_the_limit_can_be_altered_while_the_node_runs(start):
    cluster = start()
    with Wire(cluster.bootstrap_servers) as wire:
        assert is_served(cluster.bootstrap_servers)
        await_connections(cluster, 1)
        alter_broker(wire, "max.connections", "1")
        assert not is_served(cluster.bootstrap_servers)
        await_connections(cluster, 1)
        alter_broker(wire, "max.connections", "2")
        assert is_served(cluster.bootstrap_servers)


def alter_broker(wire: Wire, key: str, value: str) -> None:
    change = AlterableConfig(name=key, config_operation=SET, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=(change,))
    body = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    (result,) = wire.call(incremental_alter_configs.API, 1, body).responses
    assert result.error_code == 0, result.error_message


def test_many_connections_are_accepted_in_few_turns(start):
    """Or a client that comes with many others would wait until most of these are served."""
    cluster = start()
    with ExitStack() as stack:

        async def connect_many() -> int:
            for _ in range(UVLOOP_ACCEPTS_PER_TURN):  # nobody is accepted meanwhile
                stack.enter_context(Wire(cluster.bootstrap_servers))
            for _ in range(4):  # asyncio's own loop needs this many to accept one
                await asyncio.sleep(0)
            return cluster.node.listener.connection_count

        assert cluster.run(connect_many) == UVLOOP_ACCEPTS_PER_TURN


# -- how long ------------------------------------------------------------------------------------


def test_an_idle_connection_is_closed(start, caplog):
    cluster = start()
    with Wire(cluster.bootstrap_servers) as wire, caplog.at_level(logging.DEBUG, "drumbeat"):
        assert_served(wire)
        assert sweep_in(cluster, IDLE_MS_MAX - 1000) == 1
        assert sweep_in(cluster, IDLE_MS_MAX + 1000) == 0
        assert wire.is_closed()
    assert "closing" in caplog.text


def test_idle_connections_may_stay_for_ever(start):
    cluster = start({"connections.max.idle.ms": "-1"})
    with Wire(cluster.bootstrap_servers) as wire:
        assert_served(wire)
        assert sweep_in(cluster, 2**40) == 1


def test_a_connection_that_waits_for_an_answer_is_not_idle(start):
    cluster = start()
    with Wire(cluster.bootstrap_servers) as wire, Wire(cluster.bootstrap_servers) as idle:
        topic = create_topic(wire)
        wire.send(fetch.API, 12, fetch_request(topic, max_wait_ms=60_000, min_bytes=1))
        wait_until(lambda: is_parked(cluster, topic), PATIENCE_S, "a parked fetch")
        sweep_in(cluster, IDLE_MS_MAX + 1000)
        with Wire(cluster.bootstrap_servers) as other:
            produce_to(other, topic, batch(b"v"))
        assert wire.receive().responses[0].partitions[0].records
        assert idle.is_closed()


def test_half_a_request_and_silence(start, caplog):
    cluster = start()
    with ExitStack() as stack:
        half = half_sent(cluster, stack)
        wait_until(lambda: is_half_received(cluster), PATIENCE_S, "half a request")
        assert sweep_in(cluster, PEER_MS_MAX - 1000) == 1
        assert sweep_in(cluster, PEER_MS_MAX + 1000) == 0
        assert half.is_closed()
    (line,) = caplog.messages
    assert "left a request unfinished" in line


def test_a_busy_client_always_has_half_a_request_on_its_way(start):
    """The time to finish a request starts anew with each one."""
    cluster = start()
    with ExitStack() as stack:
        wire = half_sent(cluster, stack)
        wait_until(lambda: is_half_received(cluster), PATIENCE_S, "half a request")
        (connection,) = cluster.node.listener._connections
        begun_ms = connection._peer_since_ms

        def has_begun_anew() -> bool:
            wire.send_bytes(REQUEST[10:] + REQUEST[:10])
            wire.receive_frame()
            return (connection._peer_since_ms or 0) > begun_ms

        wait_until(has_begun_anew, PATIENCE_S, "a later begin")


def test_half_a_request_behind_a_parked_one_is_not_the_clients_fault(start):
    cluster = start()
    with Wire(cluster.bootstrap_servers) as wire:
        topic = create_topic(wire)
        body = fetch_request(topic, max_wait_ms=60_000, min_bytes=1)
        wire.send_bytes(request_frame(fetch.API, 12, body) + REQUEST[:10])
        wait_until(lambda: is_parked(cluster, topic), PATIENCE_S, "a parked fetch")
        assert sweep_in(cluster, PEER_MS_MAX + 1000) == 1
        with Wire(cluster.bootstrap_servers) as producer:
            produce_to(producer, topic, batch(b"v"))
        wire.receive_frame()
        wire.send_bytes(REQUEST[10:])
        wire.receive_frame()


def test_a_thousand_half_requests_and_one_client(start):
    """Slow loris: they cost a descriptor each, and time is up for all of them at once."""
    cluster = start()
    with ExitStack() as stack, Wire(cluster.bootstrap_servers) as wire:
        halves = [half_sent(cluster, stack) for _ in range(1000)]
        await_connections(cluster, 1001)
        for _ in range(20):
            assert_served(wire)
        wait_until(lambda: is_half_received(cluster, 1000), PATIENCE_S, "1000 half requests")
        assert sweep_in(cluster, PEER_MS_MAX + 1000) == 1
        assert_served(wire)
        assert all(half.is_closed() for half in halves)


# -- who never reads -----------------------------------------------------------------------------


def test_a_client_that_never_reads_is_idle_in_the_end(start):
    cluster = start()
    with Wire(cluster.bootstrap_servers) as wire, Wire(cluster.bootstrap_servers) as slow:
        topic = create_topic(wire)
        produce_to(wire, topic, batch(b"x" * 900_000))
        ask = request_frame(fetch.API, 12, fetch_request(topic, fetch_partition()))
        slow.send_bytes(ask * 50)
        wait_until(lambda: is_any_paused(cluster), PATIENCE_S, "a slow reader")
        wire.socket.close()
        await_connections(cluster, 1)
        assert sweep_in(cluster, 0) == 1
        # Its socket may still take some bytes between two looks; then it was not idle yet.
        looks_ms = count(IDLE_MS_MAX + 1000, IDLE_MS_MAX + 1000)
        wait_until(
            lambda: sweep_in(cluster, next(looks_ms)) == 0,
            PATIENCE_S,
            "the end of a client that never reads",
        )


def test_the_last_answers_have_to_be_read_in_time(start, caplog):
    """A connection that we close delivers what it has, but not for ever."""
    cluster = start({"connections.max.idle.ms": "-1"})
    with Wire(cluster.bootstrap_servers) as wire, Wire(cluster.bootstrap_servers) as slow:
        topic = create_topic(wire)
        produce_to(wire, topic, batch(b"x" * 900_000))
        ask = request_frame(fetch.API, 12, fetch_request(topic, fetch_partition()))
        slow.send_bytes(ask * 50)
        wait_until(lambda: is_any_paused(cluster), PATIENCE_S, "a slow reader")
        cluster.run(lambda: close_all(cluster))
        assert sweep_in(cluster, PEER_MS_MAX + 1000) == 0
    assert "its last answers unread" in caplog.text


async def close_all(cluster) -> None:
    for connection in list(cluster.node.listener._connections):
        connection.close()


def is_half_received(cluster, count: int = 1) -> bool:
    connections = list(cluster.node.listener._connections)
    return sum(c._peer_since_ms is not None for c in connections) == count


def is_parked(cluster, topic) -> bool:
    partition = cluster.node.broker.partitions.get(topic.name, 0)
    return bool(partition is not None and partition._watchers)


def is_any_paused(cluster) -> bool:
    return any(c._is_write_paused for c in list(cluster.node.listener._connections))
