"""What a rebalance did to the partitions, compared with the least it could have done."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from drumbeat.pipeline.tables.group_changes import Generation, TopicPartition


class Moves(NamedTuple):
    partitions_moved: int
    min_moves: int
    stickiness: float | None


NO_MOVES = Moves(0, 0, None)


def compare_owners(before: Generation | None, after: Generation) -> Moves:
    """Partitions that had an owner and have one now.

    The fewest moves are those that lead to as many partitions per member as there are now, as if
    every member could have every partition. A static member that came back is the same owner.
    """
    if before is None:
        return NO_MOVES
    old, new = _consumers(before), _consumers(after)
    common = old.keys() & new.keys()
    if not common:
        return NO_MOVES
    kept = sum(old[partition] == new[partition] for partition in common)
    kept_max = _kept_at_most(
        Counter(old[partition] for partition in common),
        Counter(new[partition] for partition in common),
        {member.identity for member in after.members.values()},
    )
    stickiness = 1.0 if kept_max == 0 else kept / kept_max
    return Moves(len(common) - kept, len(common) - kept_max, stickiness)


def _consumers(generation: Generation) -> dict[TopicPartition, str]:
    identities = {key: member.identity for key, member in generation.members.items()}
    return {
        partition: identities.get(owner.member_id, owner.member_id)
        for partition, owner in generation.owners.items()
    }


def _kept_at_most(old: Counter[str], new: Counter[str], alive: set[str]) -> int:
    """Whoever had most keeps most: no other pairing of the counts keeps more."""
    had = sorted((count for consumer, count in old.items() if consumer in alive), reverse=True)
    gets = sorted(new.values(), reverse=True)
    return sum(map(min, had, gets))
