"""Random lives of groups: members that come, go, stall and lie, in any order, with restarts.

The coordinator's own checks run after every step (`support.coordinator`); here are the laws that
need a whole history. A failing seed is its own reproduction.
"""

import random
from collections import defaultdict
from typing import NamedTuple

import pytest

from support.coordinator import Call, Coordinator
from support.groups import Clients, protocols

STEPS = 150
PROTOCOL_LISTS = (("range",), ("range", "rr"), ("rr", "range"), ("range", "sticky", "rr"), ("x",))
INSTANCES = ("i1", "i2")


class Step(NamedTuple):
    """One thing that happens to one group. Numbers pick among what there is at that moment."""

    group_id: str
    action: str
    pick: int
    version: int
    new_id: str
    after_ms: int


class Life:
    """One group's clients, and everything they were answered."""

    def __init__(self, coordinator: Coordinator, group_id: str) -> None:
        self.group = Clients(coordinator, group_id)
        self.ids: list[str] = ["stranger"]
        self.calls: list[Call] = []

    def act(self, step: Step) -> None:
        self.group.coordinator.new_id = step.new_id
        getattr(self, f"_{step.action}")(step)
        live = self.group.live
        if live is not None:
            known = (*live.members, *sorted(live.pending_members))
            self.ids.extend(member_id for member_id in known if member_id not in self.ids)

    def _join(self, step: Step, member_id: str = "", **fields: object) -> None:
        names = PROTOCOL_LISTS[step.pick % len(PROTOCOL_LISTS)]
        timeout_ms = (1_000, 5_000, 20_000)[step.pick % 3]
        self.calls.append(
            self.group.join(
                member_id,
                step.version,
                f"c{step.pick % 4}",
                protocols=protocols(*names),
                session_timeout_ms=timeout_ms,
                rebalance_timeout_ms=timeout_ms,
                **fields,
            )
        )

    def _rejoin(self, step: Step) -> None:
        self._join(step, self._id(step))

    def _static(self, step: Step) -> None:
        instance = INSTANCES[step.pick % len(INSTANCES)]
        version = max(step.version, 5)
        self._join(step._replace(version=version), group_instance_id=instance)

    def _sync(self, step: Step) -> None:
        live = self.group.live
        plan = {m: f"{m}@{live.generation_id}".encode() for m in live.members} if live else {}
        member_id, generation_id = self._id(step), self._generation(step)
        self.calls.append(self.group.sync(member_id, generation_id, plan, min(step.version, 4)))

    def _leader_sync(self, step: Step) -> None:
        live = self.group.live
        if live is not None and live.leader is not None:
            index = self.ids.index(live.leader)
            self._sync(step._replace(pick=index * 4))

    def _heartbeat(self, step: Step) -> None:
        self.group.heartbeat(self._id(step), self._generation(step), min(step.version, 4))

    def _commit(self, step: Step) -> None:
        self.group.commit(step.pick, self._id(step), self._generation(step))

    def _leave(self, step: Step) -> None:
        ids = [self.ids[(step.pick + n) % len(self.ids)] for n in range(1 + step.pick % 2)]
        self.group.leave(*ids, version=5)

    def _delete(self, _step: Step) -> None:
        self.group.delete()

    def _id(self, step: Step) -> str:
        return self.ids[step.pick // 4 % len(self.ids)]

    def _generation(self, step: Step) -> int:
        live = self.group.live
        current = live.generation_id if live else 0
        return current - (step.pick % 11 == 0)


ACTIONS = ["join", "rejoin", "rejoin", "sync", "leader_sync", "heartbeat", "commit", "leave"]


def steps(seed: int, groups: tuple[str, ...], actions: list[str]) -> list[Step]:
    rng = random.Random(seed)
    return [
        Step(
            group_id=rng.choice(groups),
            action=rng.choice(actions),
            pick=rng.randrange(1_000),
            version=rng.choice((0, 3, 4, 9)),
            new_id=f"{seed}.{number}",
            after_ms=rng.choice((0, 0, 0, 10, 700, 3_000)),
        )
        for number in range(STEPS)
    ]


def play(history: list[Step], only: str | None = None) -> dict[str, Life]:
    """Let a history happen; with `only`, as if the other groups did not exist."""
    coordinator = Coordinator(group_initial_rebalance_delay_ms=500)
    lives = {step.group_id: Life(coordinator, step.group_id) for step in history}
    for step in history:
        if only in (None, step.group_id):
            lives[step.group_id].act(step)
        coordinator.advance(step.after_ms)
    return lives


@pytest.mark.parametrize("seed", range(12))
def test_any_life_keeps_the_invariants_and_every_wait_ends(seed):
    history = steps(seed, ("a", "b"), [*ACTIONS, "static", "delete"])
    lives = play(history)
    coordinator = lives["a"].group.coordinator
    coordinator.advance(400_000)  # longer than any deadline: whoever waited has been answered
    assert [call for call in coordinator.calls.values() if call.is_parked] == []
    assert coordinator.session.groups == {}
    assert coordinator.session.deadlines == {}


@pytest.mark.parametrize("seed", range(12))
def test_any_life_survives_restarts(seed):
    coordinator = Coordinator()
    life = Life(coordinator, "g")
    for number, step in enumerate(steps(seed, ("g",), [*ACTIONS, "static"])):
        life.act(step)
        if number % 20 == 19:
            durable = dict(coordinator.state.groups)
            coordinator.restart()
            assert coordinator.state.groups == durable
            assert all(group.state == "Stable" for group in coordinator.session.groups.values())


@pytest.mark.parametrize("seed", range(12))
def test_all_members_of_a_generation_are_told_the_same(seed):
    """One leader, one protocol; only the leader has the list; a share is what the leader gave."""
    (life,) = play(steps(seed, ("g",), ACTIONS)).values()
    told: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for call in life.calls:
        answer = call.answer
        if answer is None or answer.error_code:
            continue
        if call.api.name == "JoinGroup":
            told[answer.generation_id].add((answer.leader, answer.protocol_name))
            assert bool(answer.members) <= (answer.leader == answer.member_id)
        else:
            member_id, _, generation_id = answer.assignment.decode().partition("@")
            assert (member_id in life.ids) == bool(generation_id)
    assert told
    assert all(len(views) == 1 for views in told.values())


@pytest.mark.parametrize("seed", range(6))
def test_groups_do_not_touch_each_other(seed):
    history = steps(seed, ("a", "b"), [*ACTIONS, "static"])
    together = play(history)
    for group_id in ("a", "b"):
        alone = play(history, only=group_id)[group_id]
        answers = [[call.answer for call in life.calls] for life in (together[group_id], alone)]
        assert answers[0] == answers[1]
        assert together[group_id].ids == alone.ids
