"""How many records per second does our producer send, beside aiokafka and kafka-python?

Each sends the same values to a Drumbeat node of its own process, in the way its manual shows: a
loop of `send`, then `flush`. Same settings for all: idempotent, acks=all, Kafka's batch size and
linger. They take turns within one run and the best round of each counts, because machines are
shared and noisy: trust the ratios more than the figures. "per CPU-s" divides by the client's own
processor time, all threads; "per s" by the clock.

    python benchmarks/producer.py [--rounds 5] [--megabytes 8] [--partitions 4] [--keys]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from aiokafka import AIOKafkaProducer

from drumbeat.client.admin import NewTopic, OffsetSpec, SyncAdmin
from drumbeat.client.producer import Producer, SyncProducer
from drumbeat.client.values import TopicPartition

with warnings.catch_warnings():
    # kafka-python loads its schemas through a deprecated importlib call.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaProducer

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.node_process import NodeProcess

SIZES = (100, 1000)
SETTINGS = {"acks": "all", "enable_idempotence": True, "linger_ms": 5}
BATCH_SIZE = 16_384
OURS = "drumbeat"

Run = Callable[[str, str, list[bytes], list[bytes | None]], None]


class Result(NamedTuple):
    per_cpu_second: float
    per_second: float


def drumbeat(servers: str, topic: str, values: list[bytes], keys: list[bytes | None]) -> None:
    async def produce() -> None:
        async with Producer(
            bootstrap_servers=servers, batch_size=BATCH_SIZE, **SETTINGS
        ) as producer:
            for key, value in zip(keys, values, strict=True):
                await producer.send(topic, value, key=key)
            await producer.flush()

    asyncio.run(produce())


def drumbeat_sync(servers: str, topic: str, values: list[bytes], keys: list[bytes | None]) -> None:
    with SyncProducer(bootstrap_servers=servers, batch_size=BATCH_SIZE, **SETTINGS) as producer:
        for key, value in zip(keys, values, strict=True):
            producer.send(topic, value, key=key)
        producer.flush()


def aiokafka(servers: str, topic: str, values: list[bytes], keys: list[bytes | None]) -> None:
    async def produce() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=servers, max_batch_size=BATCH_SIZE, **SETTINGS
        )
        await producer.start()
        try:
            for key, value in zip(keys, values, strict=True):
                await producer.send(topic, value, key=key)
            await producer.flush()
        finally:
            await producer.stop()

    asyncio.run(produce())


def kafka_python(servers: str, topic: str, values: list[bytes], keys: list[bytes | None]) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, batch_size=BATCH_SIZE, **SETTINGS)
    for key, value in zip(keys, values, strict=True):
        producer.send(topic, value, key=key)
    producer.flush()
    producer.close()


CLIENTS: dict[str, Run] = {
    OURS: drumbeat,
    f"{OURS} (SyncProducer)": drumbeat_sync,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
}


def measure(run: Run, servers: str, topic: str, values: list[bytes], keys) -> Result:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    run(servers, topic, values, keys)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Result(len(values) / cpu, len(values) / wall)


def check(servers: str, topic: str, partitions: int, expected: int) -> None:
    """Nothing may be lost, or the figures mean nothing."""
    with SyncAdmin(bootstrap_servers=servers) as admin:
        wanted = {TopicPartition(topic, p): OffsetSpec.LATEST for p in range(partitions)}
        ends = admin.list_offsets(wanted)
    stored = sum(end.offset for end in ends.values())
    assert stored == expected, f"{topic}: {stored} of {expected} records are there"


def compare(servers: str, size: int, arguments: argparse.Namespace) -> None:
    count = arguments.megabytes * 1_000_000 // size
    values = [(b"%020d" % number).ljust(size, b".") for number in range(count)]
    keys = [b"user-%07d" % (n * 7919 % 50_000) if arguments.keys else None for n in range(count)]
    topics = {name: f"{name.split('(')[-1].strip(')')}-{size}" for name in CLIENTS}
    with SyncAdmin(bootstrap_servers=servers) as admin:
        admin.create_topics(
            NewTopic(name=topic, num_partitions=arguments.partitions) for topic in topics.values()
        )
    results: dict[str, list[Result]] = {name: [] for name in CLIENTS}
    for _ in range(arguments.rounds):
        for name, run in CLIENTS.items():
            results[name].append(measure(run, servers, topics[name], values, keys))
    for topic in topics.values():
        check(servers, topic, arguments.partitions, count * arguments.rounds)
    show(size, count, results)


def show(size: int, count: int, results: dict[str, list[Result]]) -> None:
    best = {
        name: Result(*(max(column) for column in zip(*rounds, strict=True)))
        for name, rounds in results.items()
    }
    print(f"\n{count:,} records of {size} bytes, best of {len(results[OURS])} rounds")
    print(f"{'':26}{'per CPU-s':>12}{'ratio':>8}{'per s':>12}{'ratio':>8}")
    for name, result in best.items():
        cpu_ratio = best[OURS].per_cpu_second / result.per_cpu_second
        ratio = best[OURS].per_second / result.per_second
        print(
            f"{name:26}{result.per_cpu_second:12,.0f}{cpu_ratio:8.2f}"
            f"{result.per_second:12,.0f}{ratio:8.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=8, help="values per client and round")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--keys", action="store_true", help="keyed records: murmur2 for each")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        NodeProcess("--memory", logs=Path(folder) / "node.log") as node,
    ):
        for size in SIZES:
            compare(node.bootstrap_servers, size, arguments)
    print("\nratio: how many times as many records ours sends as this one")


if __name__ == "__main__":
    main()
