"""Findings from commits: going back, being set back, committing too much or nonsense."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.findings.kinds import Finding, Kind
from drumbeat.pipeline.findings.rule import Limits, Now, place_of, rows_of

_CONTROL_CHARACTERS: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"
_SHOWN_MAX: Final = 5
_ADMIN: Final = "admin_or_simple"
_REWIND: Final = (
    "group_id",
    "topic",
    "partition",
    "visible_at",
    "committed_offset",
    "prev_offset",
    "interval_ms",
    "actor",
)


class _Rewind(NamedTuple):
    group_id: str
    topic: str
    partition: int
    at_ms: int
    committed: int
    before: int
    interval_ms: int | None
    actor: str | None


class WentBack:
    """Rewinds by members, each on its own, and resets by others, per group and moment."""

    tables: ClassVar = frozenset({"offset_commits", "group_generations"})

    def __init__(self, _limits: Limits) -> None:
        self._rewinds: list[_Rewind] = []
        self._generations: defaultdict[str, list[int]] = defaultdict(list)

    def feed(self, table: str, batch: pa.RecordBatch) -> None:
        if table == "group_generations":
            for group_id, append_ts in rows_of(batch, "group_id", "append_ts"):
                self._generations[group_id].append(append_ts)
            return
        is_back = pc.equal(batch.column("direction"), "rewind")
        self._rewinds += map(
            _Rewind._make, rows_of(batch.select(_REWIND).filter(is_back), *_REWIND)
        )

    def findings(self, now: Now) -> Iterator[Finding]:
        resets: list[_Rewind] = []
        for rewind in self._rewinds:
            if rewind.actor == _ADMIN:
                resets.append(rewind)
            else:
                yield self._rewound(rewind, now)
        yield from _resets(resets, now.limits.reset_ms)

    def _rewound(self, rewind: _Rewind, now: Now) -> Finding:
        evidence = {
            "class": self._class_of(rewind, now),
            "from_offset": rewind.before,
            "to_offset": rewind.committed,
            "records": rewind.before - rewind.committed,
        }
        subject = place_of(*rewind[:3])
        span = (rewind.at_ms, rewind.at_ms)
        return Finding(Kind.REWIND, rewind.group_id, subject, *span, evidence)

    def _class_of(self, rewind: _Rewind, now: Now) -> str:
        end = now.watermarks[rewind.topic, rewind.partition].at(rewind.at_ms)
        if end is not None and rewind.before > end.offset + (end.error_bound or 0):
            return "TOPIC_RECREATED"
        if end is not None and rewind.committed == end.log_start:
            return "AUTO_OFFSET_RESET"
        times = sorted(self._generations[rewind.group_id])
        since_ms = rewind.at_ms - (rewind.interval_ms or 0)
        has_rebalanced = bisect_right(times, rewind.at_ms) > bisect_right(times, since_ms)
        return "REBALANCE_REPLAY" if has_rebalanced else "UNEXPLAINED"


def _resets(rewinds: list[_Rewind], together_ms: int) -> Iterator[Finding]:
    by_group: defaultdict[str, list[_Rewind]] = defaultdict(list)
    for rewind in rewinds:
        by_group[rewind.group_id].append(rewind)
    for group_id, each in by_group.items():
        for burst in _bursts(sorted(each, key=lambda rewind: rewind.at_ms), together_ms):
            partitions = [f"{rewind.topic}-{rewind.partition}" for rewind in burst]
            evidence = {
                "partitions": len(burst),
                "records": sum(rewind.before - rewind.committed for rewind in burst),
                "examples": partitions[:_SHOWN_MAX],
            }
            span = (burst[0].at_ms, burst[-1].at_ms)
            yield Finding(Kind.RESET, group_id, group_id, *span, evidence)


def _bursts(rewinds: list[_Rewind], together_ms: int) -> Iterator[list[_Rewind]]:
    burst: list[_Rewind] = []
    for rewind in rewinds:
        if burst and rewind.at_ms - burst[-1].at_ms > together_ms:
            yield burst
            burst = []
        burst.append(rewind)
    if burst:
        yield burst


class CommitHog:
    """A group that writes most of what its log partition gets."""

    tables: ClassVar = frozenset({"offset_commits"})

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._commits: Counter[str] = Counter()
        self._noops: Counter[str] = Counter()
        self._span: tuple[int, int] | None = None

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        group_ids = batch.column("group_id")
        self._commits += _counted(group_ids)
        is_noop = pc.equal(batch.column("direction"), "noop")
        self._noops += _counted(group_ids.filter(is_noop))
        low, high = pc.min_max(batch.column("append_ts")).as_py().values()
        self._span = (low, high) if self._span is None else (self._span[0], high)

    def findings(self, _now: Now) -> Iterator[Finding]:
        total = self._commits.total()
        for group_id, commits in self._commits.items():
            share = commits / total
            if commits < self._limits.hog_commits or share < self._limits.hog_share:
                continue
            assert self._span is not None
            evidence = {
                "commits": commits,
                "share_of_partition": round(share, 4),
                "noop_share": round(self._noops[group_id] / commits, 4),
            }
            yield Finding(Kind.COMMIT_HOG, group_id, group_id, *self._span, evidence)


def _counted(group_ids: pa.Array) -> Counter[str]:
    counts = pc.value_counts(group_ids)
    return Counter({each["values"]: each["counts"] for each in counts.to_pylist()})


class BadMetadata:
    tables: ClassVar = frozenset({"offset_commits"})

    def __init__(self, limits: Limits) -> None:
        self._bytes_max = limits.metadata_bytes
        self._found: dict[str, Finding] = {}

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        metadata = batch.column("metadata").dictionary_encode()  # most are empty
        is_bad = self._are_bad(metadata.dictionary)
        if not pc.any(is_bad).as_py():
            return
        names = ("group_id", "append_ts", "metadata")
        bad = batch.select(names).filter(is_bad.take(metadata.indices))
        for group_id, append_ts, text in rows_of(bad, *names):
            self._add(group_id, append_ts, text)

    def _are_bad(self, metadata: pa.Array) -> pa.Array:
        size = pc.binary_length(metadata.cast(pa.binary()))
        is_odd = pc.match_substring_regex(metadata, _CONTROL_CHARACTERS)
        return pc.or_kleene(pc.greater(size, self._bytes_max), is_odd)

    def _add(self, group_id: str, at_ms: int, text: str) -> None:
        before = self._found.get(group_id)
        evidence = {
            "commits": 1 if before is None else before.evidence["commits"] + 1,
            "bytes": len(text.encode()),
            "begins": text[:40],
        }
        from_ts = at_ms if before is None else before.from_ts
        finding = Finding(Kind.BAD_METADATA, group_id, group_id, from_ts, at_ms, evidence)
        self._found[group_id] = finding

    def findings(self, _now: Now) -> Iterator[Finding]:
        return iter(self._found.values())
