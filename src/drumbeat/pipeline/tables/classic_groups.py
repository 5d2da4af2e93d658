"""Changes of classic groups: one GroupMetadata record says all there is about a generation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from drumbeat.core.records import MemberMetadata
from drumbeat.core.state import Group
from drumbeat.pipeline.tables.group_changes import (
    Generation,
    Member,
    Owner,
    OwnershipChange,
    TopicPartition,
)
from drumbeat.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    subscribed_topics,
)
from drumbeat.protocol.errors import ProtocolError

_BLOBS_CACHED = 4_096  # members of a group send the same blob, generation after generation


def generation_of(group: Group) -> Generation:
    is_consumer = group.protocol_type == PROTOCOL_TYPE
    members = {member.member_id: _member(group, member) for member in group.members.values()}
    owners: dict[TopicPartition, Owner] = {}
    for member in group.members.values():
        owner = Owner(member.member_id, member.client_id)
        partitions = _partitions(member.assignment) if is_consumer else ()
        owners.update(dict.fromkeys(partitions, owner))
    return Generation(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type or None,
        protocol=group.protocol_name,
        leader=group.leader,
        state_ts=group.state_timestamp_ms,
        n_members=len(members),
        n_static=sum(member.group_instance_id is not None for member in members.values()),
        members=members,
        owners=owners,
    )


def ownership_changes(
    before: Mapping[TopicPartition, Owner], after: Mapping[TopicPartition, Owner]
) -> tuple[OwnershipChange, ...]:
    return tuple(
        OwnershipChange(*partition, before.get(partition), after.get(partition))
        for partition in dict.fromkeys((*before, *after))
    )


def _member(group: Group, member: MemberMetadata) -> Member:
    is_consumer = group.protocol_type == PROTOCOL_TYPE
    return Member(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        assignor=group.protocol_name,
        topics=_topics(member.subscription) if is_consumer else (),
    )


@lru_cache(_BLOBS_CACHED)
def _topics(subscription: bytes) -> tuple[str, ...]:
    """Empty if the blob cannot be read: to the coordinator it is opaque, so it may be anything."""
    return tuple(sorted(subscribed_topics([subscription]) or ()))


@lru_cache(_BLOBS_CACHED)
def _partitions(assignment: bytes) -> tuple[TopicPartition, ...]:
    """Empty if the blob cannot be read, or is: members that do not sync are assigned nothing."""
    try:
        assigned = decode_assignment(assignment).assigned_partitions if assignment else ()
    except ProtocolError:
        return ()
    return tuple((topic, partition) for topic, numbers in assigned for partition in numbers)
