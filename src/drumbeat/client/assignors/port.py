"""What an assignor is to the membership of a group: the leader asks it who gets what.

Any object of this shape can be given in `partition_assignment_strategy`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, runtime_checkable

from drumbeat.client.net.metadata import ClusterMetadata
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.consumer_protocol import Subscription

# topic -> for each of its partitions, in order, the racks of its replicas that are known.
PartitionRacks = Mapping[str, tuple[frozenset[str], ...]]

NO_GENERATION = -1


class RebalanceProtocol(IntEnum):
    """Whether members give everything up before they join (eager) or only what must move."""

    EAGER = 0
    COOPERATIVE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member of the group has asked for, as the leader reads it from JoinGroup."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation_id: int = NO_GENERATION
    rack_id: str | None = None
    group_instance_id: str | None = None

    @classmethod
    def of(
        cls, subscription: Subscription, group_instance_id: str | None = None
    ) -> MemberSubscription:
        return cls(
            topics=subscription.topics,
            user_data=subscription.user_data,
            owned_partitions=tuple(
                TopicPartition(owned.topic, partition)
                for owned in subscription.owned_partitions
                for partition in owned.partitions
            ),
            generation_id=subscription.generation_id,
            rack_id=subscription.rack_id,
            group_instance_id=group_instance_id,
        )


@runtime_checkable
class Assignor(Protocol):
    """One strategy. A consumer keeps one instance of each for as long as it lives."""

    @property
    def name(self) -> str:
        """What the members of a group vote for."""

    @property
    def protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The rebalance protocols that it supports."""

    @property
    def version(self) -> int:
        """The version of its user data."""

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        """What to tell the leader beyond the topics, each time the member joins."""

    def assign(
        self, cluster: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> dict[str, list[TopicPartition]]:
        """Who gets what; `members` by member id, in the order of the JoinGroup response.

        There is at least one, and each has an entry in the answer. `cluster` may hold topics that
        nobody wants.
        """

    def on_assignment(self, partitions: Collection[TopicPartition], generation_id: int) -> None:
        """This member was given `partitions` in that generation."""


def partition_racks(metadata: ClusterMetadata, topics: Iterable[str]) -> PartitionRacks:
    """What `metadata` says of those of `topics` that exist.

    Replicas that are offline or behind count too: they are likely to be back before the next
    rebalance (KIP-881).
    """
    racks = {node_id: broker.rack for node_id, broker in metadata.brokers.items()}
    known = {name: topic for name in topics if (topic := metadata.topic(name)) is not None}
    return {
        name: tuple(
            frozenset(rack for node in partition.replicas if (rack := racks.get(node)) is not None)
            for partition in topic.partitions
        )
        for name, topic in known.items()
    }


def without_racks(partition_counts: Mapping[str, int]) -> PartitionRacks:
    return {topic: (frozenset(),) * count for topic, count in partition_counts.items()}
