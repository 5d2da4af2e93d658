"""One connection: negotiation, timeouts, and what is said when it goes wrong."""

import asyncio

import pytest

from client.net.scripted_broker import broker, listening, saying
from drumbeat.client.config.common import Address, read_addresses
from drumbeat.client.errors import (
    KafkaError,
    NodeDisconnected,
    RequestTimedOut,
    UnsupportedVersionError,
)
from drumbeat.client.net.connection import Connection, ConnectionOptions, open_connection
from drumbeat.protocol.apis import fetch, metadata
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataResponse
from drumbeat.protocol.header import RequestHeader
from support.ports import free_ports

METADATA = metadata.API
OPTIONS = ConnectionOptions(client_id="test", setup_timeout_ms=5_000, request_timeout_ms=5_000)
OLD_BROKER = {18: (0, 2), 3: (0, 5)}


async def opened(address: str, options: ConnectionOptions = OPTIONS) -> Connection:
    return await open_connection(read_addresses(address)[0], options, lambda _connection: None)


def answer_metadata(header: RequestHeader) -> bytes:
    return METADATA.encode_response(header.api_version)(MetadataResponse(cluster_id="c"))


def silence(_header: RequestHeader) -> None:
    return None


def test_negotiates_down_to_what_an_old_broker_speaks():
    async def check() -> None:
        async with listening(broker(answer_metadata, offered=OLD_BROKER)) as address:
            connection = await opened(address)
            assert connection.versions.highest(METADATA) == 5
            assert connection.versions.highest(METADATA, range(3)) == 2
            response = await connection.call(METADATA, 5, MetadataRequest())
            assert response.cluster_id == "c"
            connection.close()

    asyncio.run(check())


def test_an_api_that_the_broker_lacks_is_named():
    async def check() -> None:
        async with listening(broker(answer_metadata, offered=OLD_BROKER)) as address:
            connection = await opened(address)
            with pytest.raises(UnsupportedVersionError, match=r"Fetch is needed .* offers none"):
                connection.versions.required(fetch.API)
            with pytest.raises(UnsupportedVersionError, match=r"of 9-13, .* only versions 0-5"):
                connection.versions.required(METADATA, range(9, 14))
            connection.close()

    asyncio.run(check())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answers here"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "this port answers with TLS"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server answers here"),
        (b"\xff\xff\xff\xff", "this is not a Kafka broker"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x63", "answered request 99"),
        (b"\x00\x00\x00\x02\x00\x00", "shorter than its header"),
    ],
)
def test_answers_that_are_not_kafkas(said: bytes, expected: str):
    async def check() -> None:
        async with listening(saying(said)) as address:
            with pytest.raises(NodeDisconnected, match=expected):
                await opened(address)

    asyncio.run(check())


def test_a_server_that_hangs_up():
    async def hang_up(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        return None

    async def check() -> None:
        async with listening(hang_up) as address:
            with pytest.raises(
                NodeDisconnected, match="closed before anything was answered: this is probably"
            ):
                await opened(address)

    asyncio.run(check())


def test_refused():
    with pytest.raises(NodeDisconnected, match="connection refused: nothing listens there"):
        asyncio.run(opened(f"127.0.0.1:{free_ports(1)[0]}"))


def test_a_host_name_that_does_not_exist():
    with pytest.raises(NodeDisconnected, match=r"nowhere\.invalid:9092: the host name"):
        asyncio.run(opened("nowhere.invalid"))


def test_an_unanswered_request_closes_the_connection():
    async def check() -> None:
        async with listening(broker(silence, offered=OLD_BROKER)) as address:
            connection = await opened(address)
            late = asyncio.create_task(connection.call(METADATA, 5, MetadataRequest(), 20))
            behind = asyncio.create_task(connection.call(METADATA, 5, MetadataRequest(), 9_000))
            with pytest.raises(RequestTimedOut, match="no answer to Metadata within 20 ms"):
                await late
            with pytest.raises(NodeDisconnected, match="no answer to Metadata within 20 ms"):
                await behind
            assert not connection.is_open
            with pytest.raises(NodeDisconnected):
                await connection.call(METADATA, 5, MetadataRequest())

    asyncio.run(check())


def test_negotiation_that_is_not_answered():
    async def check() -> None:
        async with listening(broker(silence)) as address:
            with pytest.raises(RequestTimedOut, match="no answer to ApiVersions"):
                await opened(address, OPTIONS._replace(setup_timeout_ms=20))

    asyncio.run(check())


def test_a_cancelled_request_does_not_shift_the_answers():
    release = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = broker(answer_metadata, offered=OLD_BROKER)
        await release.wait()
        await inner(reader, writer)

    async def check() -> None:
        release.set()
        async with listening(talk) as address:
            connection = await opened(address)
            first = asyncio.create_task(connection.call(METADATA, 5, MetadataRequest()))
            second = asyncio.create_task(connection.call(METADATA, 2, MetadataRequest()))
            await asyncio.sleep(0)
            first.cancel()
            assert (await second).cluster_id == "c"
            assert connection.in_flight == 0
            connection.close()

    asyncio.run(check())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:1", (Address("a", 1),)),
        (" a:1 , b ", (Address("a", 1), Address("b", 9092))),
        (["[::1]:5", "[::1]"], (Address("::1", 5), Address("::1", 9092))),
    ],
)
def test_addresses(text: str | list[str], expected: tuple[Address, ...]):
    assert read_addresses(text) == expected


def test_an_error_code_of_the_future_is_still_an_error():
    error = KafkaError(9_999)
    assert (error.code.name, error.retriable) == ("UNKNOWN_SERVER_ERROR", False)
