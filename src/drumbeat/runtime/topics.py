"""The topics of the cluster: names, ids, partition counts, configs. Durable before visible."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from drumbeat.runtime.durably import durably

CONSUMER_OFFSETS = "__consumer_offsets"
GROUP_EVENTS = "__group_events"
METADATA_TOPIC = "__cluster_metadata"  # Kafka's own, which is in its data directories
INTERNAL_TOPICS = frozenset(
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


Refused = TypeVar("Refused")
RemoveLogs = Callable[[Topic], Awaitable[None]]


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
        self._half_deleted: list[Topic] = []
        self._changing = asyncio.Lock()

    def load(self) -> None:
        for topic in self._store.load():
            if topic.is_deleted:
                self._half_deleted.append(topic)
            else:
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
            await durably(self._store.save, topic)
            self._put(topic)
            return True

    async def change(
        self, name: str, change: Callable[[Topic | None], Topic | Refused]
    ) -> Topic | Refused:
        """Have `change` look at the topic as it is now; a topic it returns takes its place.

        Returns what `change` does. Changes that look at a topic before they are let in would
        undo each other.
        """
        async with self._changing:
            current = self._by_name.get(name)
            decided = change(current)
            if isinstance(decided, Topic) and decided is not current:
                await durably(self._store.save, decided)
                self._put(decided)
            return decided

    async def delete(self, topic: Topic, remove_logs: RemoveLogs) -> bool:
        """Gone at once for everybody; the name is free when the logs are gone too.

        False if it was deleted meanwhile.
        """
        async with self._changing:
            if self._by_id.get(topic.topic_id) is None:
                return False
            topic = self._by_name[topic.name]._replace(is_deleted=True)
            await durably(self._store.save, topic)
            del self._by_name[topic.name]
            del self._by_id[topic.topic_id]
            await self._finish_deletion(topic, remove_logs)
            return True

    async def finish_deletions(self, remove_logs: RemoveLogs) -> list[Topic]:
        """Finish what a crash cut short; returns the topics that are gone for good now."""
        finished, self._half_deleted = self._half_deleted, []
        for topic in finished:
            await self._finish_deletion(topic, remove_logs)
        return finished

    async def _finish_deletion(self, topic: Topic, remove_logs: RemoveLogs) -> None:
        await remove_logs(topic)
        await durably(self._store.remove, topic)

    def _put(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
