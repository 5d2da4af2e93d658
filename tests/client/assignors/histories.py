"""Generated groups: who wants what, from one rebalance to the next, with all that goes wrong.

Members come, go and change their minds; topics grow and are made anew; a member misses a
generation, claims what another one has, or speaks an old version of the subscription. The same
seed is the same group.
"""

import base64
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from drumbeat.client.assignors import assignor
from drumbeat.client.assignors.port import MemberSubscription, PartitionRacks
from drumbeat.client.assignors.user_data import encode_generation, encode_sticky
from drumbeat.client.values import TopicPartition

RACKS = ("a", "b", "c")
TOPIC_STYLES = ("t{}", "orders-{}", "eu.payments.{}.v1", "x{}{}")
UNITS_AND_POINTS = "😀\uffee"  # in this order by UTF-16 unit, in the other by code point
MEMBER_STYLES = (
    lambda dice, n: f"c{n}",
    lambda dice, n: f"consumer-{n}-{dice.getrandbits(128):032x}",
    lambda dice, n: f"müller-{dice.choice(UNITS_AND_POINTS)}{dice.getrandbits(32):08x}",
)
STEPS_MAX = 6

Assignment = dict[str, list[TopicPartition]]


@dataclass(frozen=True, slots=True)
class Round:
    """One rebalance, as its leader sees it, and the generation that it leads to.

    In JSON a topic without racks is the number of its partitions.
    """

    cluster: PartitionRacks
    members: dict[str, MemberSubscription]
    generation_id: int

    def as_json(self) -> dict[str, Any]:
        return {
            "cluster": {topic: _racks_as_json(racks) for topic, racks in self.cluster.items()},
            "members": [_member_as_json(*member) for member in self.members.items()],
            "generation": self.generation_id,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Round":
        cluster = {topic: _racks_from_json(racks) for topic, racks in data["cluster"].items()}
        members = dict(_member_from_json(member) for member in data["members"])
        return cls(cluster, members, data["generation"])


def as_runs(partitions: Iterable[TopicPartition]) -> list[list[Any]]:
    """[[topic, partition, partition, ...], ...] in the same order."""
    return [
        [topic, *(tp.partition for tp in run)]
        for topic, run in groupby(partitions, key=lambda tp: tp.topic)
    ]


def from_runs(runs: list[list[Any]]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, *numbers in runs for number in numbers]


def _racks_as_json(racks: tuple[frozenset[str], ...]) -> int | list[list[str]]:
    return [sorted(one) for one in racks] if any(racks) else len(racks)


def _racks_from_json(racks: int | list[list[str]]) -> tuple[frozenset[str], ...]:
    return (frozenset(),) * racks if isinstance(racks, int) else tuple(map(frozenset, racks))


def _member_as_json(member_id: str, member: MemberSubscription) -> dict[str, Any]:
    fields = {
        "owned": as_runs(member.owned_partitions),
        "generation_id": member.generation_id if member.generation_id >= 0 else None,
        "rack_id": member.rack_id,
        "group_instance_id": member.group_instance_id,
    }
    if member.user_data is not None:
        fields["user_data"] = base64.b64encode(member.user_data).decode()
    said = {name: value for name, value in fields.items() if value not in (None, [])}
    return {"member_id": member_id, "topics": list(member.topics)} | said


def _member_from_json(data: dict[str, Any]) -> tuple[str, MemberSubscription]:
    user_data = data.get("user_data")
    return data["member_id"], MemberSubscription(
        topics=tuple(data["topics"]),
        user_data=None if user_data is None else base64.b64decode(user_data),
        owned_partitions=tuple(from_runs(data.get("owned", []))),
        generation_id=data.get("generation_id", -1),
        rack_id=data.get("rack_id"),
        group_instance_id=data.get("group_instance_id"),
    )


@dataclass(slots=True)
class Consumer:
    """A member between rebalances: what it wants and what it believes to have."""

    member_id: str
    topics: list[str]
    rack_id: str | None
    group_instance_id: str | None
    version: int
    had: list[TopicPartition] = field(default_factory=list)
    generation_id: int = -1

    def subscription(self, is_cooperative: bool) -> MemberSubscription:
        knows = self.generation_id >= 0
        user_data = None
        if is_cooperative:
            user_data = encode_generation(self.generation_id)
        elif knows:
            user_data = encode_sticky(self.had, self.generation_id)
            user_data = user_data if self.version else user_data[:-4]
        return MemberSubscription(
            topics=tuple(self.topics),
            user_data=user_data,
            owned_partitions=tuple(self.had) if is_cooperative and self.version else (),
            generation_id=self.generation_id if self.version > 1 else -1,
            rack_id=self.rack_id if self.version > 2 else None,
            group_instance_id=self.group_instance_id,
        )


class History:
    """`rounds` of a group that `name` assigns; `results` are what our own assignor says."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.rounds: list[Round] = []
        self.results: list[Assignment] = []
        self._dice = random.Random(f"{name} {seed}")
        self._is_cooperative = name == "cooperative-sticky"
        self._is_large = self._dice.random() < 0.1
        self._is_uniform = self._dice.random() < 0.4
        self._has_racks = self._dice.random() < 0.4
        self._trouble = self._dice.choice((0.0, 0.0, 0.1, 0.3))
        self._events_max = self._dice.choice((1, 3, 12))
        self._partitions_max = self._dice.choice((3, 12, 12, 60))
        self._member_style = self._dice.choice(MEMBER_STYLES)
        self._topic_style = self._dice.choice(TOPIC_STYLES)
        self._numbers = iter(range(1_000_000))
        self._replica_count = self._dice.randint(1, len(RACKS))
        self._cluster: dict[str, tuple[frozenset[str], ...]] = {}
        self._consumers: list[Consumer] = []
        self._run()

    def as_json(self) -> dict[str, Any]:
        return {"assignor": self.name, "rounds": [one.as_json() for one in self.rounds]}

    # -- the course of events --------------------------------------------------------------------

    def _run(self) -> None:
        dice = self._dice
        for _ in range(dice.choice((1, 2, 3, 5, 30)) if self._is_large else dice.randint(1, 6)):
            self._add_topic()
        for _ in range(dice.randint(10, 60) if self._is_large else dice.randint(1, 9)):
            self._join()
        events = (
            *(self._join, self._leave, self._change, self._change),
            *(self._grow, self._add_topic, self._make_anew),
        )
        leader = assignor(self.name)
        generation_id = 0
        for _ in range(dice.randint(1, STEPS_MAX)):
            is_lost = dice.random() < self._trouble / 3  # the coordinator's memory of the group
            generation_id = 1 if is_lost else generation_id + 1
            one = Round(dict(self._cluster), self._subscriptions(), generation_id)
            result = leader.assign(one.cluster, one.members)
            self.rounds.append(one)
            self.results.append(result)
            self._deliver(result, generation_id)
            for _ in range(dice.randint(0, self._events_max)):
                dice.choice(events)()

    def _subscriptions(self) -> dict[str, MemberSubscription]:
        self._dice.shuffle(self._consumers)
        if self._dice.random() < self._trouble:
            self._steal()
        return {c.member_id: c.subscription(self._is_cooperative) for c in self._consumers}

    def _deliver(self, result: Assignment, generation_id: int) -> None:
        """A member may not live to see it, and comes back with what it had before."""
        for consumer in self._consumers:
            if self._dice.random() >= self._trouble:
                consumer.had = list(result[consumer.member_id])
                consumer.generation_id = generation_id
            elif self._dice.random() < 0.3:
                consumer.generation_id = -1

    def _steal(self) -> None:
        thief, victim = self._dice.choice(self._consumers), self._dice.choice(self._consumers)
        taken = self._dice.sample(victim.had, self._dice.randint(0, len(victim.had)))
        thief.had += [tp for tp in taken if tp not in thief.had]

    # -- what can happen -------------------------------------------------------------------------

    def _add_topic(self) -> None:
        style, number = self._topic_style, next(self._numbers)
        name = style.format(number, number)
        self._cluster[name] = self._partitions(self._dice.randint(1, self._partitions_max))
        if self._is_uniform:
            for consumer in self._consumers:
                consumer.topics = list(self._cluster)

    def _grow(self) -> None:
        name = self._dice.choice(list(self._cluster))
        self._cluster[name] += self._partitions(self._dice.randint(1, 4))

    def _make_anew(self) -> None:
        """A topic is deleted and made again, perhaps with fewer partitions."""
        name = self._dice.choice(list(self._cluster))
        if self._dice.random() < self._trouble:
            self._cluster[name] = self._partitions(self._dice.randint(1, self._partitions_max))

    def _partitions(self, count: int) -> tuple[frozenset[str], ...]:
        if not self._has_racks:
            return (frozenset(),) * count
        return tuple(frozenset(self._dice.sample(RACKS, self._replica_count)) for _ in range(count))

    def _join(self) -> None:
        dice, number = self._dice, next(self._numbers)
        self._consumers.append(
            Consumer(
                self._member_style(dice, number),
                self._choose_topics(),
                dice.choice((*RACKS, None, "")) if self._has_racks else None,
                f"instance-{number}" if dice.random() < 0.15 else None,
                3 if dice.random() >= self._trouble else dice.randint(0, 2),
            )
        )

    def _leave(self) -> None:
        if len(self._consumers) > 1:
            self._consumers.pop(self._dice.randrange(len(self._consumers)))

    def _change(self) -> None:
        """A cooperative member gives up what it does not want any more before it joins."""
        consumer = self._dice.choice(self._consumers)
        consumer.topics = self._choose_topics()
        if self._is_cooperative:
            consumer.had = [tp for tp in consumer.had if tp.topic in consumer.topics]

    def _choose_topics(self) -> list[str]:
        topics = list(self._cluster)
        if self._is_uniform:
            return topics
        fewest = 0 if self._dice.random() < 0.1 else 1
        chosen = self._dice.sample(topics, self._dice.randint(fewest, len(topics)))
        return [*chosen, "missing"] if self._dice.random() < 0.1 else chosen
