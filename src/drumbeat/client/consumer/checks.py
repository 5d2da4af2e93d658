"""What users give to a consumer: partitions and offsets of the right kind, or an error by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drumbeat.client.errors import IllegalStateError
from drumbeat.client.topic_names import checked_topic
from drumbeat.client.values import OffsetAndMetadata, TopicPartition


def checked_partitions(partitions: Iterable[Any]) -> list[TopicPartition]:
    """TopicPartitions, or pairs that can be made one."""
    if isinstance(partitions, str | bytes | TopicPartition):
        raise TypeError(
            f"takes several partitions, such as [TopicPartition(...)], not {partitions!r}"
        )
    return [checked_partition(each) for each in partitions]


def checked_partition(given: Any) -> TopicPartition:
    match given:
        case (topic, int(partition)) if not isinstance(partition, bool):
            checked_topic(topic)
        case _:
            raise TypeError(f"{given!r} is not a TopicPartition(topic, partition)")
    if partition < 0:
        raise IllegalStateError(f"{topic}: partition {partition} is negative")
    return TopicPartition(topic, partition)


def checked_offset(tp: TopicPartition, given: Any) -> OffsetAndMetadata:
    """Where to go on in a partition, or what to commit for it."""
    match given:
        case OffsetAndMetadata(offset=int(offset)) if not isinstance(offset, bool):
            pass
        case _:
            raise TypeError(f"{tp}: {given!r} is not an offset, such as OffsetAndMetadata(42)")
    if offset < 0:
        raise IllegalStateError(f"{tp}: offset {offset} is negative")
    return given


def checked_offsets(offsets: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """What to commit, by partition."""
    if not isinstance(offsets, Mapping):
        raise TypeError(f"commits take {{TopicPartition: OffsetAndMetadata}}, not {offsets!r}")
    partitions = {each: checked_partition(each) for each in offsets}
    return {tp: checked_offset(tp, offsets[each]) for each, tp in partitions.items()}
