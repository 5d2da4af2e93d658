"""The topics of the cluster: names, ids, partition counts, configs; and finding them.

Every commit and every produced batch asks for its topic, so this is compiled; changes, which wait
for the disk, are the catalog's (`runtime/topic_catalog.py`).
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from drumbeat.protocol.schema import NULL_UUID

CONSUMER_OFFSETS: Final = "__consumer_offsets"
GROUP_EVENTS: Final = "__group_events"
METADATA_TOPIC: Final = "__cluster_metadata"  # Kafka's own, which is in its data directories
INTERNAL_TOPICS: Final = frozenset(
    {CONSUMER_OFFSETS, GROUP_EVENTS, "__transaction_state", "__share_group_state"}
)


class Topic(NamedTuple):
    name: str
    topic_id: bytes
    partition_count: int
    replication_factor: int  # as asked for; one copy is kept
    configs: Mapping[str, str] = MappingProxyType({})
    is_deleted: bool = False  # a deletion that is under way, and outlives a crash

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class Topics:
    """All topics, by name and by id."""

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self._by_id.get(topic_id)

    def put(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic

    def remove(self, topic: Topic) -> None:
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]

    # What drumbeat.core asks about topics (its TopicsView).

    def partition_count(self, topic: str) -> int | None:
        found = self._by_name.get(topic)
        return None if found is None else found.partition_count

    def topic_name(self, topic_id: bytes) -> str | None:
        found = self._by_id.get(topic_id)
        return None if found is None else found.name

    def topic_id(self, topic: str) -> bytes:
        found = self._by_name.get(topic)
        return NULL_UUID if found is None else found.topic_id
