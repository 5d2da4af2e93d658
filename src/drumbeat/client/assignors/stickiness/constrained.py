"""Sticky assignment where all members want the same topics: fast, and balanced to within one.

Every member is due the same share; as many as the division leaves over are due one more. Members
keep what they had up to that, then the rest is dealt to those who are short of it.
"""

from __future__ import annotations

from collections import deque

from drumbeat.client.assignors.stickiness.task import Assignment, StickyResult, StickyTask
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.java_hash import java_text_order


def assign_constrained(task: StickyTask) -> StickyResult:
    return _Constrained(task).result()


class _Constrained:
    def __init__(self, task: StickyTask) -> None:
        self._task = task
        self._racks = task.racks
        self._contested = task.settlement.contested
        total = sum(map(len, task.cluster.values()))
        self._share, self._extras_left = divmod(total, len(task.members))
        self._assignment: Assignment = {member_id: [] for member_id in task.members}
        self._given_up: dict[TopicPartition, str] = {}  # by whom
        self._moved: dict[TopicPartition, str] = {}
        self._short: list[str] = []  # members below their share
        self._at_share: deque[str] = deque()  # members that may yet get one more

    def result(self) -> StickyResult:
        for member_id in self._task.members:
            self._keep(member_id)
        self._short.sort(key=java_text_order)
        self._at_share = deque(sorted(self._at_share, key=java_text_order))
        rest = self._racks.rarest_first(self._unassigned())
        if self._racks.matter:
            rest = self._deal_nearby(rest)
        self._deal(rest)
        return StickyResult(self._assignment, self._moved)

    # -- what members had ------------------------------------------------------------------------

    def _keep(self, member_id: str) -> None:
        near = self._keepable(member_id)
        if len(near) < self._share:
            self._short.append(member_id)
        kept = min(len(near), self._share)
        if self._extras_left and len(near) > self._share:
            kept += 1
            self._use_extra()
        elif self._extras_left and kept == self._share:
            self._at_share.append(member_id)
        self._assignment[member_id] += near[:kept]
        self._given_up.update(dict.fromkeys(near[kept:], member_id))

    def _keepable(self, member_id: str) -> list[TopicPartition]:
        """What the member had, without what is far away or contested; low partitions first."""
        near = []
        for tp in self._task.settlement.owned[member_id]:
            if self._racks.is_far(member_id, tp):
                self._given_up[tp] = member_id
            elif tp not in self._contested:
                near.append(tp)
        near.sort(key=lambda tp: (tp.partition, tp.topic))
        return near

    def _use_extra(self) -> None:
        self._extras_left -= 1
        if not self._extras_left:
            self._at_share.clear()

    def _unassigned(self) -> list[TopicPartition]:
        kept = {tp for partitions in self._assignment.values() for tp in partitions}
        everything = (
            TopicPartition(topic, partition)
            for topic in sorted(self._task.cluster)
            for partition in range(len(self._task.cluster[topic]))
        )
        return [tp for tp in everything if tp not in kept]

    # -- the rest --------------------------------------------------------------------------------

    def _deal_nearby(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Deal to members nearby, those that are short first; returns what is left."""
        left = []
        turn = 0
        for tp in partitions:
            if (index := self._racks.next_near(tp, self._short, turn)) is not None:
                turn = self._give_short(tp, index)
            elif (index := self._racks.next_near(tp, self._at_share, 0)) is not None:
                self._give(tp, self._at_share[index])
                del self._at_share[index]
                self._use_extra()
            else:
                left.append(tp)
        return left

    def _deal(self, partitions: list[TopicPartition]) -> None:
        turn = 0
        for tp in partitions:
            if self._short:
                turn = self._give_short(tp, turn)
            else:
                self._give(tp, self._at_share.popleft())

    def _give_short(self, tp: TopicPartition, index: int) -> int:
        """Give to the member that stands there among the short ones; returns whose turn is next."""
        member_id = self._short[index]
        self._give(tp, member_id)
        if len(self._assignment[member_id]) < self._share:
            index += 1
        else:
            del self._short[index]
            if self._extras_left:
                self._at_share.append(member_id)
        return index % len(self._short) if self._short else 0

    def _give(self, tp: TopicPartition, member_id: str) -> None:
        self._assignment[member_id].append(tp)
        if tp in self._contested or self._given_up.get(tp, member_id) != member_id:
            self._moved[tp] = member_id
