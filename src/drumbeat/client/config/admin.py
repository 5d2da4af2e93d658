"""The admin client's configuration: Kafka's keys and defaults."""

from __future__ import annotations

from dataclasses import dataclass

from drumbeat.client.config.common import CommonConfig
from drumbeat.client.config.options import INT32_MAX, integer


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig(CommonConfig):
    retries: int = integer(INT32_MAX)
