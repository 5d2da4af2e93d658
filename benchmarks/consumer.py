"""How many records per second does a consumer read, beside aiokafka and kafka-python?

One broker (`drumbeat up --memory`) in a process of its own holds the records; each measurement is a
fresh client process that reads them all from one partition with Kafka's default configuration. The
clients take turns and the best round of each counts, because machines are shared and noisy: trust
the ratios more than the figures. `wall` is what a user sees, `CPU` what the client's process used.

    python benchmarks/consumer.py [--records 200000] [--rounds 3] [--sizes 100,1000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from drumbeat.client.config import CommonConfig
from drumbeat.client.consumer.consumer import Consumer
from drumbeat.client.consumer.sync import SyncConsumer
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import create_topics, produce
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import Record, encode_batch

BATCH_BYTES = 16 * 1024  # batch.size of a producer left at its defaults
NOW_MS = 1_700_000_000_000
CLIENT_TIMEOUT_S = 120


class Task(NamedTuple):
    servers: str
    topic: str
    records: int


class Seconds(NamedTuple):
    wall: float
    cpu: float


class Stopwatch:
    """Runs from the first records to the last."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._seen = 0
        self._began = Seconds(0.0, 0.0)
        self.first = 0

    def is_done(self, more: int) -> bool:
        if not self._seen:
            self._began = Seconds(time.perf_counter(), time.process_time())
            self.first = more
        self._seen += more
        return self._seen >= self._wanted

    def rate(self) -> dict[str, float]:
        wall = time.perf_counter() - self._began.wall
        cpu = time.process_time() - self._began.cpu
        counted = self._wanted - self.first
        return {"wall": counted / wall, "cpu": counted / cpu}


# -- the clients ---------------------------------------------------------------------------------


async def drumbeat_poll(task: Task, watch: Stopwatch) -> None:
    async with Consumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(task.topic, 0)])
        while not watch.is_done(sum(map(len, (await consumer.poll()).values()))):
            pass


async def drumbeat_for(task: Task, watch: Stopwatch) -> None:
    async with Consumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(task.topic, 0)])
        async for _record in consumer:
            if watch.is_done(1):
                return


def drumbeat_sync_poll(task: Task, watch: Stopwatch) -> None:
    with SyncConsumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(task.topic, 0)])
        while not watch.is_done(sum(map(len, consumer.poll().values()))):
            pass


def drumbeat_sync_for(task: Task, watch: Stopwatch) -> None:
    with SyncConsumer(bootstrap_servers=task.servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(task.topic, 0)])
        for _record in consumer:
            if watch.is_done(1):
                return


async def aiokafka_poll(task: Task, watch: Stopwatch) -> None:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as Partition

    async with AIOKafkaConsumer(
        bootstrap_servers=task.servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([Partition(task.topic, 0)])
        while True:
            polled = await consumer.getmany(timeout_ms=1000, max_records=500)
            if watch.is_done(sum(map(len, polled.values()))):
                return


async def aiokafka_for(task: Task, watch: Stopwatch) -> None:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as Partition

    async with AIOKafkaConsumer(
        bootstrap_servers=task.servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([Partition(task.topic, 0)])
        async for _record in consumer:
            if watch.is_done(1):
                return


def _kafka_python(task: Task):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaConsumer
        from kafka import TopicPartition as Partition
    consumer = KafkaConsumer(bootstrap_servers=task.servers, auto_offset_reset="earliest")
    consumer.assign([Partition(task.topic, 0)])
    return consumer


def kafka_python_poll(task: Task, watch: Stopwatch) -> None:
    consumer = _kafka_python(task)
    while not watch.is_done(sum(map(len, consumer.poll(timeout_ms=1000).values()))):
        pass
    consumer.close()


def kafka_python_for(task: Task, watch: Stopwatch) -> None:
    consumer = _kafka_python(task)
    for _record in consumer:
        if watch.is_done(1):
            break
    consumer.close()


CLIENTS: dict[str, Callable[..., object]] = {
    "drumbeat poll": drumbeat_poll,
    "drumbeat sync poll": drumbeat_sync_poll,
    "aiokafka getmany": aiokafka_poll,
    "kafka-python poll": kafka_python_poll,
    "drumbeat async for": drumbeat_for,
    "drumbeat sync for": drumbeat_sync_for,
    "aiokafka async for": aiokafka_for,
    "kafka-python for": kafka_python_for,
}
# What each row is compared with: the best other client that is used in the same way.
GROUPS = (tuple(CLIENTS)[:4], tuple(CLIENTS)[4:])


def run_client(name: str, task: Task) -> dict[str, float]:
    watch = Stopwatch(task.records)
    client = CLIENTS[name]
    if asyncio.iscoroutinefunction(client):
        asyncio.run(client(task, watch))
    else:
        client(task, watch)
    return watch.rate()


# -- the broker ----------------------------------------------------------------------------------


@contextmanager
def broker() -> Iterator[str]:
    command = (sys.executable, "-m", "drumbeat.cli.main", "up", "--port", "0", "--memory")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip().removeprefix("ready ")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


async def fill(task: Task, size: int) -> None:
    """The topic, with batches as a producer would make them."""
    cluster = Cluster(CommonConfig.of(bootstrap_servers=task.servers))
    await cluster.start()
    topic = CreatableTopic(name=task.topic, num_partitions=1, replication_factor=1)
    created = await cluster.send(
        await cluster.controller(), create_topics.API, CreateTopicsRequest((topic,))
    )
    assert created.topics[0].error_code == ErrorCode.NONE, created
    leader = await cluster.leader(TopicPartition(task.topic, 0))
    count = max(1, BATCH_BYTES // size)
    value = b"x" * (size - 10)
    for start in range(0, task.records, count):
        records = [
            Record(index, NOW_MS + start + index, b"key-%06d" % (start + index), value)
            for index in range(min(count, task.records - start))
        ]
        data = TopicProduceData(
            task.topic,
            cluster.metadata.topic_id(task.topic),
            (PartitionProduceData(0, encode_batch(records)),),
        )
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=(data,))
        answer = await cluster.send(leader, produce.API, request)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE, answer
    await cluster.close()


# -- the run -------------------------------------------------------------------------------------


def measure(name: str, task: Task) -> dict[str, float]:
    command = (sys.executable, __file__, "--client", name, *map(str, task))
    answer = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=CLIENT_TIMEOUT_S
    )
    return json.loads(answer.stdout)


def report(size: int, best: dict[str, dict[str, float]]) -> None:
    print(f"\n{size} B records, thousand records/s (ratio to the best other client)")
    print(f"{'':22}{'wall':>18}{'CPU':>18}")
    for names in GROUPS:
        for name in names:
            cells = []
            for clock in ("wall", "cpu"):
                others = [n for n in names if not n.startswith("drumbeat")]
                limit = max(best[n][clock] for n in others)
                cells.append(f"{best[name][clock] / 1000:9.0f} ({best[name][clock] / limit:.2f})")
            print(f"{name:22}{cells[0]:>18}{cells[1]:>18}")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default="100,1000")
    parser.add_argument("--client", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        name, servers, topic, records = arguments.client
        print(json.dumps(run_client(name, Task(servers, topic, int(records)))))
        return
    with broker() as servers:
        for size in map(int, arguments.sizes.split(",")):
            task = Task(servers, f"records-{size}", arguments.records)
            asyncio.run(fill(task, size))
            best = {name: {"wall": 0.0, "cpu": 0.0} for name in CLIENTS}
            for _ in range(arguments.rounds):
                for name in CLIENTS:
                    measured = measure(name, task)
                    best[name] = {c: max(best[name][c], measured[c]) for c in measured}
            report(size, best)


if __name__ == "__main__":
    main()
