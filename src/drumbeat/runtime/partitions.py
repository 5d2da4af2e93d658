"""The partitions this node has open. Each is acquired when it is first used."""

import asyncio
import logging

from drumbeat.log.errors import LogError
from drumbeat.log.port import LogSettings, LogStore, TopicPartition
from drumbeat.runtime.config import BrokerConfig, TopicConfig, topic_config
from drumbeat.runtime.entropy import uuid_text
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.topics import CONSUMER_OFFSETS, Topic

log = logging.getLogger(__name__)


class Partitions:
    def __init__(self, store: LogStore, config: BrokerConfig) -> None:
        self._store = store
        self._config = config
        self._open: dict[tuple[str, int], Partition] = {}
        self._opening: dict[tuple[str, int], asyncio.Task[Partition]] = {}
        self._failed: dict[tuple[str, int], LogError] = {}

    def get(self, topic: str, partition: int) -> Partition | None:
        return self._open.get((topic, partition))

    def opened(self) -> list[tuple[tuple[str, int], Partition]]:
        return list(self._open.items())

    def failure(self, topic: str, partition: int) -> LogError | None:
        """Why this partition could not be opened, if it could not."""
        return self._failed.get((topic, partition))

    async def open(self, topic: Topic, partition: int) -> Partition | None:
        """The partition, acquired if need be; None if it cannot be opened (see `failure`)."""
        key = (topic.name, partition)
        if key in self._open:
            return self._open[key]
        if key in self._failed:
            return None
        if key not in self._opening:
            self._opening[key] = asyncio.create_task(self._acquire(topic, partition))
        try:
            return await asyncio.shield(self._opening[key])
        except LogError:
            return None

    async def _acquire(self, topic: Topic, partition: int) -> Partition:
        key = (topic.name, partition)
        config = topic_config(topic.configs, self._config)
        settings = log_settings(topic.name, config, self._config)
        try:
            acquired = await self._store.acquire(
                TopicPartition(*key), settings, topic_id=uuid_text(topic.topic_id)
            )
            opened = await asyncio.to_thread(Partition, acquired, config)
        except LogError as problem:
            log.critical("%s-%d cannot be opened: %s", *key, problem)
            self._failed[key] = problem
            raise
        finally:
            del self._opening[key]
        for note in acquired.notes:
            log.warning("%s-%d: %s", *key, note)
        self._open[key] = opened
        return opened

    def configure(self, topic: Topic, broker_config: BrokerConfig) -> None:
        """Have the topic's new configs take effect."""
        self._config = broker_config
        config = topic_config(topic.configs, broker_config)
        for index in range(topic.partition_count):
            if (partition := self.get(topic.name, index)) is not None:
                partition.config = config
                partition.log.configure(log_settings(topic.name, config, broker_config))

    async def delete(self, topic: Topic) -> None:
        for index in range(topic.partition_count):
            key = (topic.name, index)
            if key in self._opening:
                await self.open(topic, index)
            self._open.pop(key, None)
            self._failed.pop(key, None)
            await self._store.delete(TopicPartition(*key))


def log_settings(topic: str, config: TopicConfig, broker_config: BrokerConfig) -> LogSettings:
    segment_ms = config.segment_ms
    if config.is_compacted:  # only closed segments are compacted
        segment_ms = min(segment_ms, config.max_compaction_lag_ms)
    # Committed offsets are the one topic whose past is worth keeping: the pipeline reads it.
    is_offsets = topic == CONSUMER_OFFSETS
    return LogSettings(
        segment_bytes=config.segment_bytes,
        segment_ms=segment_ms,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        retention_ms=config.retention_ms if config.is_deleted else -1,
        retention_bytes=config.retention_bytes if config.is_deleted else -1,
        batch_bytes_max=config.max_message_bytes,
        is_compacted=config.is_compacted,
        delete_retention_ms=config.delete_retention_ms,
        min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        max_compaction_lag_ms=config.max_compaction_lag_ms,
        producer_id_expiration_ms=broker_config.producer_id_expiration_ms,
        history_retention_ms=broker_config.offsets_history_retention_ms if is_offsets else 0,
    )
