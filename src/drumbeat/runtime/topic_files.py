"""Topics in a data directory: `topics/<name>.json`, one small file each, replaced atomically.

Partition folders found without such a file (copied from Apache Kafka, whose topics live in its
metadata log) become topics too, with the id that their `partition.metadata` names. That metadata
log itself does not: to Kafka's clients it is no topic, and nobody but Kafka may write to it.
"""

import json
import logging
import os
from collections import defaultdict
from types import MappingProxyType

from drumbeat.log.files import (
    Disk,
    make_directory,
    read_file,
    sync_directory,
    write_file,
)
from drumbeat.log.names import check_topic
from drumbeat.log.port import LogStore, TopicPartition
from drumbeat.runtime.data_files import DataFileError
from drumbeat.runtime.entropy import new_topic_id, uuid_bytes, uuid_text
from drumbeat.runtime.topics import METADATA_TOPIC, Topic

log = logging.getLogger(__name__)

FOLDER = "topics"
SUFFIX = ".json"
UNFINISHED = "unfinished"  # a longest topic name leaves no room for one more suffix


class TopicFileError(DataFileError):
    """A topic's file cannot be read."""


class FileTopicStore:
    def __init__(self, data_dir: str, logs: LogStore) -> None:
        self._folder = os.path.join(data_dir, FOLDER)
        self._logs = logs
        self._disk = Disk()

    def load(self) -> list[Topic]:
        make_directory(self._folder)
        topics = {topic.name: topic for topic in map(self._read, self._names())}
        on_disk = self._partitions_on_disk()
        if on_disk.pop(METADATA_TOPIC, None):
            log.warning("%s: Kafka's own log of its cluster; left alone", METADATA_TOPIC)
        for name, partitions in on_disk.items():
            if name not in topics and (adopted := self._adopt(name, partitions)) is not None:
                topics[name] = adopted
        return list(topics.values())

    def save(self, topic: Topic) -> None:
        text = json.dumps(
            {
                "topic_id": uuid_text(topic.topic_id),
                "partitions": topic.partition_count,
                "replication_factor": topic.replication_factor,
                "configs": dict(topic.configs),
                "is_deleted": topic.is_deleted,
            },
            indent=1,
        )
        unfinished = os.path.join(self._folder, UNFINISHED)
        write_file(self._disk, unfinished, text.encode())
        os.rename(unfinished, self._path(topic.name))
        sync_directory(self._folder)

    def remove(self, topic: Topic) -> None:
        path = self._path(topic.name)
        if os.path.exists(path):
            os.unlink(path)
            sync_directory(self._folder)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, check_topic(name) + SUFFIX)

    def _names(self) -> list[str]:
        files = sorted(os.listdir(self._folder))
        names = [file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX)]
        return [name for name in names if name != METADATA_TOPIC]

    def _read(self, name: str) -> Topic:
        path = os.path.join(self._folder, name + SUFFIX)
        try:
            check_topic(name)
            told = json.loads(read_file(path) or b"")
            return Topic(
                name=name,
                topic_id=uuid_bytes(told["topic_id"]),
                partition_count=int(told["partitions"]),
                replication_factor=int(told["replication_factor"]),
                configs=MappingProxyType({str(k): str(v) for k, v in told["configs"].items()}),
                is_deleted=bool(told.get("is_deleted")),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise TopicFileError(
                f"{path}: not a topic description ({problem}); restore it from a backup, or move "
                f"it away to have the topic described anew from its partition folders"
            ) from problem

    def _partitions_on_disk(self) -> dict[str, list[TopicPartition]]:
        found: dict[str, list[TopicPartition]] = defaultdict(list)
        for topic_partition in self._logs.partitions():
            found[topic_partition.topic].append(topic_partition)
        return found

    def _adopt(self, name: str, partitions: list[TopicPartition]) -> Topic | None:
        """None if its id may be in a folder that cannot be read: another would not fit later."""
        try:
            ids = {text for p in partitions if (text := self._logs.topic_id(p)) is not None}
        except PermissionError as problem:
            log.warning("topic %s: %s; left alone until its folders can be read", name, problem)
            return None
        topic = Topic(
            name=name,
            topic_id=uuid_bytes(ids.pop()) if ids else new_topic_id(),
            partition_count=max(p.partition for p in partitions) + 1,
            replication_factor=1,
        )
        self.save(topic)
        return topic
