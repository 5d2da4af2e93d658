"""The leader's part of a rebalance: read what the members want, say what each one gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from drumbeat.client.assignors.port import (
    Assignor,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
)
from drumbeat.client.errors import ConfigError, IllegalStateError
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis.join_group import JoinGroupResponseMember
from drumbeat.protocol.apis.sync_group import SyncGroupRequestAssignment
from drumbeat.protocol.consumer_protocol import (
    Assignment,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)

Plan = Mapping[str, Sequence[TopicPartition]]

# It weighs the generation of each claim, so a partition that two members claim may well move.
COOPERATIVE_STICKY: Final = "cooperative-sticky"


def common_protocol(assignors: Sequence[Assignor]) -> RebalanceProtocol:
    """The most advanced protocol that all of a consumer's assignors support."""
    if not assignors:
        raise ConfigError("partition_assignment_strategy is empty: name at least one assignor")
    common = set(assignors[0].protocols).intersection(*(each.protocols for each in assignors))
    if not common:
        names = ", ".join(each.name for each in assignors)
        raise ConfigError(f"the assignors {names} have no rebalance protocol in common")
    return max(common)


def assignor_named(assignors: Sequence[Assignor], name: str | None) -> Assignor:
    for assignor in assignors:
        if assignor.name == name:
            return assignor
    known = ", ".join(each.name for each in assignors)
    raise IllegalStateError(f"the coordinator chose the assignor {name}, but this has {known}")


def subscriptions(members: Iterable[JoinGroupResponseMember]) -> dict[str, MemberSubscription]:
    return {
        member.member_id: MemberSubscription.of(
            decode_subscription(member.metadata), member.group_instance_id
        )
        for member in members
    }


def topics_of(members: Mapping[str, MemberSubscription]) -> frozenset[str]:
    return frozenset(topic for member in members.values() for topic in member.topics)


def plan(
    assignor: Assignor,
    protocol: RebalanceProtocol,
    metadata: PartitionRacks,
    members: Mapping[str, MemberSubscription],
) -> Plan:
    assigned = assignor.assign(metadata, members)
    if protocol is RebalanceProtocol.COOPERATIVE and assignor.name != COOPERATIVE_STICKY:
        _check_cooperative(assignor.name, members, assigned)
    return assigned


def _check_cooperative(
    name: str, members: Mapping[str, MemberSubscription], assigned: Plan
) -> None:
    """What one member still owns must be left out once before another one may get it."""
    added: set[TopicPartition] = set()
    revoked: set[TopicPartition] = set()
    for member_id, partitions in assigned.items():
        owned = frozenset(members[member_id].owned_partitions)
        added |= frozenset(partitions) - owned
        revoked |= owned - frozenset(partitions)
    if moved := sorted(added & revoked):
        raise IllegalStateError(
            f"the assignor {name} is cooperative, so it may not move partitions in one step, but "
            f"it moved {', '.join(map(str, moved))}"
        )


def encoded(assigned: Plan) -> tuple[SyncGroupRequestAssignment, ...]:
    return tuple(
        SyncGroupRequestAssignment(
            member_id, encode_assignment(Assignment(_by_first_appearance(partitions)))
        )
        for member_id, partitions in assigned.items()
    )


def _by_first_appearance(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    return tuple(TopicPartitions(topic, tuple(numbers)) for topic, numbers in by_topic.items())


def decoded(assignment: bytes) -> frozenset[TopicPartition]:
    """What SyncGroup brought this member."""
    return frozenset(
        TopicPartition(topic.topic, partition)
        for topic in decode_assignment(assignment).assigned_partitions
        for partition in topic.partitions
    )
