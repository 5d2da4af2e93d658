"""How long does a request take when the server has half of the load that it can bear?"""

from __future__ import annotations

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.generator.paced import Paced
from benchmarks.side_by_side.measures.group_requests import Prepared, key
from benchmarks.side_by_side.results import MILLISECONDS, PER_S, WARM, Key


def measure(bench: Bench, prepared: Prepared) -> None:
    """At half of what this very load has reached in this run."""
    name = prepared.broker.name
    flood = key(WARM, prepared.load, len(prepared.frames), prepared.depth)._replace(unit=PER_S)
    reached = bench.results.spread(flood, name)
    assert reached is not None, f"{flood.question} has to be measured first"
    job = Paced(
        prepared.broker.servers,
        prepared.frames,
        prepared.expected,
        reached.median / 2,
        bench.plan.window_s,
    )
    latency = bench.run(job)
    for percentile, seconds in (("p50", latency.p50_s), ("p99", latency.p99_s)):
        question = f"{prepared.load} at half load, {percentile}"
        bench.results.add(Key(WARM, question, MILLISECONDS), name, seconds * 1000)
