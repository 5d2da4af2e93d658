"""Who writes the log: topics, groups, and how each group behaves, all from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

import numpy as np

from drumbeat.protocol.java_hash import partition_for

DEFAULT_START_MS: Final = 1_700_000_000_000
BATCH_RECORDS_MAX: Final = 20

_PARTITION_COUNTS: Final = (1, 3, 6, 12, 16, 24)
_GROUPS_PER_TOPIC: Final = 4
_BASE_OFFSET: Final = 1_000_000_000  # far from zero, so that a rewind never gets there
_CADENCE_MS: Final = (1_000, 60_000)
_RECORDS_PER_SECOND: Final = (0.2, 500.0)
_PERIOD_SHARES: Final = (0.25, 0.6)  # of the whole time: every incident comes at least once
_FIRST_PRODUCER_ID: Final = 4_000

_T = TypeVar("_T")


class GroupType(Enum):
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"
    SIMPLE = "simple"  # commits and has no members


class Behaviour(Enum):
    STEADY = "steady"
    STALLING = "stalling"  # commits the same offset for a while
    STOPPING = "stopping"  # leaves, comes back later
    REWINDING = "rewinding"  # is reset to an earlier offset
    STORMING = "storming"  # rebalances again and again
    DELETED = "deleted"  # its offsets and then the group are deleted, and it begins anew


_TYPES: Final = {
    GroupType.CLASSIC: 0.9,
    GroupType.CONSUMER: 0.04,
    GroupType.SIMPLE: 0.04,
    GroupType.SHARE: 0.01,
    GroupType.STREAMS: 0.01,
}
_BEHAVIOURS: Final = {
    Behaviour.STEADY: 0.7,
    Behaviour.STALLING: 0.1,
    Behaviour.STOPPING: 0.06,
    Behaviour.REWINDING: 0.06,
    Behaviour.STORMING: 0.05,
    Behaviour.DELETED: 0.03,
}
_TRANSACTIONAL_SHARE: Final = 0.05
_MEMBERS_MAX: Final = 8
_MEMBERS_MEAN: Final = 2.0
_PURPOSES: Final = ("billing", "search", "audit", "fraud", "mail", "export", "metrics", "sync")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """A topic whose partitions all grow at the same pace."""

    name: str
    topic_id: bytes
    partitions: int
    records_per_ms: float

    def end_offset(self, elapsed_ms: float) -> int:
        return _BASE_OFFSET + int(elapsed_ms * self.records_per_ms)

    @property
    def base_offset(self) -> int:
        return _BASE_OFFSET


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    group_id: str
    log_partition: int
    type: GroupType
    behaviour: Behaviour
    topics: tuple[TopicPlan, ...]
    slots: tuple[tuple[tuple[int, int], ...], ...]  # (topic index, partition) committed together
    cadence_ms: int
    phase_ms: int
    period_ms: int  # its incidents repeat after this time
    producer_id: int  # -1 unless it commits in transactions

    @property
    def records_per_ms(self) -> float:
        if self.type is GroupType.SHARE:  # its progress is kept elsewhere
            return 0.0
        markers = len(self.slots) if self.producer_id >= 0 else 0
        return (sum(map(len, self.slots)) + markers) / self.cadence_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlan:
    start_ms: int
    duration_ms: int
    log_partitions: int
    topics: tuple[TopicPlan, ...]
    groups: tuple[GroupPlan, ...]

    def groups_of(self, log_partition: int) -> list[GroupPlan]:
        return [group for group in self.groups if group.log_partition == log_partition]


def make_plan(
    *, records: int, groups: int, seed: int, log_partitions: int, start_ms: int
) -> LogPlan:
    """A plan under which `groups` groups write about `records` records."""
    dice = np.random.default_rng(seed)
    topics = [_topic(dice, index) for index in range(1 + groups // _GROUPS_PER_TOPIC)]
    drafts = [_draft(dice, index, topics) for index in range(groups)]
    pace = sum(_pace(draft) for draft in drafts)
    duration_ms = max(1_000, int(records / pace))
    planned = tuple(
        _group(dice, index, draft, log_partitions, duration_ms)
        for index, draft in enumerate(drafts)
    )
    return LogPlan(
        start_ms=start_ms,
        duration_ms=duration_ms,
        log_partitions=log_partitions,
        topics=tuple(topics),
        groups=planned,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What is decided about a group before the length of the log is known."""

    topics: tuple[TopicPlan, ...]
    members: int
    cadence_ms: int

    @property
    def owned(self) -> list[tuple[int, int]]:
        sizes = enumerate(topic.partitions for topic in self.topics)
        return [(index, partition) for index, size in sizes for partition in range(size)]


def _topic(dice: np.random.Generator, index: int) -> TopicPlan:
    return TopicPlan(
        name=f"{_PURPOSES[index % len(_PURPOSES)]}-events-{index}",
        topic_id=dice.bytes(16),
        partitions=int(dice.choice(_PARTITION_COUNTS)),
        records_per_ms=_log_uniform(dice, *_RECORDS_PER_SECOND) / 1_000,
    )


def _draft(dice: np.random.Generator, index: int, topics: list[TopicPlan]) -> _Draft:
    first = index % len(topics)
    count = 2 if len(topics) > 1 and dice.random() < 0.2 else 1
    chosen = tuple(topics[(first + step) % len(topics)] for step in range(count))
    partitions = sum(topic.partitions for topic in chosen)
    fewest = -(-partitions // BATCH_RECORDS_MAX)
    wanted = min(_MEMBERS_MAX, 1 + int(dice.exponential(_MEMBERS_MEAN)))
    return _Draft(
        topics=chosen,
        members=min(partitions, max(fewest, wanted)),
        cadence_ms=int(_log_uniform(dice, *_CADENCE_MS)),
    )


def _pace(draft: _Draft) -> float:
    return len(draft.owned) / draft.cadence_ms


def _group(
    dice: np.random.Generator, index: int, draft: _Draft, log_partitions: int, duration_ms: int
) -> GroupPlan:
    group_id = f"{_PURPOSES[index % len(_PURPOSES)]}-service-{index:05d}"
    drawn = _draw(dice, _TYPES)
    group_type = drawn if index else GroupType.CLASSIC  # so that somebody commits
    behaviour = _draw(dice, _BEHAVIOURS)
    is_transactional = dice.random() < _TRANSACTIONAL_SHARE
    owned = draft.owned
    shares = dice.uniform(*_PERIOD_SHARES)
    return GroupPlan(
        group_id=group_id,
        log_partition=partition_for(group_id, log_partitions),
        type=group_type,
        behaviour=Behaviour.STEADY if group_type is GroupType.SIMPLE else behaviour,
        topics=draft.topics,
        slots=tuple(tuple(owned[slot :: draft.members]) for slot in range(draft.members)),
        cadence_ms=draft.cadence_ms,
        phase_ms=int(dice.integers(0, draft.cadence_ms)),
        period_ms=max(draft.cadence_ms, int(duration_ms * shares)),
        producer_id=_FIRST_PRODUCER_ID + 2 * index if is_transactional else -1,
    )


def _draw(dice: np.random.Generator, weights: dict[_T, float]) -> _T:
    return list(weights)[int(dice.choice(len(weights), p=list(weights.values())))]


def _log_uniform(dice: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(dice.uniform(np.log(low), np.log(high))))
