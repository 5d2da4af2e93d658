"""A socket that answers as it is told: brokers of another age, and servers that are none."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from drumbeat.protocol.apis.api_versions import API as API_VERSIONS
from drumbeat.protocol.apis.api_versions import ApiVersion, ApiVersionsResponse
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.frame import frame
from drumbeat.protocol.header import RequestHeader, encode_response_header, read_request_header

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Answer = Callable[[RequestHeader], bytes | None]


@asynccontextmanager
async def listening(talk: Talk) -> AsyncIterator[str]:
    """Address of a server that has this conversation with everyone who connects."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"{host}:{port}"
    finally:
        server.close()


def saying(data: bytes) -> Talk:
    """Whatever is asked first, the answer is `data`; then nothing until the client hangs up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(data)
        await reader.read()

    return talk


def broker(answer: Answer, *, offered: Mapping[int, tuple[int, int]] | None = None) -> Talk:
    """Speaks Kafka's protocol; `offered` is what ApiVersions says, by key."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            size = int.from_bytes(await reader.readexactly(4))
            header, _ = read_request_header(await reader.readexactly(size))
            body = (
                api_versions(header, offered)
                if header.api_key == API_VERSIONS.key and offered is not None
                else answer(header)
            )
            if body is not None:
                writer.write(frame(encode_response_header(header.correlation_id, 0), body))

    return talk


def api_versions(header: RequestHeader, offered: Mapping[int, tuple[int, int]]) -> bytes:
    lowest, highest = offered[API_VERSIONS.key]
    is_known = lowest <= header.api_version <= highest
    response = ApiVersionsResponse(
        error_code=ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_VERSION,
        api_keys=tuple(ApiVersion(key, *versions) for key, versions in offered.items()),
    )
    version = header.api_version if is_known else 0
    return API_VERSIONS.encode_response(version)(response)
