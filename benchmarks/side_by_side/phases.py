"""The order of the measurements: cold, warm, memory, restart.

Systems take turns within every question, and who goes first changes from one repetition to the
next, so that whatever else the machine does hits all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, TypeVar

from benchmarks.side_by_side import memory
from benchmarks.side_by_side.bench import WARM_GAIN, Bench
from benchmarks.side_by_side.brokers import Broker, System, alone, fresh_broker
from benchmarks.side_by_side.measures import (
    data,
    first_member,
    group_memory,
    group_requests,
    latency,
    rebalance,
    restart,
)
from benchmarks.side_by_side.requests import prepare
from benchmarks.side_by_side.results import COLD, WARM

Item = TypeVar("Item")
Measure = Callable[[Bench, Broker], None]

MAIN_LOADS = ("heartbeats", "commits x1", "commits x20", "offset fetches x1")
GROWTH_LOADS = ("commits x10", "commits x100", "offset fetches x20")
COMMITS = "commits x1"
PIPELINED = 10
COLD_MEMBERS = 1_000
COLD_TOPIC_PARTITIONS = 20  # no more than the loads commit: making them is not measured


class Systems(NamedTuple):
    """Those that everything is measured on, and those that are shown beside some of it."""

    main: Sequence[System]
    warm_only: Sequence[System]
    commits_only: Sequence[System]


def measure_all(bench: Bench, systems: Systems) -> None:
    _alone(bench, systems.main, "files are read once", lambda _bench, _broker: None)
    for repetition in range(bench.plan.cold_repetitions):
        for system in _rotated(systems.main, repetition):
            bench.say(f"cold: the first seconds of {system.name}, {repetition + 1}")
            _cold(bench, system, repetition)
    with _brokers(bench, [*systems.main, *systems.warm_only], "warm") as brokers:
        _warm_requests(bench, brokers)
        _warm_rebalances(bench, brokers)
        _warm_data(bench, brokers)
    if systems.commits_only and bench.plan.growth:
        with _brokers(bench, systems.commits_only, "synced") as brokers:
            _synced_commits(bench, brokers)
    _alone(bench, systems.main, "memory of groups", group_memory.measure)
    _alone(bench, systems.main, "restart", restart.measure)


# -- cold ------------------------------------------------------------------------------------------


def _cold(bench: Bench, system: System, repetition: int) -> None:
    """All within about ten seconds of service; each time another load comes first."""
    bench.await_quiet()
    with fresh_broker(system, bench.folder / "cold") as broker:
        first_member.measure(bench, broker)
        prepare(broker, COLD_TOPIC_PARTITIONS)
        rebalance.measure(bench, broker, COLD, COLD_MEMBERS)
        for load in _rotated(MAIN_LOADS, repetition):
            group_requests.prepare(broker, load).measure(bench, COLD, bench.plan.cold_window_s)


# -- warm ------------------------------------------------------------------------------------------


def _warm_requests(bench: Bench, brokers: Sequence[Broker]) -> None:
    hundred = group_requests.CONNECTIONS
    cases = [(load, hundred, 1) for load in MAIN_LOADS]
    cases.append(("heartbeats", hundred, PIPELINED))
    cases += [(COMMITS, count, 1) for count in bench.plan.connections if count != hundred]
    if bench.plan.growth:
        cases += [("heartbeats", count, 1) for count in bench.plan.connections if count != hundred]
        cases += [(load, hundred, 1) for load in GROWTH_LOADS]
    _loads(bench, brokers, cases)
    for load in ("heartbeats", COMMITS) if bench.plan.growth else ():
        bench.say(f"warm: latency of {load} at half load")
        prepared = [group_requests.prepare(broker, load) for broker in brokers]
        for each in _turns(bench, brokers, prepared):
            latency.measure(bench, each)


def _synced_commits(bench: Bench, brokers: Sequence[Broker]) -> None:
    hundred = group_requests.CONNECTIONS
    cases = [(COMMITS, count, 1) for count in bench.plan.connections]
    _loads(bench, brokers, [*cases, ("commits x20", hundred, 1)])


def _loads(bench: Bench, brokers: Sequence[Broker], cases: Iterable[tuple[str, int, int]]) -> None:
    warm: set[str] = set()
    for load, connections, depth in cases:
        bench.say(f"warm: {load}, {connections:,} connections")
        prepared = [group_requests.prepare(broker, load, connections, depth) for broker in brokers]
        if load not in warm:
            warm.add(load)
            _warm_up(bench, prepared)
        for each in _turns(bench, brokers, prepared):
            each.measure(bench, WARM, bench.plan.window_s)


def _warm_rebalances(bench: Bench, brokers: Sequence[Broker]) -> None:
    bench.say("warm: rebalances, to warm up")
    for broker in brokers:
        if not broker.system.is_beside:  # the first of a process pays for memory it grows by
            rebalance.warm_up(broker, max(bench.plan.members), bench.plan.warm_rebalances)
    for members in bench.plan.members:
        bench.say(f"warm: {members:,} members")
        for broker in _turns(bench, brokers, brokers):
            rebalance.measure(bench, broker, WARM, members)
    for broker in _turns(bench, brokers, brokers):
        rebalance.measure_rush(bench, broker, WARM, max(bench.plan.members))


def _warm_data(bench: Bench, brokers: Sequence[Broker]) -> None:
    bench.say("warm: fetch and produce")
    topics = [data.new_topic(broker) for broker in brokers]
    pairs = list(zip(brokers, topics, strict=True))
    _transfers(bench, [data.prepare_fetch(*pair) for pair in pairs])
    for batch_bytes in bench.plan.batch_bytes:
        _transfers(bench, [data.prepare_produce(*pair, batch_bytes) for pair in pairs])


def _transfers(bench: Bench, prepared: Sequence[data.Prepared]) -> None:
    _warm_up(bench, prepared)
    for each in _turns(bench, [one.broker for one in prepared], prepared):
        memory.touch(memory.WINDOW_BYTES_MAX)  # each time: a host may have taken it back
        each.measure(bench)


Load = TypeVar("Load", group_requests.Prepared, data.Prepared)


def _warm_up(bench: Bench, prepared: Iterable[Load]) -> None:
    for each in prepared:
        if not each.broker.system.has_to_warm_up:
            continue
        best, gainless = 0.0, 0  # one slow window is no sign that it is warm
        for _ in range(bench.plan.warm_ups_max):
            reached = each.warm_up(bench.plan.warm_up_s)
            gainless = 0 if reached > best * WARM_GAIN else gainless + 1
            best = max(best, reached)
            if gainless == 2:
                break


# -- brokers ---------------------------------------------------------------------------------------


@contextmanager
def _brokers(bench: Bench, systems: Sequence[System], phase: str) -> Iterator[list[Broker]]:
    """All of them at once, and only one of them under load, or measured, at a time."""
    with ExitStack() as running:
        brokers = []
        for number, system in enumerate(systems):
            folder = bench.folder / f"{phase}-{number}"
            brokers.append(running.enter_context(fresh_broker(system, folder)))
            prepare(brokers[-1])
        yield brokers


def _alone(bench: Bench, systems: Sequence[System], what: str, measure: Measure) -> None:
    for system in systems:
        bench.say(f"{what}: {system.name}")
        with fresh_broker(system, bench.folder / "alone") as broker:
            prepare(broker)
            measure(bench, broker)


def _turns(bench: Bench, brokers: Sequence[Broker], items: Sequence[Item]) -> Iterator[Item]:
    """Each broker's item in turn, the other brokers standing still; one shown beside, once."""
    pairs = list(zip(brokers, items, strict=True))
    for repetition in range(bench.plan.repetitions):
        for broker, item in _rotated(pairs, repetition):
            if repetition == 0 or not broker.system.is_beside:
                with alone(broker, brokers):
                    yield item


def _rotated(items: Sequence[Item], by: int) -> list[Item]:
    by %= max(len(items), 1)
    return [*items[by:], *items[:by]]
