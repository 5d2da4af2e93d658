"""The producer's configuration: Kafka's keys and defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from drumbeat.client.config.common import CommonConfig
from drumbeat.client.config.options import (
    INT32_MAX,
    INT64_MAX,
    choice,
    flag,
    function,
    integer,
    special,
)
from drumbeat.client.errors import ConfigError

Serializer = Callable[[str, Any], bytes | None]

ACKS_ALL = -1
IDEMPOTENT_IN_FLIGHT_MAX = 5  # how many batches of a producer a broker remembers
_ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "0": 0, "1": 1}


def _read_acks(value: Any) -> int:
    if isinstance(value, bool) or str(value).lower() not in _ACKS:
        raise ValueError(value)
    return _ACKS[str(value).lower()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(CommonConfig):
    """Serialisers are called with the topic and the value given to send()."""

    # -- delivery
    acks: int = special(ACKS_ALL, "all, -1, 0 or 1", _read_acks)
    enable_idempotence: bool = flag(True)
    retries: int = integer(INT32_MAX)
    delivery_timeout_ms: int = integer(120_000)
    max_block_ms: int = integer(60_000, maximum=INT64_MAX)
    max_in_flight_requests_per_connection: int = integer(5, minimum=1)
    # -- batching
    batch_size: int = integer(16_384)
    linger_ms: int = integer(5)
    buffer_memory: int = integer(32 * 1024 * 1024, maximum=INT64_MAX)
    max_request_size: int = integer(1024 * 1024)
    compression_type: str = choice("none", "none", "gzip", "snappy", "lz4", "zstd")
    compression_gzip_level: int = integer(-1, minimum=-1, maximum=9)
    compression_lz4_level: int = integer(9, minimum=1, maximum=17)
    compression_zstd_level: int = integer(3, minimum=-131_072, maximum=22)
    # -- partitions and records
    partitioner: Callable[..., int] | None = function(
        "(topic, key, key_bytes, value, value_bytes, partition_count) -> partition"
    )
    partitioner_ignore_keys: bool = flag(False)
    metadata_max_idle_ms: int = integer(300_000, minimum=5_000, maximum=INT64_MAX)
    key_serializer: Serializer | None = function("(topic, key) -> bytes")
    value_serializer: Serializer | None = function("(topic, value) -> bytes")

    def check(self, given: Iterable[str]) -> None:
        CommonConfig.check(self, given)
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise ConfigError(
                f"delivery_timeout_ms={self.delivery_timeout_ms} must be at least "
                f"linger_ms={self.linger_ms} + request_timeout_ms={self.request_timeout_ms}"
            )
        if "enable_idempotence" in given and self.enable_idempotence:
            problem = self.idempotence_problem
            if problem is not None:
                raise ConfigError(f"enable_idempotence=True needs {problem}")

    @property
    def is_idempotent(self) -> bool:
        """As in Kafka: on by default, and off where another key that was set rules it out."""
        return self.enable_idempotence and self.idempotence_problem is None

    @property
    def idempotence_problem(self) -> str | None:
        if self.acks != ACKS_ALL:
            return f"acks='all', not {self.acks}"
        if self.retries == 0:
            return "retries above 0"
        if self.max_in_flight_requests_per_connection > IDEMPOTENT_IN_FLIGHT_MAX:
            return f"max_in_flight_requests_per_connection up to {IDEMPOTENT_IN_FLIGHT_MAX}"
        return None

    @property
    def creates_topics(self) -> bool:
        return True
