"""The topics of the cluster: names, ids, partition counts, configs. Durable before visible."""

import asyncio
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

CONSUMER_OFFSETS = "__consumer_offsets"
GROUP_EVENTS = "__group_events"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, GROUP_EVENTS, "__transaction_state"})


class Topic(NamedTuple):
    name: str
    topic_id: bytes
    partition_count: int
    replication_factor: int  # as asked for; one copy is kept
    configs: Mapping[str, str] = MappingProxyType({})

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class TopicStore(Protocol):
    """Where topics are kept. The calls block until the change is durable."""

    def load(self) -> list[Topic]: ...

    def save(self, topic: Topic) -> None: ...

    def remove(self, topic: Topic) -> None: ...


class MemoryTopicStore:
    """For nodes without a data directory."""

    def load(self) -> list[Topic]:
        return []

    def save(self, topic: Topic) -> None:
        """The catalog itself is all there is."""

    def remove(self, topic: Topic) -> None:
        """The catalog itself is all there is."""


class TopicCatalog:
    """All topics, by name and by id. One change at a time."""

    def __init__(self, store: TopicStore) -> None:
        self._store = store
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._changing = asyncio.Lock()

    def load(self) -> None:
        for topic in self._store.load():
            self._put(topic)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self._by_id.get(topic_id)

    # What drumbeat.core asks about topics (its TopicsView).

    def partition_count(self, topic: str) -> int | None:
        found = self._by_name.get(topic)
        return found.partition_count if found else None

    def topic_name(self, topic_id: bytes) -> str | None:
        found = self._by_id.get(topic_id)
        return found.name if found else None

    def topic_id(self, topic: str) -> bytes:
        found = self._by_name.get(topic)
        return found.topic_id if found else bytes(16)

    async def create(self, topic: Topic) -> bool:
        """False if the name was taken meanwhile."""
        async with self._changing:
            if topic.name in self._by_name:
                return False
            await asyncio.to_thread(self._store.save, topic)
            self._put(topic)
            return True

    async def replace(self, topic: Topic) -> None:
        """A change of partition count or configs."""
        async with self._changing:
            await asyncio.to_thread(self._store.save, topic)
            self._put(topic)

    async def delete(self, topic: Topic) -> None:
        async with self._changing:
            await asyncio.to_thread(self._store.remove, topic)
            self._by_name.pop(topic.name, None)
            self._by_id.pop(topic.topic_id, None)

    def _put(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
