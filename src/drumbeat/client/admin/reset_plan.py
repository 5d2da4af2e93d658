"""Where to move a group's offsets: what can be asked for, and the rows that follow. Pure.

The choices and their rules are those of kafka-consumer-groups.sh --reset-offsets: a target outside
of what the partition holds is taken for its nearest end. Another group's offsets are a choice of
our own, with the same rules.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from drumbeat.client.values import TopicPartition


class OffsetChange(NamedTuple):
    """One row of a reset; `before` is None if nothing was committed.

    `note` says where the target is another than the one that was asked for.
    """

    topic_partition: TopicPartition
    before: int | None
    after: int
    note: str = ""


_BY_TIME = frozenset({"timestamp", "duration"})
_WITH_GROUP = 4  # fields of a line


class Bounds(NamedTuple):
    """What is known of a partition. No record at or after a time: `at_timestamp` is None."""

    earliest: int
    latest: int
    at_timestamp: int | None = None
    of_other_group: int | None = None

    @property
    def first_at_timestamp(self) -> int:
        return self.latest if self.at_timestamp is None else self.at_timestamp


class CannotReset(ValueError):  # noqa: N818 - what is the matter
    """A target that does not exist for a partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetTo:
    """Made by its class methods, one per choice."""

    choice: str
    number: int = 0
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    group_id: str | None = None

    @classmethod
    def earliest(cls) -> ResetTo:
        return cls(choice="earliest")

    @classmethod
    def latest(cls) -> ResetTo:
        return cls(choice="latest")

    @classmethod
    def current(cls) -> ResetTo:
        """Where it is; the end, for partitions without a commit."""
        return cls(choice="current")

    @classmethod
    def offset(cls, offset: int) -> ResetTo:
        return cls(choice="offset", number=offset)

    @classmethod
    def shift(cls, by: int) -> ResetTo:
        """That many records on, or back if negative."""
        return cls(choice="shift", number=by)

    @classmethod
    def timestamp(cls, at_ms: int) -> ResetTo:
        """The first record of that time or later; the end if there is none."""
        return cls(choice="timestamp", number=at_ms)

    @classmethod
    def duration(cls, duration_ms: int) -> ResetTo:
        """The first record that is at most so old."""
        return cls(choice="duration", number=duration_ms)

    @classmethod
    def to_offsets(cls, offsets: Mapping[TopicPartition, int]) -> ResetTo:
        """Each partition to its own."""
        return cls(
            choice="offsets", offsets={TopicPartition(*tp): at for tp, at in offsets.items()}
        )

    @classmethod
    def lines(cls, lines: Iterable[str], group_id: str | None = None) -> ResetTo:
        """As in a file of kafka-consumer-groups.sh: topic,partition,offset in each line.

        Where a line begins with a group, it counts if that is `group_id`.
        """
        rows = list(csv.reader(line for line in lines if line.strip()))
        is_long = all(len(row) == _WITH_GROUP for row in rows)
        chosen = [row[1:] for row in rows if row[0].strip() == group_id] if is_long else rows
        if not chosen:
            whose = "" if group_id is None else f" for group {group_id}"
            raise CannotReset(f"no offsets{whose} are in it: each line is topic,partition,offset")
        return cls.to_offsets(dict(map(_read_row, chosen)))

    @classmethod
    def group(cls, group_id: str) -> ResetTo:
        """Where another group is."""
        return cls(choice="group", group_id=group_id)

    def timestamp_ms(self, now_ms: int) -> int | None:
        """The time to look for, if it is about time."""
        if self.choice not in _BY_TIME:
            return None
        return self.number if self.choice == "timestamp" else now_ms - self.number


def plan(
    to: ResetTo, before: Mapping[TopicPartition, int], targets: Mapping[TopicPartition, Bounds]
) -> list[OffsetChange]:
    """One row per partition, by topic and partition."""
    rows = []
    for tp, bounds in sorted(targets.items()):
        wanted = _wanted(to, tp, before.get(tp), bounds)
        is_kept = to.choice == "current"  # as Kafka does: what is not moved is not judged either
        after = wanted if is_kept else min(max(wanted, bounds.earliest), bounds.latest)
        note = _note(to, wanted, bounds) if not is_kept else ""
        rows.append(OffsetChange(tp, before.get(tp), after, note))
    return rows


def _note(to: ResetTo, wanted: int, bounds: Bounds) -> str:
    if wanted < bounds.earliest:
        return f"{wanted} is before the first offset"
    if wanted > bounds.latest:
        return f"{wanted} is beyond the end"
    if to.choice in _BY_TIME and bounds.at_timestamp is None:
        return "no record is so late: the end"
    return ""


def as_lines(changes: Iterable[OffsetChange]) -> list[str]:
    """What `ResetTo.lines` reads."""
    return [
        f"{one.topic_partition.topic},{one.topic_partition.partition},{one.after}"
        for one in changes
    ]


Choice: TypeAlias = Callable[[ResetTo, TopicPartition, int | None, Bounds], int | None]

# The offset that each choice names, before it is brought into the partition's bounds.
_WANTED: dict[str, Choice] = {
    "earliest": lambda to, tp, before, bounds: bounds.earliest,
    "latest": lambda to, tp, before, bounds: bounds.latest,
    "current": lambda to, tp, before, bounds: bounds.latest if before is None else before,
    "offset": lambda to, tp, before, bounds: to.number,
    "shift": lambda to, tp, before, bounds: None if before is None else before + to.number,
    "timestamp": lambda to, tp, before, bounds: bounds.first_at_timestamp,
    "duration": lambda to, tp, before, bounds: bounds.first_at_timestamp,
    "offsets": lambda to, tp, before, bounds: to.offsets.get(tp),
    "group": lambda to, tp, before, bounds: bounds.of_other_group,
}


def _wanted(to: ResetTo, tp: TopicPartition, before: int | None, bounds: Bounds) -> int:
    wanted = _WANTED[to.choice](to, tp, before, bounds)
    if wanted is None:
        raise CannotReset(f"{tp}: {_MISSING[to.choice].format(to)}; leave the partition out")
    return wanted


# Why a choice may have no offset for a partition.
_MISSING = {
    "shift": "nothing is committed that could be shifted",
    "offsets": "no offset is given for it",
    "group": "group {0.group_id} has committed nothing for it",
}


def _read_row(row: list[str]) -> tuple[TopicPartition, int]:
    try:
        topic, partition, offset = (field.strip() for field in row)
        return TopicPartition(topic, int(partition)), int(offset)
    except ValueError:
        raise CannotReset(f"{','.join(row)!r} is not topic,partition,offset") from None
