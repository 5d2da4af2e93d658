"""A process that appends and compacts at the same time: run, and killed, by the kill -9 test.

A record's value is its offset and its key one of KEYS, so that whoever reads the log can tell which
records may be missing: those with a newer one of their key.
"""

import asyncio
import os
import sys

from drumbeat.log.port import LogSettings, PartitionLog, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.protocol.records import Record, encode_batch

KEYS = 50
SETTINGS = LogSettings(
    segment_bytes=5_000, index_interval_bytes=500, is_compacted=True, history_retention_ms=1_000
)


def batch(first: int, count: int) -> bytes:
    numbers = range(first, first + count)
    records = [
        Record(n - first, 1000 + n, b"%d" % (n % KEYS), b"%d" % n if n % 7 else None)
        for n in numbers
    ]
    return encode_batch(records)


async def append_for_ever(log: PartitionLog) -> None:
    while True:
        for count in (1, 3, 7, 2, 5):
            log.append(batch(log.end_offset, count), expected=log.end_offset)
        os.write(1, b"%d\n" % await log.sync())


async def compact_for_ever(log: PartitionLog) -> None:
    for now_ms in range(0, sys.maxsize, 500):
        await log.compact(now_ms)
        await asyncio.sleep(0)


async def main(directory: str, topic: str, partition: str) -> None:
    async with LocalStore(directory) as store:
        log = await store.acquire(TopicPartition(topic, int(partition)), SETTINGS)
        await asyncio.gather(append_for_ever(log), compact_for_ever(log))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
