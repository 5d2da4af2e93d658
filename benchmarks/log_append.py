"""Group commit of the local log: appends per second and CPU per append, all synced before counted.

    python benchmarks/log_append.py [--seconds 1.5] [--dir DIR]

"In flight" is how many batches wait for a sync at a time. "awaited" calls `sync` once per append,
as a simple caller does; "listened" appends and asks for a sync, as the server's shards do.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from typing import NamedTuple

from drumbeat.log.files import Disk
from drumbeat.log.port import LogSettings, PartitionLog, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.protocol.records import Record, encode_batch

SETTINGS = LogSettings(segment_bytes=64 << 20)
BATCH = encode_batch([Record(0, 1_700_000_000_000, b"key" * 8, b"v" * 100)])
CASES = [(form, in_flight, partitions) for form in ("awaited", "listened")
         for in_flight, partitions in ((1, 1), (8, 1), (64, 1), (512, 1), (64, 16))]  # fmt: skip


class Result(NamedTuple):
    appends: int
    wall_s: float
    cpu_s: float
    syncs: int


class CountingDisk(Disk):
    def __init__(self) -> None:
        self.syncs = 0

    def sync(self, fd: int) -> None:
        self.syncs += 1
        super().sync(fd)


async def awaited(log: PartitionLog, in_flight: int, deadline: float) -> int:
    async def caller() -> int:
        count = 0
        while time.perf_counter() < deadline:
            log.append(BATCH, expected=log.end_offset)
            await log.sync()
            count += 1
        return count

    return sum(await asyncio.gather(*(caller() for _ in range(in_flight))))


async def listened(log: PartitionLog, in_flight: int, deadline: float) -> int:
    first = log.end_offset
    finished = asyncio.get_running_loop().create_future()

    def refill(synced_offset: int) -> None:
        if time.perf_counter() >= deadline:
            if synced_offset == log.end_offset and not finished.done():
                finished.set_result(None)
            return
        while log.end_offset - synced_offset < in_flight:
            log.append(BATCH, expected=log.end_offset)
        log.request_sync()

    log.listen(refill, finished.set_exception)
    refill(log.synced_offset)
    await finished
    log.listen(None, None)
    return log.end_offset - first


FORMS = {"awaited": awaited, "listened": listened}


async def measure(directory: str, form: str, in_flight: int, partitions: int, seconds: float):
    disk = CountingDisk()
    async with LocalStore(directory, disk=disk) as store:
        logs = [
            await store.acquire(TopicPartition("bench", n), SETTINGS) for n in range(partitions)
        ]
        disk.syncs = 0
        wall, cpu = time.perf_counter(), time.process_time()
        share = max(in_flight // partitions, 1)
        runs = (FORMS[form](log, share, wall + seconds) for log in logs)
        appends = sum(await asyncio.gather(*runs))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return Result(appends, wall, cpu, disk.syncs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--dir", default=None, help="where to write; default: a temporary place")
    arguments = parser.parse_args()
    print(f"batches of {len(BATCH)} bytes")
    print("form      in flight  partitions   appends/s  cpu us/append  appends/sync  syncs/s")
    for form, in_flight, partitions in CASES:
        with tempfile.TemporaryDirectory(dir=arguments.dir) as directory:
            result = asyncio.run(measure(directory, form, in_flight, partitions, arguments.seconds))
        print(
            f"{form:9} {in_flight:9} {partitions:11} {result.appends / result.wall_s:11,.0f}"
            f" {result.cpu_s / result.appends * 1e6:14.1f} {result.appends / result.syncs:13.1f}"
            f" {result.syncs / result.wall_s:8,.0f}"
        )


if __name__ == "__main__":
    main()
