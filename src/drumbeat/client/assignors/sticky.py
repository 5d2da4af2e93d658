"""Sticky, eager: balanced first, and what a member had second.

Members give everything up before they join, so each carries what it had in its user data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from drumbeat.client.assignors.port import (
    NO_GENERATION,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
)
from drumbeat.client.assignors.stickiness.assignor import StickyAlgorithm
from drumbeat.client.assignors.user_data import decode_sticky, encode_sticky
from drumbeat.client.values import TopicPartition


class StickyAssignor:
    name = "sticky"
    protocols = (RebalanceProtocol.EAGER,)
    version = 0

    def __init__(self) -> None:
        self._algorithm = StickyAlgorithm()
        self._partitions: tuple[TopicPartition, ...] | None = None
        self._generation_id = NO_GENERATION

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        if self._partitions is None:
            return None
        return encode_sticky(self._partitions, self._generation_id)

    def on_assignment(self, partitions: Collection[TopicPartition], generation_id: int) -> None:
        self._partitions = tuple(partitions)
        self._generation_id = generation_id

    def assign(
        self, cluster: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> dict[str, list[TopicPartition]]:
        claims = {
            member_id: decode_sticky(member.user_data) for member_id, member in members.items()
        }
        return self._algorithm.assign(cluster, members, claims).assignment
