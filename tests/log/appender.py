"""A process that appends as fast as it can and says what is durable: run by the kill -9 test.

Each record's value is its offset, so that whoever reads the log can tell what is missing.
"""

import asyncio
import os
import sys

from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.protocol.records import Record, encode_batch

SETTINGS = LogSettings(segment_bytes=20_000, index_interval_bytes=1000)


def batch(first: int, count: int) -> bytes:
    records = [Record(n, 1000 + first + n, None, b"%d" % (first + n)) for n in range(count)]
    return encode_batch(records)


async def main(directory: str, topic: str, partition: str) -> None:
    async with LocalStore(directory) as store:
        log = await store.acquire(TopicPartition(topic, int(partition)), SETTINGS)
        acknowledged = asyncio.Event()

        def acknowledge(synced_offset: int) -> None:
            os.write(1, b"%d\n" % synced_offset)
            acknowledged.set()

        log.listen(acknowledge, None)
        while True:
            for count in (1, 3, 7, 2, 5):
                log.append(batch(log.end_offset, count), expected=log.end_offset)
            log.request_sync()
            acknowledged.clear()
            await acknowledged.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
