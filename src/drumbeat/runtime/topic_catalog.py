"""The changes of topics: one at a time, durable before anybody sees them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from drumbeat.runtime.durably import durably
from drumbeat.runtime.topics import Topic, Topics

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
    """Changes `topics`, which is what everybody else looks at."""

    def __init__(self, store: TopicStore) -> None:
        self.topics = Topics()
        self._store = store
        self._half_deleted: list[Topic] = []
        self._changing = asyncio.Lock()

    def load(self) -> None:
        for topic in self._store.load():
            if topic.is_deleted:
                self._half_deleted.append(topic)
            else:
                self.topics.put(topic)

    async def create(self, topic: Topic) -> bool:
        """False if the name was taken meanwhile."""
        async with self._changing:
            if self.topics.get(topic.name) is not None:
                return False
            await durably(self._store.save, topic)
            self.topics.put(topic)
            return True

    async def change(
        self, name: str, change: Callable[[Topic | None], Topic | Refused]
    ) -> Topic | Refused:
        """Have `change` look at the topic as it is now; a topic it returns takes its place.

        Returns what `change` does. Changes that look at a topic before they are let in would
        undo each other.
        """
        async with self._changing:
            current = self.topics.get(name)
            decided = change(current)
            if isinstance(decided, Topic) and decided is not current:
                await durably(self._store.save, decided)
                self.topics.put(decided)
            return decided

    async def delete(self, topic: Topic, remove_logs: RemoveLogs) -> bool:
        """Gone at once for everybody; the name is free when the logs are gone too.

        False if it was deleted meanwhile.
        """
        async with self._changing:
            current = self.topics.by_id(topic.topic_id)
            if current is None:
                return False
            topic = current._replace(is_deleted=True)
            await durably(self._store.save, topic)
            self.topics.remove(topic)
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
