"""Power cuts under load: nothing that was acknowledged is lost, though the page cache is.

It takes root and a loop device. Where they cannot be had, in CI too, this is skipped and says so.
"""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from crash.crashes import Crashes
from crash.duration import SECONDS, SEED
from crash.power import Disk, NoPowerSwitchError

CUTS = 6

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120 + SECONDS)]


@pytest.fixture
def disk(tmp_path) -> Iterator[Disk]:
    with ExitStack() as stack:
        try:
            entered = stack.enter_context(Disk(tmp_path))
        except NoPowerSwitchError as problem:
            pytest.skip(f"no power to cut, for want of a loop-mounted ext4: {problem}")
        yield entered


def test_nothing_acknowledged_is_lost(disk, tmp_path):
    rng = random.Random(SEED)
    crashes = Crashes(disk.place / "data", tmp_path / "node.log", SEED)
    crashes.prepare()
    unsynced = disk.place / "unsynced"
    deadline = time.monotonic() + SECONDS
    cuts = 0
    while cuts < CUTS or time.monotonic() < deadline:
        crashes.load_and_kill(rng.choice((1, rng.randint(1, 100), rng.randint(100, 1500))))
        unsynced.write_bytes(b"gone")
        disk.cut_and_restore()
        is_lost = not unsynced.exists() or unsynced.read_bytes() != b"gone"
        assert is_lost, "a cut that takes nothing proves nothing"
        cuts += 1
    crashes.finish()
    print(f"{cuts} power cuts; {crashes.summary}")
    for word in ("Traceback", "CRITICAL", "ERROR"):
        assert word not in crashes.log_text
