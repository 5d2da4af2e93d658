"""Addresses that are no Kafka listener, and brokers that are not where they say: what is said."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from client.net.scripted_broker import Talk, broker, listening, saying
from client.net.unreachable import NODE_ID, OFFERED, TOPIC, advertising
from drumbeat.client.config import CommonConfig
from drumbeat.client.consumer import Consumer
from drumbeat.client.errors import KafkaError, NoBrokersAvailable, NodeDisconnected, RequestTimedOut
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.producer import Producer
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.protocol.header import RequestHeader
from support.ports import free_ports

TP = TopicPartition(TOPIC, 0)
LIMIT_MS = 300


async def hang_up(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """The connection ends as soon as it begins."""


async def say_nothing(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


def run(work: Awaitable[None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            await work

    asyncio.run(limited())


def config(address: str, **options: Any) -> CommonConfig:
    return CommonConfig.of(
        bootstrap_servers=address,
        default_api_timeout_ms=LIMIT_MS,
        socket_connection_setup_timeout_ms=LIMIT_MS,
        **options,
    )


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (say_nothing, "no answer to ApiVersions within 300 ms, though the connection was accepted"),
        (hang_up, "closed before anything was answered: this is probably not a Kafka listener"),
        (saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "an HTTP server answers here"),
        (saying(b"\x15\x03\x03\x00\x02\x02\x46"), "this port answers with TLS: use the port of a"),
        (saying(b"SSH-2.0-OpenSSH_9.2\r\n"), "an SSH server answers here"),
        (saying(b"-ERR unknown command\r\n"), "begins with b'-ERR', .*this is not a Kafka broker"),
        (saying(b"220 mail.example.com\r\n"), "begins with b'220 ', .*this is not a Kafka broker"),
    ],
)
def test_a_bootstrap_server_that_is_no_kafka_listener(talk: Talk, expected: str):
    async def work() -> None:
        async with listening(talk) as address:
            with pytest.raises(NoBrokersAvailable, match=expected) as caught:
                await Cluster(config(address)).start()
            beginning = f"none of bootstrap_servers could be used: {address}: "
            assert str(caught.value).startswith(beginning)

    run(work())


def test_a_bootstrap_server_where_nothing_listens():
    address = f"127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(NoBrokersAvailable, match=f"{address}: connection refused: nothing listens"):
        run(Cluster(config(address)).start())


def refuse(_header: RequestHeader) -> bytes:
    raise ConnectionError


def ignore(_header: RequestHeader) -> None:
    return None


@pytest.mark.parametrize(
    ("answer", "error", "expected"),
    [
        (refuse, NodeDisconnected, "closed before anything but ApiVersions was .*wants SASL"),
        (ignore, RequestTimedOut, "not done within 300 ms: no answer of {} to Metadata yet"),
    ],
)
def test_a_listener_that_only_tells_its_versions(
    answer: Callable[[RequestHeader], bytes | None], error: type[KafkaError], expected: str
):
    async def work() -> None:
        async with listening(broker(answer, offered=OFFERED)) as address:
            with pytest.raises(error, match=expected.format(address)) as caught:
                await Cluster(config(address)).start()
            assert address in str(caught.value)

    run(work())


# -- advertised.listeners ------------------------------------------------------------------------


async def list_offsets(bootstrap: str) -> None:
    options = {"bootstrap_servers": bootstrap, "default_api_timeout_ms": LIMIT_MS}
    async with Consumer(**options) as consumer:
        await consumer.end_offsets([TP])


async def find_position(bootstrap: str) -> None:
    options = {"bootstrap_servers": bootstrap, "default_api_timeout_ms": LIMIT_MS}
    async with Consumer(**options) as consumer:
        consumer.assign([TP])
        await consumer.position(TP)


async def commit(bootstrap: str) -> None:
    options = {"bootstrap_servers": bootstrap, "default_api_timeout_ms": LIMIT_MS}
    async with Consumer(**options, group_id="billing") as consumer:
        await consumer.commit({TP: OffsetAndMetadata(1)})


async def send(bootstrap: str) -> None:
    options = {"delivery_timeout_ms": LIMIT_MS, "request_timeout_ms": 100, "linger_ms": 0}
    options["enable_idempotence"] = False
    async with Producer(bootstrap_servers=bootstrap, **options) as producer:
        await producer.send_and_wait(TOPIC, b"paid")


@pytest.mark.parametrize("use", [list_offsets, find_position, commit, send])
def test_a_broker_that_is_not_where_it_says(
    use: Callable[[str], Awaitable[None]], caplog: pytest.LogCaptureFixture
):
    async def work() -> None:
        gone = f"127.0.0.1:{free_ports(1)[0]}"
        async with advertising(gone) as bootstrap:
            with pytest.raises(KafkaError) as caught:
                await use(bootstrap)
        expected = [
            f"{gone}: connection refused",
            f"bootstrap server {bootstrap} answered and named this address for node {NODE_ID}",
            "set advertised.listeners",
        ]
        assert [text for text in expected if text not in str(caught.value)] == []

    with caplog.at_level(logging.WARNING, "drumbeat.client"):
        run(work())
    said = [r for r in caplog.messages if r.startswith("a broker cannot be reached: ")]
    assert len(said) == 1
    assert "set advertised.listeners" in said[0]


def test_a_broker_that_accepts_and_says_nothing():
    async def work() -> None:
        async with listening(say_nothing) as mute, advertising(mute) as bootstrap:
            expected = f"no connection to {mute} yet .*{bootstrap} answered.*advertised.listeners"
            with pytest.raises(RequestTimedOut, match=expected):
                await list_offsets(bootstrap)

    run(work())


def test_a_broker_that_was_reached_before_is_down_not_misplaced():
    async def work() -> None:
        async with AsyncExitStack() as up:
            address = await up.enter_async_context(listening(broker(ignore, offered=OFFERED)))
            async with advertising(address) as bootstrap:
                cluster = Cluster(config(bootstrap))
                await cluster.start()
                coordinator = cluster.learn_coordinator("g", cluster.metadata.brokers[NODE_ID])
                await cluster.connect(coordinator)
                await up.aclose()
                cluster.disconnect_coordinator(NODE_ID)
                with pytest.raises(NodeDisconnected, match="refused") as caught:
                    await cluster.connect(coordinator)
                assert "advertised.listeners" not in str(caught.value)
                await cluster.close()

    run(work())
