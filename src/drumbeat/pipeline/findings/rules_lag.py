"""Findings from lag: partitions that stand still, records that will be lost, impossible commits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

import pyarrow as pa

from drumbeat.pipeline.findings.kinds import Finding, Kind
from drumbeat.pipeline.findings.rule import Limits, Now, Spell, place_of, rows_of
from drumbeat.pipeline.lag.status import Status
from drumbeat.pipeline.lag.watermarks import SAMPLED

_KINDS: Final = {Status.STOP: Kind.STOPPED, Status.STUCK_PARTITION: Kind.STUCK_PARTITION}
_STATUS_COLUMNS: Final = (
    "group_id",
    "topic",
    "partition",
    "status",
    "from_ts",
    "to_ts",
    "evidence",
)


class StandsStill:
    tables: ClassVar = frozenset({"lag_status"})

    def __init__(self, _limits: Limits) -> None:
        self._spells = {status.name: Spell(kind) for status, kind in _KINDS.items()}

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        for *place, status, from_ts, to_ts, evidence in rows_of(batch, *_STATUS_COLUMNS):
            group_id, topic, partition = place
            for name, spell in self._spells.items():
                shown = json.loads(evidence) if status == name else None
                spell.saw((group_id, topic, partition), (from_ts, to_ts), shown)

    def findings(self, _now: Now) -> Iterator[Finding]:
        for spell in self._spells.values():
            yield from spell.findings()


class LosesRecords:
    """Not in a partition of which nothing was ever deleted: every new group would be at risk."""

    tables: ClassVar = frozenset({"lag_points"})

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.retention_pct
        self._spell = Spell(Kind.DATA_LOSS_RISK)
        self._places: dict[str, tuple[str, int]] = {}  # by subject

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        names = ("group_id", "topic", "partition", "bucket_ts", "lag", "lag_clamped")
        for row in rows_of(batch, *names, "retention_pct", "eta_s"):
            group_id, topic, partition, at_ms, lag, is_clamped, share, eta_s = row
            is_risky = is_clamped or (share is not None and share >= self._limit)
            evidence = {
                "lag": lag,
                "retention_pct": share,
                "is_losing": is_clamped,
                "eta_s": eta_s,
            }
            place = (group_id, topic, partition)
            self._spell.saw(place, (at_ms, at_ms), evidence if is_risky else None)
            if is_risky:
                self._places[place_of(*place)] = (topic, partition)

    def findings(self, now: Now) -> Iterator[Finding]:
        for finding in self._spell.findings():
            newest = now.watermarks[self._places[finding.subject]].newest
            if newest is None or newest.log_start > 0:
                yield finding


class _Standing(NamedTuple):
    committed: int | None
    since_ms: int  # at the latest


class AheadOfEnd:
    """Only ends that were sampled are evidence: an estimate may be too low.

    One that was sampled later is, too, because a partition's end does not go back.
    """

    tables: ClassVar = frozenset({"lag_points"})

    def __init__(self, _limits: Limits) -> None:
        self._spell = Spell(Kind.COMMIT_AHEAD_OF_LEO)
        self._standing: dict[tuple[str, str, int], _Standing] = {}

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        names = ("group_id", "topic", "partition", "bucket_ts", "committed", "hw", "lag_method")
        for group_id, topic, partition, at_ms, committed, end, method in rows_of(batch, *names):
            place = (group_id, topic, partition)
            known = self._standing.get(place)
            if known is None or known.committed != committed:
                self._standing[place] = _Standing(committed, at_ms)
            if method == SAMPLED:
                self._spell.saw(place, (at_ms, at_ms), _ahead(committed, end))

    def findings(self, now: Now) -> Iterator[Finding]:
        seen = list(self._spell.findings())
        yield from seen
        subjects = {finding.subject for finding in seen}
        for place, (committed, since_ms) in self._standing.items():
            newest, subject = now.watermarks[place[1:]].newest, place_of(*place)
            if newest is None or newest.sampled_at < since_ms or subject in subjects:
                continue
            if (evidence := _ahead(committed, newest.high_watermark)) is not None:
                span = (since_ms, newest.sampled_at)
                yield Finding(Kind.COMMIT_AHEAD_OF_LEO, place[0], subject, *span, evidence)


def _ahead(committed: int | None, end: int) -> dict[str, int] | None:
    """Evidence, if there is any."""
    if committed is None or committed <= end:
        return None
    return {"committed": committed, "end": end}


class TopicRecreated:
    """A partition's end went back while a group had offsets in the topic."""

    tables: ClassVar = frozenset({"lag_points"})

    def __init__(self, _limits: Limits) -> None:
        self._places: dict[tuple[str, str, int], None] = {}

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        self._places |= dict.fromkeys(rows_of(batch, "group_id", "topic", "partition"))

    def findings(self, now: Now) -> Iterator[Finding]:
        for group_id, topic, partition in self._places:
            for before, after in now.watermarks[topic, partition].restarts():
                evidence = {"end_before": before.high_watermark, "end_after": after.high_watermark}
                subject = place_of(group_id, topic, partition)
                span = (before.sampled_at, after.sampled_at)
                yield Finding(Kind.TOPIC_RECREATED, group_id, subject, *span, evidence)
