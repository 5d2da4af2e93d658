"""Requests that name a topic or a partition twice: what is said last counts.

Kafka puts what a request asks for into maps by topic and partition, so its answers have every
topic once, with every partition once, and no topic without partitions.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any, TypeVar

# A message whose last field is the topic's partitions, each of which begins with its index.
T = TypeVar("T", bound=tuple[Any, ...])


def named_once(topics: tuple[T, ...]) -> tuple[T, ...]:
    """Each topic once, in the order in which they are named first."""
    if _is_plain(topics):
        return topics
    by_topic: dict[tuple[Any, ...], list[T]] = {}
    for topic in topics:
        by_topic.setdefault(topic[:-1], []).append(topic)
    merged = (_merged(same) for same in by_topic.values())
    return tuple(topic for topic in merged if topic[-1])


def names_a_partition_twice(topics: tuple[T, ...]) -> bool:
    indexes = [(topic[:-1], partition[0]) for topic in topics for partition in topic[-1]]
    return len(set(indexes)) < len(indexes)


def _is_plain(topics: tuple[T, ...]) -> bool:
    """Nearly every request is; one topic with one partition is told at a glance."""
    if len(topics) == 1 and len(topics[0][-1]) == 1:
        return True
    return (
        all(topic[-1] for topic in topics)
        and len({topic[:-1] for topic in topics}) == len(topics)
        and not names_a_partition_twice(topics)
    )


def _merged(same: list[T]) -> T:
    partitions = {p[0]: p for p in chain.from_iterable(topic[-1] for topic in same)}
    make: Callable[..., T] = same[0].__class__
    return make(*same[0][:-1], tuple(partitions.values()))
