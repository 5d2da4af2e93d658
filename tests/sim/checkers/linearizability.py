"""Is a history of reads and writes of one register explained by some order of its operations?

After Wing and Gong: try every operation that could have been the first of those that remain, and
go on from there. Values are unique, so the search hardly ever has to turn back.
"""

from collections.abc import Sequence
from typing import NamedTuple

ABSENT = ""


class Access(NamedTuple):
    """A read or a write that took effect at one moment between these two."""

    invoked: int
    returned: int
    is_write: bool
    value: str

    def __str__(self) -> str:
        kind = "write" if self.is_write else "read "
        return f"{kind} {self.value or 'nothing'} in {self.invoked}..{self.returned}"


def is_linearizable(accesses: Sequence[Access], initial: str = ABSENT) -> bool:
    ordered = sorted(accesses)
    seen: set[tuple[int, frozenset[int], str]] = set()
    todo: list[tuple[int, frozenset[int], str]] = [(0, frozenset(), initial)]
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        first, done, value = state
        if first == len(ordered):
            return True
        todo.extend(_next_states(ordered, first, done, value))
    return False


def _next_states(
    ordered: list[Access], first: int, done: frozenset[int], value: str
) -> list[tuple[int, frozenset[int], str]]:
    """`done` holds the places behind `first` that have had their turn; all before it have."""
    states = []
    first_return = ordered[first].returned
    for place in range(first, len(ordered)):
        access = ordered[place]
        if access.invoked > first_return:
            break
        if place in done:
            continue
        first_return = min(first_return, access.returned)
        if access.is_write or access.value == value:
            states.append((*_advance(first, done | {place}), access.value))
    return states


def _advance(first: int, done: frozenset[int]) -> tuple[int, frozenset[int]]:
    while first in done:
        done -= {first}
        first += 1
    return first, done
