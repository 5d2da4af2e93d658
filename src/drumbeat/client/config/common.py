"""What all clients are configured with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from drumbeat.client.config.options import INT64_MAX, Config, integer, special, text
from drumbeat.client.errors import ConfigError

DEFAULT_PORT = 9092
_PORT_MAX = 65_535


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_addresses(value: Any) -> tuple[Address, ...]:
    """ "a:9092,b" or ["a:9092", "b"] -> addresses; the port is 9092 where none is given."""
    texts = value.split(",") if isinstance(value, str) else list(value)
    addresses = tuple(_address(text) for text in map(_stripped, texts) if text)
    if not addresses:
        raise ConfigError("needs at least one host:port")
    return addresses


def _stripped(text: Any) -> str:
    if not isinstance(text, str):
        raise ConfigError(f"takes text such as 'localhost:9092', not {text!r}")
    return text.strip()


def _address(text: str) -> Address:
    if "://" in text:
        raise ConfigError(f"takes host:port without a scheme, not {text!r}")
    host, port = _split(text)
    if not host or not port.isdecimal() or not 0 < int(port) <= _PORT_MAX:
        raise ConfigError(f"takes host:port with a port up to {_PORT_MAX}, not {text!r}")
    return Address(host, int(port))


def _split(text: str) -> tuple[str, str]:
    if text.startswith("["):  # an IPv6 address
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":") or str(DEFAULT_PORT)
    host, colon, port = text.rpartition(":")
    return (host, port) if colon else (text, str(DEFAULT_PORT))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonConfig(Config):
    """Connections, retries, metadata."""

    bootstrap_servers: tuple[Address, ...] = special(
        (Address("localhost", DEFAULT_PORT),), "addresses such as 'localhost:9092'", read_addresses
    )
    client_id: str = text("drumbeat")
    request_timeout_ms: int = integer(30_000, minimum=1)
    default_api_timeout_ms: int = integer(60_000)
    retry_backoff_ms: int = integer(100)
    retry_backoff_max_ms: int = integer(1_000)
    reconnect_backoff_ms: int = integer(50)
    reconnect_backoff_max_ms: int = integer(1_000)
    socket_connection_setup_timeout_ms: int = integer(10_000, minimum=1)
    metadata_max_age_ms: int = integer(300_000, maximum=INT64_MAX)
    connections_max_idle_ms: int = integer(540_000, minimum=-1, maximum=INT64_MAX)

    def check(self, given: Iterable[str]) -> None:
        for low, high in (
            ("retry_backoff_ms", "retry_backoff_max_ms"),
            ("reconnect_backoff_ms", "reconnect_backoff_max_ms"),
        ):
            # As in Kafka: a backoff above the default maximum is a constant backoff.
            if high in given and getattr(self, low) > getattr(self, high):
                raise ConfigError(
                    f"{low}={getattr(self, low)} is above {high}={getattr(self, high)}"
                )

    @property
    def creates_topics(self) -> bool:
        """Whether asking for the metadata of a topic may create it."""
        return False
