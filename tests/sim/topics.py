"""What clients know of the topics they read: as from Metadata, without the asking."""

from drumbeat.protocol.schema import NULL_UUID
from drumbeat.runtime.topics import Topic
from sim.disk import TopicFolder

TopicPartition = tuple[str, int]


class TopicDirectory:
    """What is on disk is what there is. Ids of topics that are gone are remembered for ever."""

    def __init__(self, folder: TopicFolder) -> None:
        self._folder = folder

    @property
    def names(self) -> dict[bytes, str]:
        """Of all topics that there ever were, by id."""
        return self._folder.names

    @property
    def deleted_ids(self) -> set[bytes]:
        kept = {topic.topic_id for topic in self._folder.load() if not topic.is_deleted}
        return self.names.keys() - kept

    @property
    def deleted_names(self) -> set[str]:
        return {self.names[topic_id] for topic_id in self.deleted_ids}

    def get(self, name: str) -> Topic | None:
        topic = self._folder.get(name)
        return None if topic is None or topic.is_deleted else topic

    def topic_id(self, name: str) -> bytes:
        topic = self.get(name)
        return NULL_UUID if topic is None else topic.topic_id

    def all_partitions(self) -> list[TopicPartition]:
        return self.partitions(tuple(topic.name for topic in self._folder.load()))

    def partitions(self, topics: tuple[str, ...]) -> list[TopicPartition]:
        """Of those topics that exist; internal ones are nobody's business."""
        return [
            (topic.name, partition)
            for name in sorted(topics)
            if (topic := self.get(name)) is not None and not topic.is_internal
            for partition in range(topic.partition_count)
        ]
