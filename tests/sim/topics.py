"""The topics that clients read: who creates and deletes them, and what everybody knows of them."""

from random import Random

from sim.disk import TopicFolder
from sim.node import Node

from drumbeat.runtime.topic_changes import delete_topic
from drumbeat.runtime.topics import Topic

TopicPartition = tuple[str, int]


class TopicDirectory:
    """What clients know from Metadata, without the asking. Ids are remembered for ever."""

    def __init__(self, rng: Random, folder: TopicFolder) -> None:
        self._rng = rng
        self._folder = folder
        self.names: dict[bytes, str] = {}  # by id, also of topics that are gone

    def __contains__(self, name: str) -> bool:
        return self._folder.get(name) is not None

    @property
    def deleted_ids(self) -> set[bytes]:
        return self.names.keys() - {topic.topic_id for topic in self._folder.load()}

    def topic_id(self, name: str) -> bytes:
        topic = self._folder.get(name)
        return bytes(16) if topic is None else topic.topic_id

    def all_partitions(self) -> list[TopicPartition]:
        return self.partitions(tuple(set(self.names.values())))

    def partitions(self, topics: tuple[str, ...]) -> list[TopicPartition]:
        return [
            (topic.name, partition)
            for name in sorted(topics)
            if (topic := self._folder.get(name)) is not None
            for partition in range(topic.partition_count)
        ]

    async def create(self, node: Node, name: str, partition_count: int) -> None:
        topic = Topic(name, self._rng.randbytes(16), partition_count, 1)
        self.names[topic.topic_id] = name
        await node.run(lambda broker: broker.topics.create(topic))

    async def grow(self, node: Node, name: str) -> None:
        """One more partition."""
        topic = self._folder.get(name)
        if topic is not None:
            grown = topic._replace(partition_count=topic.partition_count + 1)
            await node.run(lambda broker: broker.topics.replace(grown))

    async def delete(self, node: Node, name: str) -> None:
        topic = self._folder.get(name)
        if topic is not None:
            await node.run(lambda broker: delete_topic(broker, topic))
