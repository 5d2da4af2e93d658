"""How long after its start does a server have its first joined consumer, and how big is it then?

From the start of the process on an empty data directory (formatted before, in Kafka's case) to the
answer of the first SyncGroup: the port opens, the coordinator is found, the member joins and syncs.
"""

from __future__ import annotations

import time

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.generator.member import Member, RefusedError
from benchmarks.side_by_side.requests import NOT_YET, RETRY_S, await_coordinator
from benchmarks.side_by_side.results import COLD, CPU_SECONDS, MEGABYTES, MEMORY, SECONDS, Key
from support.wire import Wire

GROUP_ID = "first"
IDLE_S = 1.0
FIRST_JOINED = Key(COLD, "start to first joined consumer", SECONDS)
IDLE_MEMORY = Key(MEMORY, "idle, one member", MEGABYTES)


def measure(bench: Bench, broker: Broker) -> None:
    await_coordinator(broker, GROUP_ID)
    with Wire(broker.servers) as wire:
        while not _is_joined(wire):
            broker.check_alive()
            time.sleep(RETRY_S)
    elapsed_s, used_s = time.monotonic() - broker.started_at_s, broker.cpu_s
    bench.results.add(FIRST_JOINED, broker.name, elapsed_s)
    bench.results.add(FIRST_JOINED._replace(unit=CPU_SECONDS), broker.name, used_s)
    time.sleep(IDLE_S)
    bench.results.add(IDLE_MEMORY, broker.name, broker.rss_bytes / 1e6)


def _is_joined(wire: Wire) -> bool:
    member = Member(GROUP_ID)
    request: bytes | None = member.join()
    try:
        while request is not None:
            wire.send_bytes(request)
            request = member.answer(wire.receive_frame())
    except RefusedError as refusal:
        if refusal.error_code in NOT_YET:
            return False
        raise
    return True
