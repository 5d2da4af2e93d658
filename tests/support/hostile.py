"""What tests of mistreated nodes share: sending anything, and asking whether others are served."""

import socket
from contextlib import suppress

from drumbeat.protocol.apis import api_versions
from drumbeat.protocol.apis.api_versions import ApiVersionsRequest
from support.wire import Wire


def exchange(bootstrap_servers: str, data: bytes) -> None:
    """Send, say that nothing follows, and read until the node closes too."""
    with Wire(bootstrap_servers) as wire, suppress(ConnectionError):
        wire.send_bytes(data)
        with suppress(OSError):  # "not connected", if the node was faster
            wire.socket.shutdown(socket.SHUT_WR)
        while wire.socket.recv(1 << 16):
            pass


def assert_served(wire: Wire) -> None:
    assert wire.call(api_versions.API, 3, ApiVersionsRequest("wire", "1")).error_code == 0
