"""The clients' only reader of time. Everything else receives milliseconds as arguments."""

import time


def now_ms() -> int:
    """Wall-clock time: what goes into records."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Time that never goes back: for deadlines, and for how long something took."""
    return time.monotonic_ns() // 1_000_000
