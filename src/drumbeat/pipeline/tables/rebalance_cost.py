"""What a rebalance cost: how long nobody committed, and how many records had to wait for that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Resumption(NamedTuple):
    """The first commit of a partition after a rebalance."""

    topic: str
    partition: int
    place: int  # where in the log it took effect
    at_ms: int
    records: int  # by which the offset moved; 0 if there was none before


class Cost(NamedTuple):
    """Of the partitions that were committed again so far."""

    committed_ms: int | None  # the newest commit before; None if there was nothing to interrupt
    resumed_ms: int | None = None  # the oldest commit after
    records: int = 0

    def plus(self, resumptions: Iterable[Resumption]) -> Cost:
        found = list(resumptions)
        if not found:
            return self
        resumed_ms = min(resumption.at_ms for resumption in found)
        if self.resumed_ms is not None:
            resumed_ms = min(resumed_ms, self.resumed_ms)
        records = sum(max(0, resumption.records) for resumption in found)
        return Cost(self.committed_ms, resumed_ms, self.records + records)

    def columns(self) -> dict[str, int | None]:
        if self.committed_ms is None or self.resumed_ms is None:
            return {"commit_gap_ms": None, "records_delayed": None}
        gap_ms = max(0, self.resumed_ms - self.committed_ms)
        return {"commit_gap_ms": gap_ms, "records_delayed": self.records}
