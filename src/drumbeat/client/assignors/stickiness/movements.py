"""Which partitions have moved between members while an assignment is being balanced.

If one partition of a topic has gone from A to B and another is about to go from B to A, the first
one returns instead: it costs nothing, and its first owner keeps it.
"""

from __future__ import annotations

from drumbeat.client.values import TopicPartition
from drumbeat.protocol.java_hash import java_hash
from drumbeat.protocol.java_map import JavaMapOrder


class Movements:
    def __init__(self) -> None:
        self._routes: dict[TopicPartition, tuple[str, str]] = {}  # from where to where
        self._travellers: dict[tuple[str, str, str], JavaMapOrder[int]] = {}  # by topic and route

    def record(self, tp: TopicPartition, source: str, destination: str) -> None:
        """A partition that moves on is taken to have come from its first owner directly."""
        if (route := self._routes.pop(tp, None)) is not None:
            self._forget(tp, route)
            source = route[0]
        if source != destination:
            self._routes[tp] = (source, destination)
            self._remember(tp, (source, destination))

    def instead_of(self, tp: TopicPartition, source: str, destination: str) -> TopicPartition:
        """The partition to move when `tp` is to go from `source` to `destination`."""
        if (route := self._routes.get(tp)) is not None:
            source = route[0]
        back = self._travellers.get((tp.topic, destination, source))
        return tp if back is None else TopicPartition(tp.topic, back.first())

    def _remember(self, tp: TopicPartition, route: tuple[str, str]) -> None:
        key = (tp.topic, *route)
        if key not in self._travellers:
            self._travellers[key] = JavaMapOrder()
        self._travellers[key].put(tp.partition, _hash_code(tp))

    def _forget(self, tp: TopicPartition, route: tuple[str, str]) -> None:
        key = (tp.topic, *route)
        self._travellers[key].remove(tp.partition)
        if not self._travellers[key]:
            del self._travellers[key]


def _hash_code(tp: TopicPartition) -> int:
    """TopicPartition.hashCode, but for the overflow."""
    return 31 * (31 + tp.partition) + java_hash(tp.topic)
