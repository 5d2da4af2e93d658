"""The simulator's own parts: what it trusts without looking."""

import asyncio
from random import Random

import pytest

from drumbeat.core.record_codec import encode
from drumbeat.core.records import OffsetCommitRecord, OffsetCommitTombstone
from drumbeat.core.records import Record as Fact
from sim.checkers.linearizability import ABSENT, Access, is_linearizable
from sim.clients.assignor import Wish, cooperative_plan, eager_plan
from sim.ledger import Line, compacted, replay
from sim.virtual_time import START_MS, Stalled, VirtualClock, VirtualLoop

# Each access is: when invoked, when returned, r or w, value (- for none).
HISTORIES = [
    (True, "1 2 w a, 3 4 r a"),
    (True, "1 2 r -, 3 4 w a"),
    (True, "1 9 w a, 2 3 r -, 4 5 r a"),
    (True, "1 9 w a, 2 8 w b, 3 7 r b, 10 11 r a"),
    (True, "1 2 w a, 3 3 w -, 4 5 r -"),
    (False, "1 2 w a, 3 4 r -"),
    (False, "1 2 r a, 3 4 w a"),
    (False, "1 9 w a, 2 3 r a, 4 5 r -"),
    (False, "1 2 w a, 3 4 w b, 5 6 r a"),
    (False, "1 2 w a, 3 4 w b, 5 6 r b, 7 8 r a"),
    (False, "1 2 w a, 3 3 w -, 4 5 r a"),
]


@pytest.mark.parametrize(("is_good", "text"), HISTORIES)
def test_a_register_has_one_value_at_a_time(is_good: bool, text: str) -> None:
    assert is_linearizable([access(*words.split()) for words in text.split(", ")]) == is_good


def access(invoked: str, returned: str, kind: str, value: str) -> Access:
    return Access(int(invoked), int(returned), kind == "w", ABSENT if value == "-" else value)


def test_many_concurrent_writes_are_searched_quickly() -> None:
    writes = [Access(0, 100 + n, True, str(n)) for n in range(200)]
    reads = [Access(300 + 2 * n, 301 + 2 * n, False, "7") for n in range(50)]
    assert is_linearizable([*writes, *reads])


def test_a_compacted_log_says_the_same() -> None:
    rng = Random(1)
    facts: list[Fact] = [
        OffsetCommitTombstone("g", "t", rng.randrange(4))
        if rng.random() < 0.3
        else OffsetCommitRecord("g", "t", rng.randrange(4), n, -1, "", n)
        for n in range(60)
    ]
    lines = [Line(offset, 0, encode(fact)[0], fact) for offset, fact in enumerate(facts)]
    shapes = [compacted(lines, rng) for _ in range(200)]
    assert all(replay(shape).offsets == replay(lines).offsets for shape in shapes)
    assert min(map(len, shapes)) < 10
    assert len({len(shape) for shape in shapes}) > 20


def test_a_cooperative_plan_takes_nothing_from_its_owner_at_once() -> None:
    partitions = [("t", n) for n in range(4)]
    wishes = {"a": Wish(("t",), tuple(partitions), 1), "b": Wish(("t",))}
    first = cooperative_plan(wishes, partitions)
    assert first == {"a": partitions[:2], "b": []}
    wishes["a"] = Wish(("t",), tuple(first["a"]), 2)
    assert cooperative_plan(wishes, partitions) == {"a": partitions[:2], "b": partitions[2:]}


def test_an_eager_plan_gives_each_partition_to_one_reader() -> None:
    wishes = {"a": Wish(("t",)), "b": Wish(("t", "u")), "c": Wish(())}
    plan = eager_plan(wishes, [("t", 0), ("t", 1), ("u", 0)])
    assert plan == {"a": [("t", 0)], "b": [("t", 1), ("u", 0)], "c": []}


def test_time_passes_only_when_nothing_is_left_to_do() -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        clock = VirtualClock(loop)
        seen = [clock.steady_ms()]
        await asyncio.sleep(86_400)
        seen.append(clock.steady_ms())
        seen.append(await asyncio.to_thread(clock.monotonic_ms))
        clock.wall_offset_ms = -5
        return [*seen, clock.now_ms()]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        day_ms = 86_400_000
        assert runner.run(main()) == [START_MS, START_MS + day_ms, day_ms, START_MS + day_ms - 5]


def test_waiting_for_nothing_is_an_error_and_does_not_hang() -> None:
    loop = VirtualLoop()
    with pytest.raises(Stalled):
        loop.run_forever()
    loop.close()
