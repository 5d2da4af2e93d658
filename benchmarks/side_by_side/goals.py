"""What the project wants of Drumbeat, as ratios to Apache Kafka in the same run."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.side_by_side.brokers import DRUMBEAT, KAFKA
from benchmarks.side_by_side.measures import (
    data,
    first_member,
    group_memory,
    group_requests,
    rebalance,
    restart,
)
from benchmarks.side_by_side.results import COLD, MORE_IS_BETTER, WARM, Key, Results


class Goal(NamedTuple):
    """At least `bound` where more is better, else at most; of Kafka's value, or as it stands."""

    key: Key
    bound: float
    is_ratio: bool = True

    @property
    def is_minimum(self) -> bool:
        return self.key.unit in MORE_IS_BETTER

    def text(self) -> str:
        sign = "≥" if self.is_minimum else "≤"
        if not self.is_ratio:
            return f"{sign} {self.bound:,.0f} {self.key.unit}"
        return f"{sign} 1/{1 / self.bound:.0f}" if self.bound < 0.5 else f"{sign} {self.bound:g}"

    def value(self, results: Results) -> float | None:
        if self.is_ratio:
            return results.ratio(self.key, DRUMBEAT, KAFKA)
        spread = results.spread(self.key, DRUMBEAT)
        return spread.median if spread else None

    def is_met(self, results: Results) -> bool | None:
        value = self.value(results)
        if value is None:
            return None
        return value >= self.bound if self.is_minimum else value <= self.bound


GOALS = (
    Goal(first_member.FIRST_JOINED, 1 / 15),
    Goal(first_member.IDLE_MEMORY, 1 / 8),
    Goal(group_requests.key(WARM, "heartbeats"), 1.5),
    Goal(group_requests.key(WARM, "commits x1"), 1.5),
    Goal(group_requests.key(WARM, "commits x20"), 1.0),
    Goal(group_requests.key(WARM, "offset fetches x1"), 1.0),
    Goal(rebalance.key(WARM, 1_000), 1.0),
    Goal(rebalance.key(COLD, 1_000), 0.5),
    Goal(restart.key(1_000_000), 1 / 3),
    Goal(group_memory.key(10_000), 4_096, is_ratio=False),
    Goal(data.produce_key(), 2.0),
    Goal(data.fetch_key(), 0.5),
)
