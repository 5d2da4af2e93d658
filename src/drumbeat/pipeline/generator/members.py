"""The members of a group over time: who restarts, joins and leaves, and who owns what."""

from __future__ import annotations

from typing import Final, NamedTuple

from drumbeat.pipeline.generator.plan import GroupPlan
from drumbeat.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
)

SESSION_TIMEOUT_MS: Final = 45_000
REBALANCE_TIMEOUT_MS: Final = 300_000
_STATIC_EVERY: Final = 7  # every seventh group has static members


class Member(NamedTuple):
    client: int  # which client of the group it is
    session: int  # how often that client has begun anew

    def id_in(self, group: GroupPlan) -> str:
        # Shaped as Kafka's: the client id, then 36 characters that look like a UUID.
        number = f"{self.client:08x}-{self.session:04x}"
        return f"{self.client_id(group)}-{number}-4000-8000-{group.phase_ms:012x}"

    def client_id(self, group: GroupPlan) -> str:
        return f"{group.group_id}-{self.client}"

    def instance_id(self, group: GroupPlan) -> str | None:
        is_static = group.phase_ms % _STATIC_EVERY == 0
        return f"{self.client_id(group)}-static" if is_static else None

    def host(self) -> str:
        return f"/10.0.{self.client % 250}.{self.client % 200 + 1}"


class Crowd:
    """Who is in a group now."""

    def __init__(self, group: GroupPlan) -> None:
        self._group = group
        self._clients = len(group.slots)
        self.members = [Member(client, 1) for client in range(self._clients)]
        names = tuple(topic.name for topic in group.topics)
        self.subscription = encode_subscription(Subscription(topics=names))
        self._assignments: dict[tuple[int, int], bytes] = {}  # by size of the crowd, and place

    def restart(self, turn: int) -> None:
        at = turn % len(self.members)
        member = self.members[at]
        self.members[at] = member._replace(session=member.session + 1)

    def join(self, _turn: int) -> None:
        if len(self.members) <= len(self._group.slots):
            self.members.append(Member(self._clients, 1))
            self._clients += 1

    def leave(self, turn: int) -> None:
        if len(self.members) > 1:
            del self.members[turn % len(self.members)]

    def owned(self, at: int) -> dict[int, tuple[int, ...]]:
        """Partitions by topic index of the member at this place: dealt out in turn."""
        places = [place for slot in self._group.slots for place in slot]
        mine = places[at :: len(self.members)]
        topics = sorted({topic for topic, _ in mine})
        return {topic: tuple(sorted(p for t, p in mine if t == topic)) for topic in topics}

    def assignment(self, at: int) -> bytes:
        place = len(self.members), at
        if place not in self._assignments:
            self._assignments[place] = self._encoded(at)
        return self._assignments[place]

    def _encoded(self, at: int) -> bytes:
        topics = self._group.topics
        owned = self.owned(at).items()
        given = tuple(TopicPartitions(topics[index].name, ids) for index, ids in owned)
        return encode_assignment(Assignment(assigned_partitions=given))
