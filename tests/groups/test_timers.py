"""Deadlines of a shard, and how many of them a node deals with at a time."""

import asyncio

import pytest

from drumbeat.core.deadline_keys import DeadlineKey, DeadlineKind
from drumbeat.runtime.coordinator.timers import Timers, Turns


def key(name: str) -> DeadlineKey:
    return DeadlineKey(DeadlineKind.JOIN, name)


class Deadlines:
    """A session's table, with the index in front of it."""

    def __init__(self) -> None:
        self.table: dict[DeadlineKey, int] = {}
        self.timers = Timers(self.table)

    def set(self, name: str, at_ms: int) -> bool:
        self.table[key(name)] = at_ms
        return self.timers.note(key(name), at_ms)

    def due(self, now_ms: int) -> list[str]:
        """In the order in which they come; each is gone from the table then, as after an expiry."""
        found = []
        for passed in self.timers.due(now_ms):
            del self.table[passed]
            found.append(passed.group_id)
        return found


def test_due_in_order():
    deadlines = Deadlines()
    assert deadlines.set("b", 20)
    assert deadlines.set("a", 10)
    assert not deadlines.set("c", 30)  # not the first to come: no alarm has to change
    assert deadlines.timers.next_ms() == 10
    assert deadlines.due(9) == []
    assert deadlines.due(20) == ["a", "b"]
    assert deadlines.due(29) == []
    assert deadlines.due(99) == ["c"]
    assert deadlines.timers.next_ms() is None


def test_a_deadline_that_moves_back_is_looked_at_again_only_when_its_time_has_come():
    deadlines = Deadlines()
    deadlines.set("a", 10)
    for at_ms in range(11, 1_000):
        assert not deadlines.set("a", at_ms)
    assert deadlines.timers.next_ms() == 10
    assert deadlines.due(10) == []
    assert deadlines.timers.next_ms() == 999
    assert deadlines.due(999) == ["a"]


def test_a_deadline_that_moves_forward_comes_once():
    deadlines = Deadlines()
    deadlines.set("a", 100)
    assert deadlines.set("a", 10)
    assert deadlines.due(10) == ["a"]
    assert deadlines.due(100) == []


def test_a_deadline_that_was_cleared_does_not_come():
    deadlines = Deadlines()
    deadlines.set("a", 10)
    del deadlines.table[key("a")]
    assert deadlines.due(10) == []


def test_what_is_not_asked_for_stays_due():
    deadlines = Deadlines()
    for name in "abc":
        deadlines.set(name, 10)
    passed = deadlines.timers.due(10)
    next(passed)
    passed.close()
    assert deadlines.timers.next_ms() == 10
    del deadlines.table[key("a")]
    assert deadlines.due(10) == ["b", "c"]


@pytest.mark.parametrize(("limit", "shards"), [(1, 3), (5, 3), (20, 50)])
def test_all_shards_of_a_node_share_a_turn(limit, shards):
    async def run() -> tuple[list[int], int]:
        turns = Turns(limit)
        taken = [sum(turns.take() for _ in range(10)) for _ in range(shards)]
        await asyncio.sleep(0)
        return taken, sum(turns.take() for _ in range(1_000))

    in_one_turn, in_the_next = asyncio.run(run())
    assert sum(in_one_turn) == limit
    assert in_the_next == limit
