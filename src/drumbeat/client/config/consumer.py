"""The consumer's configuration: Kafka's keys and defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from drumbeat.client.config.common import CommonConfig
from drumbeat.client.config.options import (
    choice,
    flag,
    function,
    integer,
    names,
    optional_text,
    text,
)
from drumbeat.client.errors import ConfigError

Deserializer = Callable[[str, bytes | None], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(CommonConfig):
    """Deserialisers are called with the topic and the bytes (None for null)."""

    # -- the group
    group_id: str | None = optional_text()
    group_instance_id: str | None = optional_text()
    session_timeout_ms: int = integer(45_000, minimum=1)
    heartbeat_interval_ms: int = integer(3_000, minimum=1)
    max_poll_interval_ms: int = integer(300_000, minimum=1)
    partition_assignment_strategy: tuple[Any, ...] = names(
        ("range", "cooperative-sticky"), "names of assignors, or assignors"
    )
    client_rack: str = text("")
    # -- offsets
    enable_auto_commit: bool = flag(True)
    auto_commit_interval_ms: int = integer(5_000)
    auto_offset_reset: str = choice("latest", "latest", "earliest", "none")
    # -- topics
    allow_auto_create_topics: bool = flag(True)
    exclude_internal_topics: bool = flag(True)
    # -- fetching
    max_poll_records: int = integer(500, minimum=1)
    fetch_min_bytes: int = integer(1)
    fetch_max_bytes: int = integer(50 * 1024 * 1024)
    fetch_max_wait_ms: int = integer(500)
    max_partition_fetch_bytes: int = integer(1024 * 1024)
    isolation_level: str = choice("read_uncommitted", "read_uncommitted", "read_committed")
    check_crcs: bool = flag(True)
    # -- records
    key_deserializer: Deserializer | None = function("(topic, bytes) -> key")
    value_deserializer: Deserializer | None = function("(topic, bytes) -> value")

    def check(self, given: Iterable[str]) -> None:
        CommonConfig.check(self, given)
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError(
                f"heartbeat_interval_ms={self.heartbeat_interval_ms} must be below "
                f"session_timeout_ms={self.session_timeout_ms}; a third of it is usual"
            )
        if self.group_id is not None:
            return
        if self.group_instance_id is not None:
            raise ConfigError("group_instance_id needs a group_id")
        if self.enable_auto_commit and "enable_auto_commit" in given:
            raise ConfigError("enable_auto_commit=True needs a group_id to commit for")

    @property
    def commits_automatically(self) -> bool:
        return self.enable_auto_commit and self.group_id is not None

    @property
    def creates_topics(self) -> bool:
        return self.allow_auto_create_topics
