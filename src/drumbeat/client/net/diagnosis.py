"""What is probably wrong with an address that does not behave like a Kafka listener.

The texts follow the address and say what happened, then what to look at.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from enum import Enum
from typing import Final

from drumbeat.client.config.common import Address


class Stage(Enum):
    """How well a connection's peer is known."""

    NEW = "nothing was answered"
    NEGOTIATED = "only ApiVersions was answered"
    PROVEN = "something else was answered"


SILENT: Final = (
    ", though the connection was accepted: this is probably not a Kafka listener (check the port), "
    "or the broker hangs"
)
_CLOSED: Final[Mapping[Stage, str]] = {
    Stage.NEW: (
        "the connection was closed before anything was answered: this is probably not a Kafka "
        "listener, or one that wants TLS; check the port, and use that of a PLAINTEXT listener"
    ),
    Stage.NEGOTIATED: (
        "the connection was closed before anything but ApiVersions was answered: a listener that "
        "wants SASL does so (use the port of a PLAINTEXT listener), or the broker has just stopped"
    ),
}

# How answers that are not Kafka's begin. As lengths they are far above any first answer's.
_FOREIGN: Final = (
    ((b"HTTP",), "an HTTP server answers here, not a Kafka broker: check the port"),
    (
        (b"\x15\x03", b"\x16\x03"),
        "this port answers with TLS: use the port of a PLAINTEXT listener",
    ),
    ((b"SSH-",), "an SSH server answers here, not a Kafka broker: check the port"),
)


def closed(stage: Stage, problem: Exception | None) -> str:
    """The connection is gone while an answer was due, or at any time once it is PROVEN."""
    ordinary = (
        "the broker closed the connection" if problem is None else f"connection lost: {problem}"
    )
    return _CLOSED.get(stage, ordinary)


def not_connected(problem: OSError, timeout_ms: int) -> str:
    """Why there is no connection at all."""
    if isinstance(problem, TimeoutError):
        return f"no connection within {timeout_ms} ms: check the address, and firewalls on the way"
    if isinstance(problem, socket.gaierror):
        return f"the host name cannot be resolved ({problem.strerror}): check its spelling"
    if problem.errno == errno.ECONNREFUSED or f"Errno {errno.ECONNREFUSED}]" in str(problem):
        return "connection refused: nothing listens there; is the broker up, is the port right?"
    return f"cannot connect: {problem}"


def not_kafka(first: bytes, size_max: int) -> str:
    """An answer begins with these four bytes: a length that no answer has."""
    for beginnings, text in _FOREIGN:
        if first.startswith(beginnings):
            return text
    size = int.from_bytes(first, signed=True)
    return (
        f"the answer begins with {first!r}, which as a length is {size} bytes (the limit is "
        f"{size_max}): this is not a Kafka broker, check the port"
    )


def advertised(node_id: int, bootstrap: Address) -> str:
    """Follows why a broker cannot be reached at an address that another one named."""
    return (
        f" (bootstrap server {bootstrap} answered and named this address for node {node_id}: "
        "if it is wrong, set advertised.listeners of that broker to an address that can be "
        "reached from here)"
    )
