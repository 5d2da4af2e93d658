"""How long to wait before trying again: exponential, with jitter from dice that are given."""

from __future__ import annotations

from collections.abc import Callable

from drumbeat.client.membership.values import MembershipConfig
from drumbeat.client.net.backoff import Backoff

# Draws a number from 0 up to, not including, 1.
Dice = Callable[[], float]


class Waits:
    def __init__(self, config: MembershipConfig, dice: Dice) -> None:
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._dice = dice

    def after(self, failures: int) -> int:
        return self._backoff.delay_ms(failures, self._dice())
