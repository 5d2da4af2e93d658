"""The clients' only drawer of random numbers. Everything else receives them."""

import os

_FRACTION_BITS = 53  # all that a float between 0 and 1 holds


def draw() -> float:
    """A number from 0 up to, not including, 1."""
    return (int.from_bytes(os.urandom(7)) >> (56 - _FRACTION_BITS)) / (1 << _FRACTION_BITS)


def draw_below(limit: int) -> int:
    """An integer from 0 up to, not including, `limit`."""
    return int(draw() * limit)
