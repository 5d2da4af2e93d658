"""kill -9 under load, again and again: all that was acknowledged is there, once, in its place.

CRASH_SECONDS makes a soak of it (`make soak`), CRASH_SEED another run.
"""

import random
import time

import pytest

from crash.crashes import PARTITIONS, Crashes
from crash.duration import SECONDS, SEED

KILLS = 10

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120 + SECONDS)]


def test_nothing_acknowledged_is_lost(tmp_path):
    rng = random.Random(SEED)
    crashes = Crashes(tmp_path / "data", tmp_path / "node.log", SEED)
    crashes.prepare()
    deadline = time.monotonic() + SECONDS
    kills = 0
    while kills < KILLS or time.monotonic() < deadline:
        crashes.load_and_kill(rng.choice((1, rng.randint(1, 100), rng.randint(100, 1500))))
        kills += 1
    crashes.finish()
    print(f"{kills} kills; {crashes.summary}")
    assert crashes.segment_count > 2 * PARTITIONS
    for word in ("Traceback", "CRITICAL", "ERROR"):
        assert word not in crashes.log_text
