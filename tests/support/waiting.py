"""Waiting for a condition, with a limit and a message."""

import time
from collections.abc import Callable

POLL_INTERVAL_S = 0.02


def wait_until(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s:g} s"
        time.sleep(POLL_INTERVAL_S)
