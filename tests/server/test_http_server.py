"""The little HTTP server: what it answers, and that nobody can hold it up."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import pytest

from drumbeat.server import http_server
from drumbeat.server.http_server import CONNECTIONS_MAX, REQUEST_BYTES_MAX, HttpServer, Response

PAGE = "x" * 1_000_000


async def _hello() -> Response:
    return Response(HTTPStatus.OK, "hello\n")


async def _page() -> Response:
    return Response(HTTPStatus.OK, PAGE)


async def _fails() -> Response:
    raise RuntimeError("a secret")


ROUTES = {"/hello": _hello, "/page": _page, "/fails": _fails}

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Client]]


def served(scene: Callable[[Connect], Awaitable[None]]) -> None:
    """Play `scene` against a server; no connection of it is left in the end."""

    async def main() -> None:
        server = HttpServer(ROUTES)
        port = await server.start("127.0.0.1", 0)
        clients: list[Client] = []

        async def connect() -> Client:
            clients.append(await asyncio.open_connection("127.0.0.1", port))
            return clients[-1]

        try:
            async with asyncio.timeout(20):
                await scene(connect)
        finally:
            for _, writer in clients:
                writer.close()
            await server.stop()

    asyncio.run(main())


async def ask(connect: Connect, request: bytes) -> tuple[int, dict[str, str], str]:
    reader, writer = await connect()
    writer.write(request)
    answer = (await reader.read()).decode()
    head, _, body = answer.partition("\r\n\r\n")
    status, *fields = head.split("\r\n")
    return int(status.split()[1]), dict(field.split(": ") for field in fields), body


# request -> status and body
EXCHANGES = {
    "a page": (b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200, "hello\n"),
    "a large page": (b"GET /page HTTP/1.1\r\n\r\n", 200, PAGE),
    "an old client": (b"GET /hello HTTP/1.0\r\n\r\n", 200, "hello\n"),
    "a query": (b"GET /hello?a=b HTTP/1.1\r\n\r\n", 200, "hello\n"),
    "the head alone": (b"HEAD /hello HTTP/1.1\r\n\r\n", 200, ""),
    "nothing there": (b"GET / HTTP/1.1\r\n\r\n", 404, "not here; try /hello, /page, /fails\n"),
    "another method": (b"DELETE /hello HTTP/1.1\r\n\r\n", 405, "Method Not Allowed\n"),
    "a body": (b"POST /hello HTTP/1.1\r\n\r\n" + bytes(200_000), 405, "Method Not Allowed\n"),
    "no HTTP": (b"\x16\x03\x01\x02\x00\r\n\r\n", 400, "Bad Request\n"),
    "another HTTP": (b"PRI * HTTP/2.0\r\n\r\n", 400, "Bad Request\n"),
    "too much": (
        b"GET /hello HTTP/1.1\r\nCookie: " + b"c" * 2 * REQUEST_BYTES_MAX,
        431,
        "Request Header Fields Too Large\n",
    ),
    "a bug of ours": (b"GET /fails HTTP/1.1\r\n\r\n", 500, "see the log\n"),
}


@pytest.mark.parametrize("what", EXCHANGES)
def test_every_request_is_answered(what):
    request, status, body = EXCHANGES[what]

    async def scene(connect: Connect) -> None:
        assert (await ask(connect, request))[::2] == (status, body)

    served(scene)


def test_an_answer_says_how_to_take_it():
    async def scene(connect: Connect) -> None:
        _, fields, _ = await ask(connect, b"HEAD /hello HTTP/1.1\r\n\r\n")
        assert fields == {
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": "6",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
        _, fields, _ = await ask(connect, b"PUT /hello HTTP/1.1\r\n\r\n")
        assert fields["Allow"] == "GET, HEAD"

    served(scene)


def test_a_request_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(http_server, "REQUEST_TIMEOUT_S", 0.05)

    async def scene(connect: Connect) -> None:
        assert (await ask(connect, b"GET /hello HTTP/1.1\r\n"))[0] == 408

    served(scene)


def test_who_does_not_read_is_left(monkeypatch):
    monkeypatch.setattr(http_server, "RESPONSE_TIMEOUT_S", 0.05)
    asked = asyncio.Event()

    async def huge() -> Response:
        asked.set()
        return Response(HTTPStatus.OK, "x" * HUGE_BYTES)

    monkeypatch.setitem(ROUTES, "/page", huge)

    async def scene(connect: Connect) -> None:
        reader, writer = await connect()
        writer.transport.pause_reading()
        writer.write(b"GET /page HTTP/1.1\r\n\r\n")
        await asked.wait()
        await asyncio.wait(connections_served())
        writer.transport.resume_reading()
        assert len(await _all_that_came(reader)) < HUGE_BYTES

    served(scene)


def test_there_are_only_so_many_connections():
    async def scene(connect: Connect) -> None:
        idle = [await connect() for _ in range(CONNECTIONS_MAX)]
        reader, _ = await connect()
        assert await _all_that_came(reader) == b""
        idle[0][1].write(b"GET /hello HTTP/1.1\r\n\r\n")
        assert (await idle[0][0].read()).endswith(b"hello\n")

    served(scene)


def test_who_goes_away_is_forgotten():
    async def scene(connect: Connect) -> None:
        for request in (b"", b"GET", b"GET /page HTTP/1.1\r\n\r\n"):
            _, writer = await connect()
            writer.write(request)
            await writer.drain()
            writer.transport.abort()
        assert (await ask(connect, b"GET /hello HTTP/1.1\r\n\r\n"))[0] == 200

    served(scene)


def test_stopping_does_not_wait_for_anybody():
    async def scene(connect: Connect) -> None:
        _, writer = await connect()
        writer.write(b"GET /hello")
        await writer.drain()

    served(scene)


HUGE_BYTES = 64 << 20


def connections_served() -> list[asyncio.Task]:
    name = "HttpServer._serve"
    return [task for task in asyncio.all_tasks() if task.get_coro().__qualname__ == name]


async def _all_that_came(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""
