"""The part of a sticky assignor that does not depend on the rebalance protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drumbeat.client.assignors.ordering import in_map_order, subscribed_topics
from drumbeat.client.assignors.port import NO_GENERATION, MemberSubscription, PartitionRacks
from drumbeat.client.assignors.stickiness.claims import Claim, settle
from drumbeat.client.assignors.stickiness.constrained import assign_constrained
from drumbeat.client.assignors.stickiness.general import assign_general
from drumbeat.client.assignors.stickiness.racks import Racks
from drumbeat.client.assignors.stickiness.task import StickyResult, StickyTask


class StickyAlgorithm:
    """Remembers the highest generation it has seen, as Java's assignors do while they live."""

    def __init__(self) -> None:
        self._generation_max = NO_GENERATION

    def assign(
        self,
        cluster: PartitionRacks,
        members: Mapping[str, MemberSubscription],
        claims: Mapping[str, Claim],
    ) -> StickyResult:
        ordered = in_map_order(members)
        wanted = subscribed_topics(ordered.values())
        topics = {topic: racks for topic, racks in cluster.items() if racks and topic in wanted}
        ordered_claims = {member_id: claims[member_id] for member_id in ordered}
        generations = (claim.generation_id for claim in claims.values())
        self._generation_max = max(self._generation_max, *generations)
        task = StickyTask(
            cluster=topics,
            members=ordered,
            claims=ordered_claims,
            settlement=settle(topics, ordered, ordered_claims),
            racks=Racks(topics, ordered),
            generation_max=self._generation_max,
        )
        algorithm = assign_constrained if _want_the_same(ordered.values()) else assign_general
        return algorithm(task)


def _want_the_same(members: Iterable[MemberSubscription]) -> bool:
    """Whether all name the same topics; a member that names one twice counts as different.

    Java takes members that want nothing (a pattern that matches no topic yet) for the same as all
    others if they come first in its map, and then gives them partitions that they do not want.
    """
    first, *others = members
    topics = frozenset(first.topics)
    return all(
        len(other.topics) == len(topics) and topics.issuperset(other.topics) for other in others
    )
