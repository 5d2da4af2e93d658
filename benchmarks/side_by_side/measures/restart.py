"""How long after its start does a server answer for all the offsets that it has stored?

The server is stopped as an operator stops it. The clock runs from the start of the process until
OffsetFetch has answered for a group in every partition of __consumer_offsets, all of them loaded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.generator.seats import Seat
from benchmarks.side_by_side.requests import (
    COMMIT_VERSION,
    TOPIC_PARTITIONS,
    await_offsets,
    commit_of,
    errors_in,
    one_group_per_partition,
)
from benchmarks.side_by_side.results import CPU_SECONDS, MEGABYTES, RESTART, SECONDS, Key
from drumbeat.protocol.apis import offset_commit
from support.wire import Wire

CONNECTIONS = 16
NO_GENERATION, NO_MEMBER = -1, ""


def key(offsets: int) -> Key:
    return Key(RESTART, f"restart with {offsets:,} offsets", SECONDS)


def measure(bench: Bench, broker: Broker) -> None:
    stored = 0
    for offsets in bench.plan.offsets:
        _store(broker, range(stored // TOPIC_PARTITIONS, offsets // TOPIC_PARTITIONS))
        stored = offsets
        probes = one_group_per_partition(map(_group_id, range(offsets // TOPIC_PARTITIONS)))
        for _ in range(bench.plan.restarts):
            _restart(bench, broker, offsets, probes)


def _restart(bench: Bench, broker: Broker, offsets: int, probes: list[str]) -> None:
    broker.stop()
    bench.await_quiet()
    broker.start()
    broker.await_served()
    answers = await_offsets(broker, probes)
    elapsed_s, used_s = time.monotonic() - broker.started_at_s, broker.cpu_s
    for answer in answers:
        assert all(found.committed_offset >= 0 for found in answer.topics[0].partitions), answer
    results = bench.results
    results.add(key(offsets), broker.name, elapsed_s)
    results.add(key(offsets)._replace(unit=CPU_SECONDS), broker.name, used_s)
    results.add(key(offsets)._replace(unit=MEGABYTES), broker.name, broker.rss_bytes / 1e6)


def _group_id(number: int) -> str:
    return f"stored-{number}"


def _store(broker: Broker, groups: range) -> None:
    """An offset for every partition of the topic, in each of these groups; nobody is a member."""
    body = commit_of(TOPIC_PARTITIONS)
    requests = (body(Seat(_group_id(number), NO_GENERATION, NO_MEMBER)) for number in groups)
    wires = [Wire(broker.servers) for _ in range(CONNECTIONS)]
    while sent := list(_send(wires, requests)):
        for wire in sent:
            response = wire.receive()
            assert errors_in(response) == {0}, response
    for wire in wires:
        wire.socket.close()


def _send(wires: list[Wire], requests: Iterator[object]) -> Iterator[Wire]:
    for wire, request in zip(wires, islice(requests, len(wires)), strict=False):
        wire.send(offset_commit.API, COMMIT_VERSION, request)
        yield wire
