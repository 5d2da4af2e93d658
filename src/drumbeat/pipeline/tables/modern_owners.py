"""Who has what in consumer, share and streams groups, from their current assignment records.

A partition of a consumer group has one owner at most; one of a share group has many. Streams groups
assign tasks: a task reads its partition of every source topic of its subtopology.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from drumbeat.core.modern_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ShareGroupCurrentMemberAssignmentValue,
    StreamsGroupCurrentMemberAssignmentValue,
)
from drumbeat.pipeline.tables.group_changes import (
    Owner,
    OwnershipChange,
    OwnerState,
    TopicPartition,
)

Held: TypeAlias = dict[TopicPartition, Owner]
"""What one member has."""

Subtopologies: TypeAlias = Mapping[str, tuple[str, ...]]
"""The topics that each reads, by id."""


def held_in_consumer_group(owner: Owner, value: ConsumerGroupCurrentMemberAssignmentValue) -> Held:
    revoked = owner._replace(state=OwnerState.PENDING_REVOKE)
    return {
        **_held(owner, value.assigned_partitions),
        **_held(revoked, value.partitions_pending_revocation),
    }


def held_in_share_group(owner: Owner, value: ShareGroupCurrentMemberAssignmentValue) -> Held:
    return _held(owner._replace(state=OwnerState.SHARED), value.assigned_partitions)


def held_in_streams_group(
    owner: Owner, value: StreamsGroupCurrentMemberAssignmentValue, subtopologies: Subtopologies
) -> Held:
    """Of active tasks: standby and warm-up tasks read changelogs and not the group's topics."""
    by_state = (
        (OwnerState.OWNED, value.active_tasks),
        (OwnerState.PENDING_REVOKE, value.active_tasks_pending_revocation),
    )
    return {
        (topic, partition): owner._replace(state=state)
        for state, tasks in by_state
        for task in tasks
        for topic in subtopologies.get(task.subtopology_id, ())
        for partition in task.partitions
    }


def handed_over(owners: Held, member_id: str, known: Held, held: Held) -> Iterator[OwnershipChange]:
    """What changes, and changes `owners`, when a member that had `known` now has `held`."""
    for partition in dict.fromkeys((*known, *held)):
        before, after = owners.get(partition), held.get(partition)
        is_others = before is not None and before.member_id != member_id
        if before == after or (after is None and is_others):
            continue
        if after is None:
            owners.pop(partition, None)
        else:
            owners[partition] = after
        yield OwnershipChange(*partition, before, after)


def shared_anew(known: Held, held: Held) -> Iterator[OwnershipChange]:
    """The same where others may have the same partitions."""
    for partition in dict.fromkeys((*known, *held)):
        before, after = known.get(partition), held.get(partition)
        if before != after:
            yield OwnershipChange(*partition, before, after)


def _held(owner: Owner, topics: Iterable[Any]) -> Held:
    return {
        (topic.topic_id, partition): owner for topic in topics for partition in topic.partitions
    }
