"""A blocking client that speaks frames: any API at any version, and anything that is not one."""

import socket
import struct
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.frame import frame
from drumbeat.protocol.header import (
    RequestHeader,
    encode_request_header,
    read_response_header,
)

TIMEOUT_S = 10.0


class ConnectionClosed(Exception):  # noqa: N818 - what happened
    """The broker closed the connection instead of answering."""


class Wire:
    def __init__(self, bootstrap_servers: str, client_id: str | None = "wire") -> None:
        host, port = bootstrap_servers.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), TIMEOUT_S)
        self.client_id = client_id
        self._correlation_id = 0
        self._sent: list[tuple[Api, int, int]] = []

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.socket.close()

    def send(self, api: Api, version: int, body: Any) -> None:
        self._correlation_id += 1
        self.send_bytes(request_frame(api, version, body, self._correlation_id, self.client_id))
        self._sent.append((api, version, self._correlation_id))

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> Any:
        """The response to the oldest request that has none yet."""
        api, version, correlation_id = self._sent.pop(0)
        data = self.receive_frame()
        answered, position = read_response_header(data, api.response_header_version(version))
        assert answered == correlation_id
        return api.decode_response(version)(data, position)

    def call(self, api: Api, version: int, body: Any) -> Any:
        self.send(api, version, body)
        return self.receive()

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def is_closed(self) -> bool:
        """Whether the broker has closed its side; waits for it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self.socket.recv(size - len(data))
            if not chunk:
                raise ConnectionClosed(f"after {len(data)} of {size} bytes")
            data += chunk
        return bytes(data)


def request_frame(
    api: Api, version: int, body: Any, correlation_id: int = 1, client_id: str | None = "wire"
) -> bytes:
    header = RequestHeader(api.key, version, correlation_id, client_id)
    return frame(
        encode_request_header(header, api.request_header_version(version)),
        api.encode_request(version)(body),
    )
