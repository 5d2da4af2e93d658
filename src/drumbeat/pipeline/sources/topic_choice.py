"""Which partitions are read: of named topics, of topics by pattern, or single ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.errors import UnknownTopicOrPartitionError
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.brokers import partitions_of

SUBSCRIBE: Final = "subscribe"
SUBSCRIBE_PATTERN: Final = "subscribePattern"
ASSIGN: Final = "assign"


class TopicChoice(Protocol):
    def partitions(self, admin: SyncAdmin) -> list[TopicPartition]:
        """Those that there are at the moment, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Named:
    topics: tuple[str, ...]

    def partitions(self, admin: SyncAdmin) -> list[TopicPartition]:
        return partitions_of(admin, self.topics)


@dataclass(frozen=True, slots=True)
class Matching:
    """Topics whose whole name matches; internal ones are left out, as in Kafka's consumer."""

    pattern: str

    def partitions(self, admin: SyncAdmin) -> list[TopicPartition]:
        matches = re.compile(self.pattern).fullmatch
        topics = [topic for topic in admin.list_topics() if matches(topic)]
        return partitions_of(admin, topics) if topics else []


@dataclass(frozen=True, slots=True)
class Assigned:
    assigned: tuple[TopicPartition, ...]

    def partitions(self, admin: SyncAdmin) -> list[TopicPartition]:
        existing = partitions_of(admin, {tp.topic for tp in self.assigned})
        missing = sorted(set(self.assigned).difference(existing))
        if missing:
            raise UnknownTopicOrPartitionError(
                f"{ASSIGN} names {missing[0]}, which the topic does not have"
            )
        return sorted(self.assigned)


def parse_choice(options: Mapping[str, str]) -> TopicChoice:
    """From the one of the three options that is given."""
    given = [name for name in _PARSERS if name in options]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        raise SourceError(
            f"one of the options {', '.join(_PARSERS)} says what to read; there is {found}"
        )
    return _PARSERS[given[0]](options[given[0]])


def _parse_names(text: str) -> TopicChoice:
    topics = tuple(name.strip() for name in text.split(",") if name.strip())
    if not topics:
        raise SourceError(f"{SUBSCRIBE} is {text!r}; it takes names of topics with commas between")
    return Named(topics)


def _parse_pattern(text: str) -> TopicChoice:
    try:
        re.compile(text)
    except re.error as problem:
        raise SourceError(f"{SUBSCRIBE_PATTERN} is {text!r}: {problem}") from None
    return Matching(text)


def _parse_assigned(text: str) -> TopicChoice:
    try:
        told = json.loads(text)
        assigned = tuple(
            TopicPartition(topic, int(partition))
            for topic, partitions in told.items()
            for partition in partitions
        )
    except (ValueError, TypeError, AttributeError):
        assigned = ()
    if not assigned:
        raise SourceError(
            f'{ASSIGN} is {text!r}; it takes JSON with partitions by topic such as {{"t": [0, 1]}}'
        )
    return Assigned(assigned)


_PARSERS: Final[Mapping[str, Callable[[str], TopicChoice]]] = {
    SUBSCRIBE: _parse_names,
    SUBSCRIBE_PATTERN: _parse_pattern,
    ASSIGN: _parse_assigned,
}
