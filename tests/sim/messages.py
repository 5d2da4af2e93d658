"""OffsetCommit and OffsetFetch in all their versions: one way to ask, one way to read."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.schema import NULL_UUID
from sim.history import Operation
from sim.topics import TopicDirectory, TopicPartition

TOPIC_IDS_SINCE = 10
SEVERAL_GROUPS_SINCE = 8
ALL_TOPICS_SINCE = 2
LEADER_EPOCH_SINCE = 6
NO_OFFSET = -1


class Position(NamedTuple):
    """What a commit says about one partition, and a fetch about what was said."""

    offset: int
    leader_epoch: int
    metadata: str


class Fetched(NamedTuple):
    error_code: int
    positions: Mapping[TopicPartition, Position]  # NO_OFFSET where there is none
    errors: Mapping[TopicPartition, int]


class Committer(NamedTuple):
    """Who commits; the defaults are somebody from outside the group."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1


def commit_request(
    version: int,
    who: Committer,
    positions: Mapping[TopicPartition, Position],
    topics: TopicDirectory,
) -> OffsetCommitRequest:
    uses_ids = version >= TOPIC_IDS_SINCE
    asked = tuple(
        OffsetCommitRequestTopic(
            name=name,
            topic_id=topics.topic_id(name) if uses_ids else NULL_UUID,
            partitions=tuple(
                OffsetCommitRequestPartition(tp[1], *positions[tp]) for tp in partitions
            ),
        )
        for name, partitions in _by_topic(positions)
    )
    return OffsetCommitRequest(
        group_id=who.group_id,
        generation_id_or_member_epoch=who.generation_id,
        member_id=who.member_id,
        group_instance_id=who.group_instance_id,
        retention_time_ms=who.retention_time_ms,
        topics=asked,
    )


def committed(operation: Operation, topics: TopicDirectory) -> dict[TopicPartition, Position]:
    """What an OffsetCommit asked to be stored."""
    uses_epochs = operation.version >= LEADER_EPOCH_SINCE
    return {
        (_name(topic, topics), partition.partition_index): Position(
            partition.committed_offset,
            partition.committed_leader_epoch if uses_epochs else -1,
            partition.committed_metadata or "",
        )
        for topic in operation.request.topics
        for partition in topic.partitions
    }


def commit_errors(operation: Operation, topics: TopicDirectory) -> dict[TopicPartition, int]:
    return {
        (_name(topic, topics), partition.partition_index): partition.error_code
        for topic in operation.response.topics
        for partition in topic.partitions
    }


def fetch_request(
    version: int,
    group_id: str,
    partitions: Iterable[TopicPartition] | None,
    topics: TopicDirectory,
) -> OffsetFetchRequest:
    """None asks for all that the group has committed."""
    asked = None if partitions is None else _by_topic(partitions)
    if version < SEVERAL_GROUPS_SINCE:
        return OffsetFetchRequest(
            group_id,
            None
            if asked is None
            else tuple(OffsetFetchRequestTopic(name, _indexes(tps)) for name, tps in asked),
        )
    group = OffsetFetchRequestGroup(
        group_id=group_id,
        topics=None
        if asked is None
        else tuple(
            OffsetFetchRequestTopics(name, topics.topic_id(name), _indexes(tps))
            for name, tps in asked
        ),
    )
    return OffsetFetchRequest(groups=(group,))


def fetch_group(operation: Operation) -> str:
    request = operation.request
    is_single = operation.version < SEVERAL_GROUPS_SINCE
    group_id: str = request.group_id if is_single else request.groups[0].group_id
    return group_id


def fetched(operation: Operation, topics: TopicDirectory) -> Fetched:
    response = operation.response
    is_single = operation.version < SEVERAL_GROUPS_SINCE
    answer = response if is_single else response.groups[0]
    uses_epochs = operation.version >= LEADER_EPOCH_SINCE - 1
    positions: dict[TopicPartition, Position] = {}
    errors: dict[TopicPartition, int] = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            key = (_name(topic, topics), partition.partition_index)
            errors[key] = partition.error_code
            positions[key] = Position(
                partition.committed_offset,
                partition.committed_leader_epoch if uses_epochs else -1,
                partition.metadata or "",
            )
    error_code = answer.error_code if operation.version >= ALL_TOPICS_SINCE else 0
    return Fetched(error_code, positions, errors)


def _by_topic(
    partitions: Iterable[TopicPartition],
) -> list[tuple[str, list[TopicPartition]]]:
    return [(t, list(tps)) for t, tps in groupby(sorted(partitions), key=lambda tp: tp[0])]


def _indexes(partitions: Iterable[TopicPartition]) -> tuple[int, ...]:
    return tuple(partition for _, partition in partitions)


def _name(topic: Any, topics: TopicDirectory) -> str:
    name: str = topic.name or topics.names.get(topic.topic_id, "")
    return name
