"""The topics that clients read: who creates and deletes them, and what everybody knows of them."""

from random import Random

from sim.node import Node

from drumbeat.runtime.topic_changes import delete_topic
from drumbeat.runtime.topics import Topic

TopicPartition = tuple[str, int]


class TopicDirectory:
    """What clients know from Metadata, without the asking. Ids are remembered for ever."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.partition_counts: dict[str, int] = {}
        self.ids: dict[str, bytes] = {}
        self.names: dict[bytes, str] = {}  # also of topics that are gone
        self.deleted_ids: set[bytes] = set()

    def partitions(self, topics: tuple[str, ...]) -> list[TopicPartition]:
        return [
            (topic, partition)
            for topic in sorted(topics)
            for partition in range(self.partition_counts.get(topic, 0))
        ]

    async def create(self, node: Node, name: str, partition_count: int) -> None:
        assert node.broker is not None
        topic_id = self._rng.randbytes(16)
        await node.broker.topics.create(Topic(name, topic_id, partition_count, 1))
        self.names[topic_id] = name
        self.ids[name] = topic_id
        self.partition_counts[name] = partition_count

    async def grow(self, node: Node, name: str) -> None:
        """One more partition."""
        assert node.broker is not None
        topic = node.broker.topics.get(name)
        if topic is not None:
            grown = topic._replace(partition_count=topic.partition_count + 1)
            await node.broker.topics.replace(grown)
            self.partition_counts[name] = grown.partition_count

    async def delete(self, node: Node, name: str) -> None:
        assert node.broker is not None
        topic = node.broker.topics.get(name)
        if topic is None:
            return
        self.partition_counts.pop(name, None)
        self.ids.pop(name, None)
        self.deleted_ids.add(topic.topic_id)
        await delete_topic(node.broker, topic)
