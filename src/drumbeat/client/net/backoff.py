"""Exponential backoff with jitter, as Kafka's clients do it (KIP-580): time and dice are given."""

from __future__ import annotations

from typing import NamedTuple

JITTER = 0.2
_EXPONENT_MAX = 32  # more doublings than any configured range allows; keeps the power small


class Backoff(NamedTuple):
    """From `initial_ms`, doubled for each failure up to `max_ms`, give or take a fifth."""

    initial_ms: int
    max_ms: int

    def delay_ms(self, failures: int, dice: float) -> int:
        """How long to wait after this many failures in a row; `dice` is from 0 up to 1."""
        if failures <= 0 or not self.initial_ms:
            return 0
        ceiling = max(self.initial_ms, self.max_ms)
        doubled = self.initial_ms << min(failures - 1, _EXPONENT_MAX)
        term = min(doubled, ceiling)
        return round(term * (1 - JITTER + 2 * JITTER * dice))
