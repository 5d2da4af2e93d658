"""How long do 10, 100, 1,000 members take to settle, from an empty group and after one leaves?

And how long if nobody waits for anybody, so that generations are cut short by late arrivals?
"""

from __future__ import annotations

from itertools import count

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.generator import run_job
from benchmarks.side_by_side.generator.rebalance import Rebalance
from benchmarks.side_by_side.results import CPU_SECONDS, SECONDS, Key

_numbers = count()


def key(phase: str, members: int) -> Key:
    return Key(phase, f"{members:,} members settle", SECONDS)


def after_leave_key(phase: str, members: int) -> Key:
    return Key(phase, f"{members:,} members settle after one leaves", SECONDS)


def rush_key(phase: str, members: int) -> Key:
    return Key(phase, f"{members:,} members settle, all at once", SECONDS)


def _job(broker: Broker, members: int, *, ids_first: bool = True) -> Rebalance:
    group_id = f"rebalance-{next(_numbers)}"
    return Rebalance(broker.servers, broker.pid, group_id, members, ids_first)


def measure_rush(bench: Bench, broker: Broker, phase: str, members: int) -> None:
    rebalanced = bench.run(_job(broker, members, ids_first=False))
    bench.note(rebalanced.from_empty)
    bench.results.add(rush_key(phase, members), broker.name, rebalanced.from_empty.wall_s)


def measure(bench: Bench, broker: Broker, phase: str, members: int) -> None:
    rebalanced = bench.run(_job(broker, members))
    bench.note(rebalanced.from_empty)
    results = bench.results
    for asked, window in (
        (key(phase, members), rebalanced.from_empty),
        (after_leave_key(phase, members), rebalanced.after_leave),
    ):
        results.add(asked, broker.name, window.wall_s)
        results.add(asked._replace(unit=CPU_SECONDS), broker.name, window.server_cpu_s)


def warm_up(broker: Broker, members: int, times: int) -> None:
    for _ in range(times):
        run_job(_job(broker, members))
