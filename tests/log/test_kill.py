"""kill -9 under load: what was acknowledged is there, and offsets have no gaps.

A killed process says nothing about fsync (the page cache outlives it); the order of writes, the
recovery and the ownership are what is tried here.
"""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

from drumbeat.log.store import LocalStore
from log.appender import SETTINGS
from log.helpers import TP, segment_files

APPENDER = Path(__file__).with_name("appender.py")
ROUNDS = 6


def append_until_killed(directory, acknowledgements: int) -> int:
    """The last offset the process acknowledged before it was killed."""
    command = [sys.executable, APPENDER, directory, *map(str, TP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(acknowledgements):
            assert process.stdout.readline()
        process.kill()
        lines = process.stdout.read().split(b"\n")
    return int(lines[-2]) if len(lines) > 1 else 0


def records_after_restart(directory):
    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, SETTINGS)
            found = [
                (record.offset, record.value)
                for batch in log.batches_from(0)
                for record in decode(batch)
            ]
            return found, log.end_offset, log.epoch

    return asyncio.run(scenario())


def decode(batch):
    from drumbeat.protocol.records import decode_records

    return decode_records(batch.data)


def test_nothing_acknowledged_is_lost_however_often_the_process_is_killed(tmp_path):
    dice = random.Random(20_261_115)
    epochs = []
    for _ in range(ROUNDS):
        acknowledged = append_until_killed(tmp_path, dice.randint(1, 120))
        found, end_offset, epoch = records_after_restart(tmp_path)
        assert end_offset >= acknowledged
        assert found == [(n, b"%d" % n) for n in range(end_offset)]
        epochs.append(epoch)
    assert epochs == sorted(set(epochs))
    assert len(segment_files(tmp_path / str(TP))) > 1, "the load must be enough to roll"
