"""Sticky, cooperative: members keep what they have while they join, and give up only what moves.

What is to move from one member to another is given to neither at first. The member that loses it
joins again once it has let go, and that second rebalance gives it away.
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
from drumbeat.client.assignors.stickiness.claims import Claim
from drumbeat.client.assignors.user_data import decode_generation, encode_generation
from drumbeat.client.values import TopicPartition


class CooperativeStickyAssignor:
    """Also runs eagerly, so that a group can change over to it one member at a time (KIP-429)."""

    name = "cooperative-sticky"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    version = 0

    def __init__(self) -> None:
        self._algorithm = StickyAlgorithm()
        self._generation_id = NO_GENERATION

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        return encode_generation(self._generation_id)

    def on_assignment(self, partitions: Collection[TopicPartition], generation_id: int) -> None:
        self._generation_id = generation_id

    def assign(
        self, cluster: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> dict[str, list[TopicPartition]]:
        claims = {member_id: claim_of(member) for member_id, member in members.items()}
        assignment, moved = self._algorithm.assign(cluster, members, claims)
        for tp, member_id in (_moved(members, assignment) if moved is None else moved).items():
            assignment[member_id].remove(tp)
        return assignment


def claim_of(member: MemberSubscription) -> Claim:
    """Subscriptions have had the generation since v2; before, it was in the user data alone."""
    if member.generation_id >= 0:
        return Claim(member.owned_partitions, member.generation_id)
    return Claim(member.owned_partitions, decode_generation(member.user_data))


def _moved(
    members: Mapping[str, MemberSubscription], assignment: Mapping[str, list[TopicPartition]]
) -> dict[TopicPartition, str]:
    """What one member has, does not keep, and another is to get."""
    added: dict[TopicPartition, str] = {}
    lost: set[TopicPartition] = set()
    for member_id, partitions in assignment.items():
        owned = frozenset(members[member_id].owned_partitions)
        added |= {tp: member_id for tp in partitions if tp not in owned}
        lost |= owned.difference(partitions)
    return {tp: member_id for tp, member_id in added.items() if tp in lost}
