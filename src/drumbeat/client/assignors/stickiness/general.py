"""Sticky assignment where members want different topics: as balanced as that allows.

Members keep what they had and still want; the rest goes to the least loaded. Then partitions move,
one at a time, from members to those that have at least two fewer, until none can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from drumbeat.client.assignors.stickiness.claims import previous_owners
from drumbeat.client.assignors.stickiness.loads import Loads
from drumbeat.client.assignors.stickiness.movements import Movements
from drumbeat.client.assignors.stickiness.task import Assignment, StickyResult, StickyTask
from drumbeat.client.values import TopicPartition

# Java has no limit. A move makes the loads more even, so it ends by itself; only a partition that
# returns in the place of another (see movements) can make them less even for a while. Of thousands
# of generated groups none took more than six passes.
_PASSES_MAX = 1_000


def assign_general(task: StickyTask) -> StickyResult:
    return StickyResult(_General(task).result(), None)


class _General:
    def __init__(self, task: StickyTask) -> None:
        self._task = task
        self._racks = task.racks
        self._topics = {
            member_id: [topic for topic in member.topics if topic in task.cluster]
            for member_id, member in task.members.items()
        }
        self._wants = {member_id: frozenset(topics) for member_id, topics in self._topics.items()}
        self._takers = Counter(chain.from_iterable(self._topics.values()))  # members, by topic
        self._assignment: Assignment = {member_id: [] for member_id in task.members}
        self._holders: dict[TopicPartition, str] = {}
        self._previous = previous_owners(task.members, task.claims, task.generation_max)
        self._movements = Movements()

    def result(self) -> Assignment:
        must_revoke = self._keep()
        is_fresh = not self._holders
        self._loads = Loads({m: len(partitions) for m, partitions in self._assignment.items()})
        everything = self._all_partitions()
        unassigned = [tp for tp in everything if tp not in self._holders]
        self._place(unassigned)
        self._balance(everything, [] if must_revoke else unassigned, is_fresh)
        return self._assignment

    # -- what members had ------------------------------------------------------------------------

    def _keep(self) -> bool:
        """Whether somebody had something that it may not keep."""
        must_revoke = False
        for member_id, owned in self._task.settlement.owned.items():
            for tp in owned:
                if tp.topic not in self._wants[member_id] or self._racks.is_far(member_id, tp):
                    must_revoke = True
                else:
                    self._assignment[member_id].append(tp)
                    self._holders[tp] = member_id
        return must_revoke

    def _all_partitions(self) -> list[TopicPartition]:
        """Those that fewest members want first: there is least choice for them."""
        cluster = self._task.cluster
        topics = sorted(cluster, key=lambda topic: (self._takers[topic], topic))
        return [
            TopicPartition(topic, partition)
            for topic in topics
            for partition in range(len(cluster[topic]))
        ]

    # -- the rest --------------------------------------------------------------------------------

    def _place(self, partitions: list[TopicPartition]) -> None:
        left = partitions
        if self._racks.matter:
            left = [tp for tp in partitions if not self._place_nearby(tp)]
        for tp in left:
            self._give(tp, self._least_loaded(tp.topic))

    def _place_nearby(self, tp: TopicPartition) -> bool:
        for member_id in self._loads:
            if tp.topic in self._wants[member_id] and not self._racks.is_far(member_id, tp):
                self._give(tp, member_id)
                return True
        return False

    def _least_loaded(self, topic: str) -> str:
        return next(member_id for member_id in self._loads if topic in self._wants[member_id])

    def _give(self, tp: TopicPartition, member_id: str) -> None:
        self._assignment[member_id].append(tp)
        self._holders[tp] = member_id
        self._loads.change(member_id, 1)

    # -- balance ---------------------------------------------------------------------------------

    def _balance(
        self,
        everything: Iterable[TopicPartition],
        unassigned: Iterable[TopicPartition],
        is_fresh: bool,
    ) -> None:
        """First move only what nobody had. What no more than one member wants never moves."""
        for member_id in self._task.members:
            if not self._takes_part(member_id):
                self._loads.discard(member_id)
        before = {member_id: list(owned) for member_id, owned in self._assignment.items()}
        spread = self._loads.spread
        self._move_while_better([tp for tp in unassigned if self._takers[tp.topic] > 1])
        has_moved = self._move_while_better([tp for tp in everything if self._takers[tp.topic] > 1])
        if has_moved and not is_fresh and self._loads.spread >= spread:
            self._assignment = before

    def _takes_part(self, member_id: str) -> bool:
        """Whether the member could get more, or has something that another one wants."""
        cluster, topics = self._task.cluster, self._topics[member_id]
        wanted = cluster if len(topics) == len(cluster) else topics
        if self._loads[member_id] < sum(len(cluster[topic]) for topic in wanted):
            return True
        return any(self._takers[tp.topic] > 1 for tp in self._assignment[member_id])

    def _move_while_better(self, partitions: list[TopicPartition]) -> bool:
        has_moved = False
        for _ in range(_PASSES_MAX):
            if not self._move_once_each(partitions):
                break
            has_moved = True
        return has_moved

    def _move_once_each(self, partitions: list[TopicPartition]) -> bool:
        has_moved = False
        for tp in partitions:
            if self._loads.are_even:
                break
            if (member_id := self._better_holder(tp)) is not None:
                self._move(tp, member_id)
                has_moved = True
        return has_moved

    def _better_holder(self, tp: TopicPartition) -> str | None:
        """A member with at least two fewer: the one that had it before, else the least loaded."""
        tolerable = self._loads[self._holders[tp]] - 1
        previous = self._previous.get(tp)
        if previous is not None and self._loads[previous] < tolerable:
            return previous
        least_loaded = self._least_loaded(tp.topic)
        return least_loaded if self._loads[least_loaded] < tolerable else None

    def _move(self, tp: TopicPartition, member_id: str) -> None:
        tp = self._movements.instead_of(tp, self._holders[tp], member_id)
        holder = self._holders[tp]
        self._movements.record(tp, holder, member_id)
        self._assignment[holder].remove(tp)
        self._loads.change(holder, -1)
        self._give(tp, member_id)
