"""How long do 10, 100, 1,000 members take to settle, from an empty group and after one leaves?"""

from __future__ import annotations

from itertools import count

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.generator import run_job
from benchmarks.side_by_side.generator.rebalance import Rebalance
from benchmarks.side_by_side.results import SECONDS, Key

_numbers = count()


def key(phase: str, members: int) -> Key:
    return Key(phase, f"{members:,} members settle", SECONDS)


def after_leave_key(phase: str, members: int) -> Key:
    return Key(phase, f"{members:,} members settle after one leaves", SECONDS)


def _job(broker: Broker, members: int) -> Rebalance:
    return Rebalance(broker.servers, broker.pid, f"rebalance-{next(_numbers)}", members)


def measure(bench: Bench, broker: Broker, phase: str, members: int) -> None:
    rebalanced = bench.run(_job(broker, members))
    results = bench.results
    results.add(key(phase, members), broker.name, rebalanced.from_empty.wall_s)
    results.add(after_leave_key(phase, members), broker.name, rebalanced.after_leave.wall_s)


def warm_up(broker: Broker, members: int, times: int) -> None:
    for _ in range(times):
        run_job(_job(broker, members))
