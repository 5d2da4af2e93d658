"""What every rule is: it looks at rows of some tables and tells its findings at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import pyarrow as pa

from drumbeat.pipeline.findings.kinds import Finding, Kind
from drumbeat.pipeline.lag.watermarks import Watermarks

DAY_MS = 24 * 3_600_000


class Limits(NamedTuple):
    """From where on something is worth a finding."""

    storm_rebalances: int = 5  # more than these
    storm_ms: int = 600_000
    flapping_sessions: int = 3  # at least
    flapping_ms: int = 600_000
    ghost_ms: int = DAY_MS
    offsets_retention_ms: int = 7 * DAY_MS  # Kafka's offsets.retention.minutes
    expiry_notice_ms: int = DAY_MS
    retention_pct: float = 80.0
    hog_share: float = 0.5
    hog_commits: int = 10_000
    hanging_ms: int = 900_000  # Kafka's transaction.max.timeout.ms
    metadata_bytes: int = 4_096  # Kafka's offset.metadata.max.bytes
    reset_ms: int = 10_000  # resets of several partitions within this time are one


class Now(NamedTuple):
    """What rules may ask at the end."""

    at_ms: int  # the newest time in the log
    limits: Limits
    watermarks: Watermarks


class Rule(Protocol):
    """State must be picklable."""

    tables: ClassVar[frozenset[str]]

    def feed(self, table: str, batch: pa.RecordBatch) -> None: ...

    def findings(self, now: Now) -> Iterator[Finding]:
        """All findings so far; asked again after more was fed, it tells them again."""


def rows_of(batch: pa.RecordBatch, *names: str) -> Iterator[tuple[Any, ...]]:
    """The named columns, row by row."""
    return zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def place_of(group_id: str, topic: str, partition: int) -> str:
    return f"{group_id}: {topic}-{partition}"


class Spell:
    """Times of a condition, put together to stretches in which it held without a break."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._closed: list[Finding] = []
        self._open: dict[tuple[str, str, int], Finding] = {}

    def saw(
        self, place: tuple[str, str, int], span: tuple[int, int], evidence: dict[str, Any] | None
    ) -> None:
        """Evidence, or None: the condition did not hold."""
        before = self._open.get(place)
        if evidence is None:
            if before is not None:
                self._closed.append(self._open.pop(place))
            return
        from_ts = span[0] if before is None else before.from_ts
        subject = place_of(*place)
        found = Finding(self.kind, place[0], subject, from_ts, span[1], evidence)
        self._open[place] = found

    def findings(self) -> Iterator[Finding]:
        yield from self._closed
        for finding in self._open.values():
            yield finding._replace(evidence={**finding.evidence, "is_open": True})
