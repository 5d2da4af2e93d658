"""A process that holds something until its standard input ends: run by the ownership tests.

holder.py store DIRECTORY | partition DIRECTORY TOPIC PARTITION | posix FILE
"""

import asyncio
import fcntl
import os
import sys

from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.log.store import LocalStore


async def hold_store(directory):
    async with LocalStore(directory):
        wait()


async def hold_partition(directory, topic, partition):
    async with LocalStore(directory, exclusive=False) as store:
        log = await store.acquire(TopicPartition(topic, int(partition)), LogSettings())
        wait(log.epoch)


async def hold_posix_lock(path):
    """As a Java FileLock does."""
    fcntl.lockf(os.open(path, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
    wait()


def wait(*facts):
    print("held", *facts, flush=True)
    sys.stdin.read()


HOLD = {"store": hold_store, "partition": hold_partition, "posix": hold_posix_lock}

if __name__ == "__main__":
    asyncio.run(HOLD[sys.argv[1]](*sys.argv[2:]))
