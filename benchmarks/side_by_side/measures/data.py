"""How many megabytes of records does a server take, and hand out?

Eight connections, each with a partition of its own. Drumbeat has synced a batch to disk before it
answers; Kafka has not. What is fetched has just been written, so it comes from the page cache.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.generator import run_job
from benchmarks.side_by_side.generator.flood import Flood
from benchmarks.side_by_side.requests import call, call_raw, frames_of
from benchmarks.side_by_side.results import MB_PER_CPU_S, MB_PER_S, WARM, Key
from support.data_topics import (
    FETCH,
    PRODUCE,
    Topic,
    batch,
    create_topic,
    fetch_partition,
    fetch_request,
    offset_of,
    produce_request,
)
from support.wire import Wire

PARTITIONS = 8
RECORD_BYTES = 1_000
BATCH_BYTES = 100_000
FETCH_BYTES = 1_000_000
PRODUCE_VERSION, FETCH_VERSION = 9, 12
_numbers = count()


def produce_key(batch_bytes: int = BATCH_BYTES) -> Key:
    return Key(WARM, f"produce, batches of {batch_bytes // 1000:,} KB", MB_PER_CPU_S)


def fetch_key() -> Key:
    return Key(WARM, f"fetch, {FETCH_BYTES // 1_000_000} MB at a time", MB_PER_CPU_S)


class Prepared(NamedTuple):
    """Frames that carry, or ask for, `bytes_each` bytes of records."""

    key: Key
    broker: Broker
    frames: list[bytes]
    response_bytes: int
    bytes_each: int

    def flood(self, seconds: float) -> Flood:
        broker = self.broker
        return Flood(broker.servers, broker.pid, self.frames, self.response_bytes, 2, seconds)

    def warm_up(self, seconds: float) -> float:
        return run_job(self.flood(seconds)).per_cpu_s

    def measure(self, bench: Bench) -> None:
        flooded = bench.run(self.flood(bench.plan.window_s))
        bench.note(flooded.window)
        megabytes = self.bytes_each / 1e6
        results, name = bench.results, self.broker.name
        results.add(self.key, name, flooded.per_cpu_s * megabytes)
        results.add(self.key._replace(unit=MB_PER_S), name, flooded.per_s * megabytes)


def new_topic(broker: Broker) -> Topic:
    with Wire(broker.servers) as wire:
        # Their time is fixed and in the past; they are not to be removed for their age.
        return create_topic(
            wire, f"data-{next(_numbers)}", partitions=PARTITIONS, retention_ms="-1"
        )


def prepare_produce(broker: Broker, topic: Topic, batch_bytes: int) -> Prepared:
    data = batch(*([bytes(RECORD_BYTES)] * (batch_bytes // RECORD_BYTES)))
    requests = [produce_request(topic, data, partition=index) for index in range(PARTITIONS)]
    frames = frames_of(PRODUCE, PRODUCE_VERSION, requests)
    with Wire(broker.servers) as wire:
        call(wire, PRODUCE, PRODUCE_VERSION, requests[0])
        size = len(call_raw(wire, frames[0]))
    return Prepared(produce_key(batch_bytes), broker, frames, size, len(data))


def prepare_fetch(broker: Broker, topic: Topic) -> Prepared:
    """From a topic that holds at least as much as one answer in every partition."""
    requests = [
        fetch_request(topic, fetch_partition(0, index, partition_max_bytes=FETCH_BYTES))
        for index in range(PARTITIONS)
    ]
    with Wire(broker.servers) as wire:
        _fill(wire, topic)
        response = call(wire, FETCH, FETCH_VERSION, requests[0])
        frames = frames_of(FETCH, FETCH_VERSION, requests)
        size = len(call_raw(wire, frames[0]))
    fetched = len(response.responses[0].partitions[0].records)
    return Prepared(fetch_key(), broker, frames, size, fetched)


def _fill(wire: Wire, topic: Topic) -> None:
    data = batch(*([bytes(RECORD_BYTES)] * (BATCH_BYTES // RECORD_BYTES)))
    for partition in range(PARTITIONS):
        for _ in range(FETCH_BYTES // len(data) + 2):
            call(wire, PRODUCE, PRODUCE_VERSION, produce_request(topic, data, partition=partition))
        assert offset_of(wire, topic, partition=partition)[0] > 0
