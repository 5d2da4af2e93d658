"""Where reading begins and ends: earliest, latest, offsets or times by partition, one time for all.

The texts are those that Spark's own Kafka source takes, such as {"orders": {"0": 1200, "1": -2}}.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.brokers import PartitionEnds, offsets_at

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
# What these are called in JSON, where only numbers stand.
EARLIEST_OFFSET: Final = -2
LATEST_OFFSET: Final = -1
_WORDS: Final = {EARLIEST_OFFSET: EARLIEST, LATEST_OFFSET: LATEST}

Offsets = dict[TopicPartition, int]
Ends = Mapping[TopicPartition, PartitionEnds]


class OffsetsSpec(Protocol):
    """One end of what is read; `ends` says of which partitions, and what they have."""

    def resolve(self, admin: SyncAdmin, ends: Ends) -> Offsets: ...


@dataclass(frozen=True, slots=True)
class AtEdge:
    """The first offset of each partition, or its end."""

    is_earliest: bool

    def resolve(self, admin: SyncAdmin, ends: Ends) -> Offsets:
        return {tp: one.log_start if self.is_earliest else one.end for tp, one in ends.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOffsets:
    option: str
    offsets: Mapping[TopicPartition, int]

    def resolve(self, admin: SyncAdmin, ends: Ends) -> Offsets:
        _check_names(self.option, self.offsets, ends)
        edges = {
            tp: {EARLIEST_OFFSET: one.log_start, LATEST_OFFSET: one.end} for tp, one in ends.items()
        }
        return {tp: edges[tp].get(offset, offset) for tp, offset in self.offsets.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTimes:
    """The first record that is not older; the end of a partition that has none, or an error."""

    option: str
    times: Mapping[TopicPartition, int] | int  # milliseconds; one for all partitions
    has_to_match: bool

    def resolve(self, admin: SyncAdmin, ends: Ends) -> Offsets:
        if isinstance(self.times, int):
            times: Mapping[TopicPartition, int] = dict.fromkeys(ends, self.times)
        else:
            _check_names(self.option, self.times, ends)
            times = self.times
        found = offsets_at(admin, times)
        missing = sorted(tp for tp, offset in found.items() if offset is None)
        if missing and self.has_to_match:
            raise SourceError(
                f"{self.option}: no record is that young in {_listed(missing)}; with the option "
                f'startingOffsetsByTimestampStrategy "{LATEST}" reading begins at the end there'
            )
        return {tp: ends[tp].end if at is None else at for tp, at in found.items()}


def parse_edge(option: str, text: str, allowed: Iterable[str]) -> OffsetsSpec:
    """A word or JSON; the words that are not allowed are not allowed as -1 and -2 either."""
    words = tuple(allowed)
    word = text.strip().lower()
    if word in words:
        return AtEdge(word == EARLIEST)
    hint = " or ".join(f'"{word}"' for word in words)
    offsets = parse_partitions(option, text, hint)
    for tp, offset in offsets.items():
        if offset < 0 and _WORDS.get(offset) not in words:
            raise SourceError(f"{option}: {offset} is no offset that {tp} could be read at")
    return AtOffsets(option=option, offsets=offsets)


def parse_partitions(option: str, text: str, hint: str = "") -> dict[TopicPartition, int]:
    """A number for each of some partitions, from JSON."""
    try:
        told: Mapping[str, Mapping[str, Any]] = json.loads(text)
        return {
            TopicPartition(topic, _natural(partition)): _integer(number)
            for topic, numbers in told.items()
            for partition, number in numbers.items()
        }
    except (ValueError, TypeError, AttributeError):
        words = f"{hint}, or " if hint else ""
        raise SourceError(
            f"{option} is {text!r}; it may be {words}JSON with a number for each partition, such "
            'as {"orders": {"0": 1200, "1": 900}}'
        ) from None


def format_offsets(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """As JSON has it, and checkpoints of Spark's own source."""
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        by_topic.setdefault(topic, {})[str(partition)] = offset
    return by_topic


def read_offsets(told: Mapping[str, Mapping[str, int]]) -> Offsets:
    """What `format_offsets` made."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, offsets in told.items()
        for partition, offset in offsets.items()
    }


def _natural(text: str) -> int:
    if (number := int(text)) < 0:
        raise ValueError(text)
    return number


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value


def _check_names(option: str, named: Iterable[TopicPartition], ends: Ends) -> None:
    """A partition that was forgotten would be read from a place that nobody chose."""
    missing, foreign = sorted(ends.keys() - set(named)), sorted(set(named) - ends.keys())
    if foreign:
        raise SourceError(f"{option} names {_listed(foreign)}, which are not among what is read")
    if missing:
        raise SourceError(f"{option} says nothing of {_listed(missing)}, which are to be read too")


def _listed(partitions: list[TopicPartition]) -> str:
    shown = ", ".join(map(str, partitions[:5]))
    return shown if len(partitions) <= 5 else f"{shown} and {len(partitions) - 5} more"
