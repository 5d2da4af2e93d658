"""Range: each topic on its own, its partitions cut into one consecutive range per member.

Topics with the same members and as many partitions get the same ranges, so that what belongs
together (one key in two topics) is read by one member. Where racks matter, partitions go first to
members that have a replica nearby, as far as balance and co-partitioning allow (KIP-881).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from drumbeat.client.assignors.ordering import in_map_order, in_turn
from drumbeat.client.assignors.port import MemberSubscription, PartitionRacks, RebalanceProtocol
from drumbeat.client.assignors.racks import racks_matter, racks_of_members
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.java_map import java_map_order

Assignment = dict[str, list[TopicPartition]]


class RangeAssignor:
    name = "range"
    protocols = (RebalanceProtocol.EAGER,)
    version = 0

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        return None

    def on_assignment(self, partitions: Collection[TopicPartition], generation_id: int) -> None:
        """Nothing is remembered."""

    def assign(
        self, cluster: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> dict[str, list[TopicPartition]]:
        assignment: Assignment = {member_id: [] for member_id in members}
        ranges = _ranges(cluster, members)
        is_rack_aware = any(topic_range.needs_racks for topic_range in ranges)
        if is_rack_aware:
            _assign_nearby(ranges, assignment)
        for topic_range in ranges:
            topic_range.assign_rest(assignment)
        if is_rack_aware:
            for partitions in assignment.values():
                partitions.sort()
        return assignment


class _TopicRange:
    """One topic: what is left of it, and how much more each of its members may get."""

    def __init__(
        self,
        topic: str,
        racks: tuple[frozenset[str], ...],
        members: list[str],
        member_racks: Mapping[str, str],
    ) -> None:
        self.members = members
        self.partition_count = len(racks)
        self.has_racks = any(member_id in member_racks for member_id in members)
        here = {rack for member_id in members if (rack := member_racks.get(member_id))}
        self.needs_racks = racks_matter(here, racks)
        self._topic = topic
        self._racks = racks
        self._member_racks = member_racks
        self._unassigned = dict.fromkeys(range(len(racks)))
        self._counts = dict.fromkeys(members, 0)
        self._share, self._extras = divmod(len(racks), len(members))

    def is_near(self, member_id: str, partition: int) -> bool:
        """A member that does not say where it is, is near to everything."""
        rack = self._member_racks.get(member_id)
        return rack is None or rack in self._racks[partition]

    def allowance(self, member_id: str) -> int:
        return max(0, self._share + (self._extras > 0) - self._counts[member_id])

    def assign(self, member_id: str, partitions: list[int], assignment: Assignment) -> None:
        self._give(member_id, partitions, assignment)
        for partition in partitions:
            del self._unassigned[partition]

    def assign_nearby(self, assignment: Assignment) -> None:
        for member_id in self.members:
            near = [left for left in self._unassigned if self.is_near(member_id, left)]
            self.assign(member_id, near[: self.allowance(member_id)], assignment)

    def assign_rest(self, assignment: Assignment) -> None:
        rest, start = list(self._unassigned), 0
        for member_id in self.members:
            end = start + self.allowance(member_id)
            self._give(member_id, rest[start:end], assignment)
            start = end

    def _give(self, member_id: str, partitions: list[int], assignment: Assignment) -> None:
        assignment[member_id] += [TopicPartition(self._topic, index) for index in partitions]
        self._counts[member_id] += len(partitions)
        if partitions and self._counts[member_id] > self._share:
            self._extras -= 1


def _ranges(
    cluster: PartitionRacks, members: Mapping[str, MemberSubscription]
) -> list[_TopicRange]:
    members_of = defaultdict[str, list[str]](list)
    for member_id in in_turn(members):
        for topic in dict.fromkeys(members[member_id].topics):
            members_of[topic].append(member_id)
    member_racks = racks_of_members(members)
    return [
        _TopicRange(topic, cluster[topic], members_of[topic], member_racks)
        for topic in _in_map_order(cluster, members)
    ]


def _in_map_order(cluster: PartitionRacks, members: Mapping[str, MemberSubscription]) -> list[str]:
    """Topics in the order in which Java adds them: that of a HashSet, put into a HashMap."""
    named = dict.fromkeys(
        topic for member in in_map_order(members).values() for topic in member.topics
    )
    return java_map_order(topic for topic in java_map_order(named) if cluster.get(topic))


def _assign_nearby(ranges: Iterable[_TopicRange], assignment: Assignment) -> None:
    co_partitioned = defaultdict[tuple[tuple[str, ...], int], list[_TopicRange]](list)
    for topic_range in ranges:
        if topic_range.has_racks:
            key = (tuple(topic_range.members), topic_range.partition_count)
            co_partitioned[key].append(topic_range)
    for together in co_partitioned.values():
        if len(together) > 1:
            _assign_nearby_together(together, assignment)
        elif together[0].needs_racks:
            together[0].assign_nearby(assignment)


def _assign_nearby_together(together: list[_TopicRange], assignment: Assignment) -> None:
    """Partition n of all these topics to one member that is near to each of them, or to none."""
    remaining = dict.fromkeys(together[0].members)
    for index in range(together[0].partition_count):
        member_id = _first_near(remaining, together, index)
        if member_id is None:
            continue
        for topic_range in together:
            topic_range.assign(member_id, [index], assignment)
        if not any(topic_range.allowance(member_id) for topic_range in together):
            del remaining[member_id]


def _first_near(members: Iterable[str], together: Iterable[_TopicRange], index: int) -> str | None:
    for member_id in members:
        if all(r.is_near(member_id, index) and r.allowance(member_id) for r in together):
            return member_id
    return None
