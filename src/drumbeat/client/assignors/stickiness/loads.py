"""How many partitions each member has, and the members in that order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from drumbeat.protocol.java_hash import java_text_order


class Loads:
    """Iterates over the members from the least loaded on, equal ones by member id."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._members = sorted(counts, key=java_text_order)
        self._ranks = {member_id: rank for rank, member_id in enumerate(self._members)}
        self._counts = dict(counts)
        self._ranking = sorted((counts[member_id], rank) for member_id, rank in self._ranks.items())

    def __iter__(self) -> Iterator[str]:
        members = self._members
        return (members[rank] for _, rank in self._ranking)

    def __getitem__(self, member_id: str) -> int:
        return self._counts[member_id]

    def change(self, member_id: str, difference: int) -> None:
        self.discard(member_id)
        self._counts[member_id] += difference
        insort(self._ranking, (self._counts[member_id], self._ranks[member_id]))

    def discard(self, member_id: str) -> None:
        """Leave a member out from now on; its count stays known."""
        entry = (self._counts[member_id], self._ranks[member_id])
        index = bisect_left(self._ranking, entry)
        if self._ranking[index : index + 1] == [entry]:
            del self._ranking[index]

    @property
    def are_even(self) -> bool:
        """Whether no member has more than one partition above any other."""
        return not self._ranking or self._ranking[-1][0] - self._ranking[0][0] <= 1

    @property
    def spread(self) -> int:
        """The differences between the members of each pair, summed up; 0 is perfect balance."""
        lower = len(self._ranking) - 1
        return sum(
            count * (2 * position - lower) for position, (count, _) in enumerate(self._ranking)
        )
