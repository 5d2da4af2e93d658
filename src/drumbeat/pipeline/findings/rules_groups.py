"""Findings from the life of groups: storms, failed rebalances, flapping members, ghosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, ClassVar, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.findings.kinds import Finding, Kind
from drumbeat.pipeline.findings.rule import Limits, Now, rows_of

_EMPTY: Final = "Empty"
_GENERATION: Final = (
    "group_id", "state_ts", "append_ts", "log_offset", "state_after", "n_members", "partitions",
)  # fmt: skip
_PLACE: Final = ["group_id", "topic", "partition"]
_STANDING: Final = pa.array(["commit", "txn_commit", "tombstone"])  # what readers see


def crowded(times: list[int], count: int, within_ms: int) -> Iterator[tuple[int, int, int]]:
    """Stretches (first, last, how many) in which any `count` neighbours are `within_ms` apart."""
    times = sorted(times)
    first = last = -1
    for at in range(count - 1, len(times)):
        if times[at] - times[at - count + 1] > within_ms:
            continue
        if first >= 0 and at - count + 1 > last:
            yield times[first], times[last], last - first + 1
            first = -1
        first = at - count + 1 if first < 0 else first
        last = at
    if first >= 0:
        yield times[first], times[last], last - first + 1


class Rebalances:
    """Storms of rebalances, and those that failed."""

    tables: ClassVar = frozenset({"rebalances"})

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._times: defaultdict[str, list[int]] = defaultdict(list)
        self._failed: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        for group_id, end_ts, failed in rows_of(batch, "group_id", "end_ts", "failed_attempts"):
            self._times[group_id].append(end_ts)
            if failed:
                self._failed[group_id].append((end_ts, failed))

    def findings(self, _now: Now) -> Iterator[Finding]:
        limits = self._limits
        for group_id, times in self._times.items():
            storms = crowded(times, limits.storm_rebalances + 1, limits.storm_ms)
            for from_ts, to_ts, count in storms:
                evidence = {"rebalances": count, "seconds": (to_ts - from_ts) / 1_000}
                yield Finding(Kind.REBALANCE_STORM, group_id, group_id, from_ts, to_ts, evidence)
        for group_id, failed in self._failed.items():
            count = sum(attempts for _, attempts in failed)
            span = (failed[0][0], failed[-1][0])
            evidence = {"failed": count}
            yield Finding(Kind.FAILED_REBALANCES, group_id, group_id, *span, evidence)


class _Client(NamedTuple):
    """What stays when a consumer comes back as another member."""

    group_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None


class _Session(NamedTuple):
    joined_at: int
    is_over: bool


class Flapping:
    """The same client comes back again and again as a new member."""

    tables: ClassVar = frozenset({"members"})

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sessions: defaultdict[_Client, dict[str, _Session]] = defaultdict(dict)

    def feed(self, _table: str, batch: pa.RecordBatch) -> None:
        for *client, member_id, joined_at, left_at in rows_of(
            batch, *_Client._fields, "member_id", "joined_at", "left_at"
        ):
            sessions = self._sessions[_Client(*client)]
            sessions[member_id] = _Session(joined_at, left_at is not None)

    def findings(self, _now: Now) -> Iterator[Finding]:
        limits = self._limits
        for client, sessions in self._sessions.items():
            times = _separate(list(sessions.values()))
            flaps = crowded(times, limits.flapping_sessions, limits.flapping_ms)
            for from_ts, to_ts, count in flaps:
                evidence = {"sessions": count, **client._asdict()}
                del evidence["group_id"]
                subject = f"{client.group_id}: {client.client_id} at {client.client_host}"
                span = (from_ts, to_ts)
                yield Finding(Kind.FLAPPING_MEMBER, client.group_id, subject, *span, evidence)


def _separate(sessions: list[_Session]) -> list[int]:
    """When sessions began that are over, and the newest of those that are not.

    Several members of one client that join together, or that stay, are a crowd and not a flap.
    """
    over = {session.joined_at for session in sessions if session.is_over}
    lasting = [session.joined_at for session in sessions if not session.is_over]
    return sorted({*over, *([max(lasting)] if lasting else [])})


class _Life(NamedTuple):
    """A group as its newest generation has it."""

    since_ms: int
    log_offset: int
    state: str
    members: int
    partitions: int


class Lives:
    """What a group is in the end: idle members, a topic nobody reads, nobody at all."""

    tables: ClassVar = frozenset({"group_generations", "members", "offset_commits"})

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lives: dict[str, _Life] = {}
        self._present: defaultdict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        self._standing: defaultdict[str, dict[tuple[str, int], int]] = defaultdict(dict)

    def feed(self, table: str, batch: pa.RecordBatch) -> None:
        feeds = {
            "group_generations": self._generations,
            "members": self._members,
            "offset_commits": self._commits,
        }
        feeds[table](batch)

    def _generations(self, batch: pa.RecordBatch) -> None:
        """Those whose topics got their names late come late."""
        for group_id, state_ts, append_ts, *facts in rows_of(batch, *_GENERATION):
            since_ms = append_ts if state_ts is None else state_ts
            life = _Life(since_ms, *facts)
            known = self._lives.get(group_id, life)
            self._lives[group_id] = max(life, known, key=attrgetter("log_offset"))

    def _members(self, batch: pa.RecordBatch) -> None:
        names = ("group_id", "member_id", "left_at", "subscription")
        for group_id, member_id, left_at, subscription in rows_of(batch, *names):
            present = self._present[group_id]
            if left_at is None:
                present[member_id] = frozenset(subscription)
            else:
                present.pop(member_id, None)

    def _commits(self, batch: pa.RecordBatch) -> None:
        table = pa.table(batch.select([*_PLACE, "append_ts"]))
        table = table.append_column("is_standing", batch.column("committed_offset").is_valid())
        seen = table.filter(pc.is_in(batch.column("kind"), _STANDING))
        last = seen.group_by(_PLACE, use_threads=False).aggregate(
            [("append_ts", "max"), ("is_standing", "last")]
        )
        for group_id, topic, partition, at_ms, is_last_standing in zip(
            *(column.to_pylist() for column in last.columns), strict=True
        ):
            if is_last_standing:
                self._standing[group_id][topic, partition] = at_ms
            else:
                self._standing[group_id].pop((topic, partition), None)

    def _topics(self, group_id: str) -> dict[str, int]:
        """Topics in which the group has offsets, and when it last committed one."""
        newest: dict[str, int] = {}
        for (topic, _), at_ms in self._standing.get(group_id, {}).items():
            newest[topic] = max(at_ms, newest.get(topic, at_ms))
        return newest

    def findings(self, now: Now) -> Iterator[Finding]:
        for group_id, life in self._lives.items():
            if 0 < life.partitions < life.members:
                evidence = {"members": life.members, "partitions": life.partitions}
                span = (life.since_ms, now.at_ms)
                yield Finding(Kind.IDLE_MEMBERS, group_id, group_id, *span, evidence)
            if life.state == _EMPTY:
                yield from self._empty(group_id, life, now)
            else:
                yield from self._abandoned(group_id, now)
        yield from self._forgotten(now)

    def _empty(self, group_id: str, life: _Life, now: Now) -> Iterator[Finding]:
        """Offsets expire when a group has been empty for the retention time."""
        limits, topics = self._limits, self._topics(group_id)
        if not topics:
            return
        last_ms = max(life.since_ms, *topics.values())
        span = (last_ms, now.at_ms)
        expires_ms = life.since_ms + limits.offsets_retention_ms
        evidence: dict[str, Any] = {"empty_since": life.since_ms, "topics": sorted(topics)}
        if now.at_ms - last_ms > limits.ghost_ms:
            yield Finding(Kind.GHOST_GROUP, group_id, group_id, *span, evidence)
        if now.at_ms >= expires_ms - limits.expiry_notice_ms:
            expiry = {**evidence, "expires_at": expires_ms}
            yield Finding(Kind.EXPIRY_SOON, group_id, group_id, *span, expiry)

    def _abandoned(self, group_id: str, now: Now) -> Iterator[Finding]:
        subscribed = frozenset[str]().union(*self._present[group_id].values())
        if not subscribed:  # nothing is known of its members
            return
        for topic, last_ms in self._topics(group_id).items():
            if topic not in subscribed:
                subject = f"{group_id}: {topic}"
                evidence = {"last_commit": last_ms, "subscribed": sorted(subscribed)}
                span = (last_ms, now.at_ms)
                yield Finding(Kind.ABANDONED_TOPIC, group_id, subject, *span, evidence)

    def _forgotten(self, now: Now) -> Iterator[Finding]:
        """Groups without members ever, whose owner no longer commits."""
        for group_id in self._standing:
            topics = self._topics(group_id)
            last_ms = max(topics.values(), default=now.at_ms)
            if group_id not in self._lives and now.at_ms - last_ms > self._limits.ghost_ms:
                evidence = {"last_commit": last_ms, "topics": sorted(topics)}
                span = (last_ms, now.at_ms)
                yield Finding(Kind.GHOST_GROUP, group_id, group_id, *span, evidence)
