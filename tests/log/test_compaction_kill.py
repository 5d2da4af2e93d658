"""kill -9 while a log is written and compacted at once: nothing is lost, nothing comes back."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

from drumbeat.log.store import LocalStore
from log.compactor import KEYS, SETTINGS
from log.helpers import TP, records

COMPACTOR = Path(__file__).with_name("compactor.py")
ROUNDS = 5


def run_until_killed(directory, acknowledgements: int) -> int:
    """The end offset that the process acknowledged last."""
    command = [sys.executable, COMPACTOR, directory, *map(str, TP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        acknowledged = [process.stdout.readline() for _ in range(acknowledgements)]
        process.kill()
        acknowledged += process.stdout.read().splitlines(keepends=True)
    whole = [line for line in acknowledged if line.endswith(b"\n")]
    return int(whole[-1])


async def load(directory):
    async with LocalStore(directory) as store:
        log = await store.acquire(TP, SETTINGS)
        return records(log), log.end_offset


def test_nothing_is_lost_and_nothing_comes_back(tmp_path):
    dice = random.Random(20_261_120)
    compacted = 0
    for _ in range(ROUNDS):
        acknowledged = run_until_killed(tmp_path, dice.randint(20, 150))
        found, end_offset = asyncio.run(load(tmp_path))
        assert end_offset >= acknowledged
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets))
        newest = {int(record.key): record for record in found}
        for record in found:
            assert int(record.key) == record.offset % KEYS
            assert record.value == (b"%d" % record.offset if record.offset % 7 else None)
        for n in range(end_offset - KEYS, end_offset):
            # A tombstone may be gone, but then so is everything that it removed.
            if n % 7 or n % KEYS in newest:
                assert newest[n % KEYS].offset == n
        compacted += len(found) < end_offset
    assert compacted > ROUNDS / 2, "the load must be enough to compact"
