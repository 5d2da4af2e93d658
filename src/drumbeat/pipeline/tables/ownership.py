"""Who has which partition, and in which generation, as of any record of a batch.

`Ownership` collects what a batch changes before its commits are looked at, and answers for all of
them at once. The other way round it learns when each partition that changes hands was last
committed, which is how an idle or dead owner is told from a live one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.tables.as_of import Changes, PerSlot
from drumbeat.pipeline.tables.builder import NONE, Bools, Ints
from drumbeat.pipeline.tables.group_changes import GroupChange, Owner, Topic, TopicPartition
from drumbeat.pipeline.tables.numbering import Slots

_FACTS = 4  # about each group

LastCommits: TypeAlias = dict[TopicPartition, int]
"""When a partition's offset was last committed, in ms; without those that have none."""


class Circumstances(NamedTuple):
    """Of the groups and partitions of some commits, at the moment of each."""

    generations: Ints
    have_members: Bools
    empty_since: Ints
    rebalanced_at: Ints  # log offset of the record that ended the group's newest rebalance
    owners: Ints
    names: list[Owner]

    def member_ids(self) -> pa.Array:
        return self._taken([owner.member_id for owner in self.names])

    def client_ids(self) -> pa.Array:
        return self._taken([owner.client_id for owner in self.names])

    def _taken(self, names: list[str]) -> pa.Array:
        is_null = self.owners == NONE
        if is_null.all():
            return pa.nulls(len(self.owners), pa.string())
        used, codes = np.unique(self.owners, return_inverse=True)
        chosen = pa.array([None if n == NONE else names[n] for n in used.tolist()], pa.string())
        return chosen.take(pa.array(codes))


class _Handover(NamedTuple):
    """A partition at a place of the log where it may change hands."""

    group_id: str
    topic: str
    partition: int
    place: int
    owner: int


class Handovers(NamedTuple):
    """The partitions that change hands in a batch, in log order, as numpy wants them."""

    slots: Ints
    places: Ints
    owners: Ints


class Ownership:
    """State between batches: owner by slot; by group generation, members, since when it is Empty,
    and where its newest rebalance ended."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._numbers: dict[Owner, int] = {}
        self._owners: list[Owner] = []  # by number
        self._owner_of = PerSlot(width=1)
        self._group = PerSlot(width=_FACTS)
        self._rebalanced_at: dict[str, int] = {}
        self._handovers: list[_Handover] = []
        self._generations: list[tuple[str, int, tuple[int, ...]]] = []

    def expect(self, change: GroupChange, topic_name: Callable[[Topic, int], str | None]) -> None:
        """A change within the batch whose commits come next."""
        if change.ends_rebalance:
            self._rebalanced_at[change.group_id] = change.log_offset
        elif change.after is None:
            self._rebalanced_at.pop(change.group_id, None)
        facts = (*_facts(change), self._rebalanced_at.get(change.group_id, NONE))
        self._generations.append((change.group_id, change.log_offset, facts))
        for topic, partition, _, owner in change.ownership:
            name = topic_name(topic, change.log_offset)
            if name is not None:
                self.hand_over(change.group_id, (name, partition), change.log_offset, owner)

    def hand_over(
        self, group_id: str, partition: tuple[str, int], place: int, owner: Owner | None
    ) -> None:
        number = NONE if owner is None else self._number(owner)
        self._handovers.append(_Handover(group_id, *partition, place, number))

    def handovers(self) -> Handovers:
        columns = list(zip(*self._handovers, strict=True)) or [()] * len(_Handover._fields)
        group_ids, topics, partitions, places, owners = map(list, columns)
        return Handovers(
            self._slots.of_lists(group_ids, topics, partitions),
            np.array(places, np.int64),
            np.array(owners, np.int64),
        )

    def circumstances(
        self, groups: Ints, slots: Ints, places: Ints, handovers: Handovers
    ) -> Circumstances:
        """For commits by group number, slot and place. Then the batch's changes have happened."""
        columns = list(zip(*self._generations, strict=True)) or [(), (), ()]
        changes = Changes(
            self._slots.groups.of(columns[0]),
            np.array(columns[1], np.int64),
            np.array(columns[2], np.int64).reshape(-1, _FACTS),
        )
        facts = self._group.get_as_of(groups, places, changes)
        owners = Changes(handovers.slots, handovers.places, handovers.owners.reshape(-1, 1))
        owner_of = self._owner_of.get_as_of(slots, places, owners)[:, 0]
        generations, members, empty_since, rebalanced_at = facts.T
        return Circumstances(
            generations, members > 0, empty_since, rebalanced_at, owner_of, self._owners
        )

    def happened(self, committed_at: Ints) -> dict[int, LastCommits]:
        """By log offset of the change: when its partitions had last been committed before it.

        `committed_at` is that for each of the `handovers`. The next batch starts afresh.
        """
        by_change: dict[int, LastCommits] = {}
        for handover, at_ms in zip(self._handovers, committed_at.tolist(), strict=True):
            if at_ms != NONE:
                partition = (handover.topic, handover.partition)
                by_change.setdefault(handover.place, {})[partition] = at_ms
        self._handovers.clear()
        self._generations.clear()
        return by_change

    def _number(self, owner: Owner) -> int:
        number = self._numbers.setdefault(owner, len(self._owners))
        if number == len(self._owners):
            self._owners.append(owner)
        return number


def _facts(change: GroupChange) -> tuple[int, int, int]:
    """Generation, whether the group has members, and since when it is Empty."""
    generation = change.after
    if generation is None:
        return NONE, 0, NONE
    if generation.n_members:
        return generation.generation_id, 1, NONE
    return generation.generation_id, 0, generation.state_ts
