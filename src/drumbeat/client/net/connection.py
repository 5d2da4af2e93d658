"""One connection to a broker: requests out, responses in, in the same order.

A request that is not answered in time closes the connection: a broker answers in order, so every
later answer would be late too. Whoever waits is told why.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.common import Address
from drumbeat.client.errors import KafkaError, NodeDisconnected, RequestTimedOut
from drumbeat.client.net import diagnosis
from drumbeat.client.net.diagnosis import Stage
from drumbeat.client.net.receiver import FRAME_BYTES_MAX, FrameReceiver
from drumbeat.client.net.versions import (
    API_VERSIONS,
    BrokerVersions,
    decode_api_versions,
    retry_version,
)
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis.api_versions import ApiVersionsRequest
from drumbeat.protocol.errors import ErrorCode, ProtocolError
from drumbeat.protocol.frame import frame
from drumbeat.protocol.header import RequestHeader, encode_request_header, read_response_header

log = logging.getLogger(__name__)

SOFTWARE = ApiVersionsRequest("drumbeat", "0.1.0")
_CORRELATION_ID_MASK = 0x7FFF_FFFF
# The first answer is short. Whatever else listens there says something that is longer as a length.
_API_VERSIONS_BYTES_MAX = 64 * 1024

ConnectionLost = Callable[["Connection"], None]


class ConnectionOptions(NamedTuple):
    client_id: str
    setup_timeout_ms: int
    request_timeout_ms: int


class _Pending(NamedTuple):
    correlation_id: int
    name: str
    header_version: int
    decode: Callable[[bytes, int], Any]
    answered: asyncio.Future[Any]
    timer: asyncio.TimerHandle


class Connection(asyncio.BufferedProtocol):
    """Made by `open_connection`; negotiated, so that `versions` is known."""

    def __init__(self, address: Address, options: ConnectionOptions, lost: ConnectionLost) -> None:
        self.address = address
        self.versions: BrokerVersions = BrokerVersions(_NO_VERSIONS, str(address))
        self.used_ms = monotonic_ms()
        self._options = options
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._receiver = FrameReceiver(_API_VERSIONS_BYTES_MAX)
        self._stage = Stage.NEW
        self._transport: asyncio.Transport | None = None
        self._pending: deque[_Pending] = deque()
        self._correlation_id = 0
        self.problem: str | None = None  # why it is closed
        self._drained: asyncio.Future[None] | None = None

    @property
    def is_open(self) -> bool:
        return self.problem is None and self._transport is not None

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    @property
    def awaited(self) -> str | None:
        """The request whose answer is due next."""
        return self._pending[0].name if self._pending else None

    # -- requests --------------------------------------------------------------------------------

    async def call(
        self, api: Api, version: int, request: Any, timeout_ms: int | None = None
    ) -> Any:
        """Send and wait for the response."""
        if self._drained is not None:
            await asyncio.shield(self._drained)
        return await self.begin(api, version, request, timeout_ms)

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up with what it is sent."""
        return self._drained is None

    def begin(
        self, api: Api, version: int, request: Any, timeout_ms: int | None = None
    ) -> asyncio.Future[Any]:
        """Send at once; the response comes later."""
        return self._send(api, version, request, timeout_ms, api.decode_response(version))

    async def tell(self, api: Api, version: int, request: Any) -> None:
        """Send what is not answered: Produce without acknowledgements."""
        if self._drained is not None:
            await asyncio.shield(self._drained)
        self._write(api, version, request)

    def _send(
        self,
        api: Api,
        version: int,
        request: Any,
        timeout_ms: int | None,
        decode: Callable[[bytes, int], Any],
    ) -> asyncio.Future[Any]:
        correlation_id = self._write(api, version, request)
        timeout = self._options.request_timeout_ms if timeout_ms is None else timeout_ms
        answered = self._loop.create_future()
        timer = self._loop.call_later(timeout / 1000, self._timed_out, api.name, timeout, answered)
        header_version = api.response_header_version(version)
        self._pending.append(
            _Pending(correlation_id, api.name, header_version, decode, answered, timer)
        )
        return answered

    def _write(self, api: Api, version: int, request: Any) -> int:
        if self.problem is not None or self._transport is None:
            raise NodeDisconnected(self._explain(self.problem or "the connection is closed"))
        correlation_id = self._correlation_id
        self._correlation_id = (correlation_id + 1) & _CORRELATION_ID_MASK
        header = RequestHeader(api.key, version, correlation_id, self._options.client_id)
        body = api.encode_request(version)(request)
        head = encode_request_header(header, api.request_header_version(version))
        self._transport.write(frame(head, body))
        self.used_ms = monotonic_ms()
        return correlation_id

    def _timed_out(self, name: str, timeout_ms: int, answered: asyncio.Future[Any]) -> None:
        text = f"no answer to {name} within {timeout_ms} ms"
        if self._stage is Stage.NEW:
            text += diagnosis.SILENT
        if not answered.done():
            answered.set_exception(RequestTimedOut(self._explain(text)))
        self._fail(text)

    # -- asyncio's side --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have asyncio.Transport's methods without being one.
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for response in self._receiver.received(nbytes):
                self._answer(response)
        except ProtocolError as problem:
            self._fail(str(problem))

    def pause_writing(self) -> None:
        self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def connection_lost(self, exc: Exception | None) -> None:
        stage = self._stage if self._pending else Stage.PROVEN  # idle ones are closed at any time
        self._fail(diagnosis.closed(stage, exc))

    def _answer(self, response: bytes) -> None:
        if not self._pending:
            raise ProtocolError("the broker sent a response that nothing was asked for")
        pending = self._pending[0]
        correlation_id, position = read_response_header(response, pending.header_version)
        if correlation_id != pending.correlation_id:
            raise ProtocolError(
                f"the broker answered request {correlation_id} where the answer to request "
                f"{pending.correlation_id} ({pending.name}) was due"
            )
        message = pending.decode(response, position)
        self._pending.popleft()
        pending.timer.cancel()
        self.used_ms = monotonic_ms()
        if self._stage is Stage.NEGOTIATED:
            self._stage = Stage.PROVEN
        if not pending.answered.done():
            pending.answered.set_result(message)

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        self._fail("the client closed the connection")

    def _fail(self, problem: str) -> None:
        if self.problem is not None:
            return
        self.problem = problem
        if self._transport is not None:
            self._transport.abort()
        self.resume_writing()
        for pending in self._pending:
            pending.timer.cancel()
            if not pending.answered.done():
                # Of a new connection, the problem says so itself.
                text = (
                    problem
                    if self._stage is Stage.NEW
                    else f"{problem}, with {pending.name} not answered"
                )
                pending.answered.set_exception(NodeDisconnected(self._explain(text)))
        self._pending.clear()
        self._lost(self)

    def _explain(self, problem: str) -> str:
        return f"{self.address}: {problem}"

    # -- the beginning ---------------------------------------------------------------------------

    async def negotiate(self) -> None:
        """Learn which versions the broker speaks, beginning with the newest ApiVersions."""
        version = API_VERSIONS.versions[-1]
        response, is_known = await self._ask_versions(version)
        if not is_known:
            response, is_known = await self._ask_versions(retry_version(response))
        if response.error_code != ErrorCode.NONE:
            raise KafkaError(response.error_code, self._explain("ApiVersions was refused"))
        self.versions = BrokerVersions(response, str(self.address))
        self._receiver.frame_bytes_max = FRAME_BYTES_MAX
        self._stage = Stage.NEGOTIATED

    def _ask_versions(self, version: int) -> asyncio.Future[Any]:
        timeout_ms = self._options.setup_timeout_ms
        decode = partial(decode_api_versions, version)
        return self._send(API_VERSIONS, version, SOFTWARE, timeout_ms, decode)


_NO_VERSIONS = API_VERSIONS.response()


async def open_connection(
    address: Address, options: ConnectionOptions, lost: ConnectionLost
) -> Connection:
    """A connection that is ready for requests, or NodeDisconnected with the reason."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(options.setup_timeout_ms / 1000):
            _, connection = await loop.create_connection(
                lambda: Connection(address, options, lost), address.host, address.port
            )
    except OSError as problem:
        reason = diagnosis.not_connected(problem, options.setup_timeout_ms)
        raise NodeDisconnected(f"{address}: {reason}") from None
    try:
        await connection.negotiate()
    except BaseException:
        connection.close()
        raise
    log.debug("connected to %s", address)
    return connection
