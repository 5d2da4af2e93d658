"""How much memory does a live group of one member take?

The growth of the resident set, divided by the groups: for Kafka that includes what its garbage
collector has not taken back yet.
"""

from __future__ import annotations

import time

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.requests import seat_groups
from benchmarks.side_by_side.results import BYTES_EACH, MEGABYTES, MEMORY, Key

IDLE_S = 1.0


def key(groups: int) -> Key:
    return Key(MEMORY, f"{groups:,} groups of one member", BYTES_EACH)


def measure(bench: Bench, broker: Broker) -> None:
    # The first groups open partitions and compile code, which is not theirs to pay.
    seat_groups(broker, 100)
    time.sleep(IDLE_S)
    empty = broker.rss_bytes
    seated = 0
    for groups in bench.plan.groups:
        seat_groups(broker, groups - seated)
        seated = groups
        time.sleep(IDLE_S)
        bench.results.add(key(groups), broker.name, (broker.rss_bytes - empty) / groups)
        bench.results.add(key(groups)._replace(unit=MEGABYTES), broker.name, broker.rss_bytes / 1e6)
