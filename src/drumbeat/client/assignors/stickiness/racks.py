"""Racks in a sticky assignment: a member should not keep or get what it must read from afar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from drumbeat.client.assignors.port import MemberSubscription, PartitionRacks
from drumbeat.client.assignors.racks import racks_matter, racks_of_members
from drumbeat.client.values import TopicPartition


class Racks:
    def __init__(self, cluster: PartitionRacks, members: Mapping[str, MemberSubscription]) -> None:
        of_member = racks_of_members(members)
        everything = [racks for topic in cluster.values() for racks in topic]
        self.matter = racks_matter(set(of_member.values()), everything)
        self._of_member = of_member if self.matter else {}
        self._member_counts = Counter(self._of_member.values())
        self._cluster = cluster

    def is_far(self, member_id: str, tp: TopicPartition) -> bool:
        rack = self._of_member.get(member_id)
        return rack is not None and rack not in self._of(tp)

    def rarest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Those with fewest members nearby first, otherwise in the same order."""
        if not self.matter:
            return partitions
        return sorted(
            partitions, key=lambda tp: sum(self._member_counts[rack] for rack in self._of(tp))
        )

    def next_near(self, tp: TopicPartition, members: Sequence[str], start: int) -> int | None:
        """Where, from `start` on and around, the next member with a replica in its rack stands."""
        racks = self._of(tp)
        for index in chain(range(start, len(members)), range(start)):
            if self._of_member.get(members[index]) in racks:
                return index
        return None

    def _of(self, tp: TopicPartition) -> frozenset[str]:
        return self._cluster[tp.topic][tp.partition]
