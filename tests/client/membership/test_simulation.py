"""Groups of memberships against the real coordinator core, in virtual time, with faults by seed.

While things go wrong: no busy loop, no missed callback, revoked before assigned, no partition with
two owners in one generation. Once they stop: the group settles, and stays so.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from client.membership.actor import HEARTBEAT_INTERVAL_MS, Actor
from client.membership.world import CALM, World
from drumbeat.client.values import TopicPartition

SEEDS = range(201)
CHUNK = 20
FAULTY_MS = 40_000
FORGET_MS = 15_000  # no request that was under way when the faults ended is, any more
SETTLE_MS = 40_000
CHANGE_MS = 15_000
QUIET_MS = 10_000
STRATEGIES = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("range", "cooperative-sticky"),
    ("cooperative-sticky", "range"),
)


class Simulation:
    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.random = self.world.random
        self.strategy = self.random.choice(STRATEGIES)
        self.actors: list[Actor] = []
        self._joined = 0

    @property
    def alive(self) -> list[Actor]:
        return [actor for actor in self.actors if actor.is_alive]

    def enter(self, instance_id: str | None = None, topics: frozenset[str] | None = None) -> None:
        self._joined += 1
        actor = Actor(
            f"a{self._joined}",
            self.world,
            self.strategy,
            self._topics() if topics is None else topics,
            instance_id,
        )
        self.actors.append(actor)
        for each in self.actors:
            each.others = [other for other in self.actors if other is not each]

    def _topics(self) -> frozenset[str]:
        names = sorted(self.world.partitions)
        return frozenset(self.random.sample(names, self.random.randrange(1, len(names) + 1)))

    # -- what goes wrong -------------------------------------------------------------------------

    def disturb(self) -> None:
        alive = self.alive
        victim = self.random.choice(alive) if alive else None
        what = self.random.choice(
            ("enter", "enter static", "close", "crash", "replace", "subscribe", "grow", "move")
        )
        if what == "move":
            self.world.move()
        elif what == "grow":
            self._grow()
        elif what.startswith("enter") or victim is None:
            if len(alive) < 5:
                self.enter(f"i{self._joined}" if what == "enter static" else None)
        elif what == "replace":
            self._replace(victim)
        elif what == "subscribe":
            victim.subscribe(self._topics())
        else:
            getattr(victim, what)()

    def _replace(self, victim: Actor) -> None:
        """A static member comes back, maybe while its old self still runs."""
        if victim.instance_id is not None:
            if self.random.random() < 0.5:
                victim.crash()
            self.enter(victim.instance_id, victim.topics)

    def _grow(self) -> None:
        topic = self.random.choice(sorted(self.world.partitions))
        self.world.partitions[topic] += 1
        for actor in self.alive:
            actor.learn_of_topics()

    # -- the play --------------------------------------------------------------------------------

    def run(self) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.enter()
        end_ms = self.world.now_ms + FAULTY_MS
        while self.world.now_ms < end_ms:
            self.world.run_for(self.random.randrange(300, 5_000))
            self.disturb()
        self.world.faults = CALM
        for actor in self.alive:
            actor.learn_of_topics()
        self.world.run_for(FORGET_MS)
        self.enter()  # a rebalance in which nothing goes wrong
        self.world.run_for(SETTLE_MS)
        self.check_settled()
        self._grow()
        self.random.choice(self.alive).subscribe(self._topics())
        self.world.run_for(CHANGE_MS)
        self.check_settled()
        self.check_quiet()

    def check_settled(self) -> None:
        alive = self.alive
        states = {actor.name: actor.membership.generation for actor in alive}
        assert all(actor.membership.is_active for actor in alive), states
        assert len({actor.membership.generation.generation_id for actor in alive}) == 1, states
        ids = {actor.membership.generation.member_id for actor in alive}
        assert ids == set(self.world.group.members)
        owned = sorted(partition for actor in alive for partition in actor.owned)
        topics = frozenset[str]().union(*(actor.topics for actor in alive))
        wanted = [
            TopicPartition(topic, partition)
            for topic in sorted(topics)
            for partition in range(self.world.partitions[topic])
        ]
        assert owned == wanted
        for actor in self.actors:
            if actor.is_alive or actor.is_fenced:
                actor.check_nothing_swallowed()

    def check_quiet(self) -> None:
        alive = self.alive
        before = [actor.membership.generation for actor in alive]
        begin_ms = self.world.now_ms
        self.world.run_for(QUIET_MS)
        assert [actor.membership.generation for actor in alive] == before
        for actor in alive:
            beats = [at_ms for at_ms in actor.heartbeats_at_ms if at_ms > begin_ms]
            gaps = [after - at for at, after in pairwise(beats)]
            assert gaps
            assert max(gaps) <= HEARTBEAT_INTERVAL_MS + 100


@pytest.mark.parametrize("first", SEEDS[::CHUNK])
def test_groups_survive_what_befalls_them(first):
    for seed in range(first, min(first + CHUNK, SEEDS.stop)):
        try:
            Simulation(seed).run()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
