"""One node: what its handlers work with, and the jobs that run beside them."""

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from drumbeat.log.errors import LogError
from drumbeat.log.port import LogStore
from drumbeat.runtime.cleaner import Cleaner
from drumbeat.runtime.clock import Clock
from drumbeat.runtime.config import BrokerConfig
from drumbeat.runtime.coordinator.group_coordinator import GroupCoordinator
from drumbeat.runtime.durably import durably
from drumbeat.runtime.dynamic_configs import DynamicConfigs
from drumbeat.runtime.identity import Identity
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.partitions import Partitions
from drumbeat.runtime.producer_ids import ProducerIds
from drumbeat.runtime.tasks import Tasks
from drumbeat.runtime.topic_catalog import TopicCatalog, TopicStore
from drumbeat.runtime.topic_changes import finish_deletions
from drumbeat.runtime.topics import Topic

if TYPE_CHECKING:
    from drumbeat.runtime.metrics.histogram import Histogram

log = logging.getLogger(__name__)

IN_MEMORY = "memory"  # the directory of a node that has none


class Advertised(NamedTuple):
    """The address that clients are told to use."""

    host: str
    port: int


class Storage(NamedTuple):
    """Everything that outlives the process."""

    logs: LogStore
    topics: TopicStore
    identity: Identity
    producer_ids: ProducerIds
    configs: DynamicConfigs
    directory: str  # as DescribeLogDirs names it
    sync_times: "Histogram | None" = None  # of its disk, if it has one and somebody asks


class Broker:
    def __init__(self, config: BrokerConfig, storage: Storage, clock: Clock) -> None:
        config = storage.configs.restore(config)
        self.config = config
        self.storage = storage
        self.clock = clock
        self.node_id = config.node_id
        self.cluster_id = storage.identity.cluster_id
        self.catalog = TopicCatalog(storage.topics)
        self.topics = self.catalog.topics
        self.partitions = Partitions(storage.logs, config)
        self.producer_ids = storage.producer_ids
        self.advertised = Advertised("127.0.0.1", 0)  # until the listener knows its port
        self.tasks = Tasks()
        self.configuring = asyncio.Lock()  # held while a change is decided and stored
        self.cleaner = Cleaner(self.partitions, clock, lambda: self.config)
        self.groups = GroupCoordinator(self)

    async def start(self) -> None:
        self.catalog.load()
        await self.groups.start()
        await finish_deletions(self)
        self.tasks.spawn(self._enforce_retention_for_ever())
        if self.config.log_cleaner_enable:
            self.tasks.spawn(self.cleaner.clean_for_ever())

    async def stop(self) -> None:
        """Leave everything on disk in order."""
        await self.groups.stop()
        await self.tasks.cancel()
        await self.storage.logs.close()

    async def configure(self, config: BrokerConfig) -> None:
        """Store a changed configuration and have it take effect."""
        await durably(self.storage.configs.save, config)
        self.config = config
        for topic in self.topics:
            self.partitions.configure(topic, config)

    # -- for handlers ----------------------------------------------------------------------------

    def find_topic(self, name: str, topic_id: bytes) -> Topic | None:
        """By name, or by id in the versions that have no name."""
        return self.topics.get(name) if name else self.topics.by_id(topic_id)

    async def open_partition(self, topic: Topic, partition: int) -> Partition | None:
        """None if it cannot be opened, and if the topic has been deleted meanwhile."""
        if self.topics.by_id(topic.topic_id) is None:
            return None
        return await self.partitions.open(topic, partition)

    # -- jobs ------------------------------------------------------------------------------------

    async def _enforce_retention_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self.config.log_retention_check_interval_ms / 1000)
            await self.enforce_retention()

    async def enforce_retention(self) -> None:
        now_ms = self.clock.now_ms()
        for (topic, index), partition in self.partitions.opened():
            partition.producers.expire(now_ms - self.config.producer_id_expiration_ms)
            try:
                removed = await partition.log.enforce_retention(now_ms)
            except LogError as problem:
                log.warning("%s-%d: retention failed: %s", topic, index, problem)
                continue
            if removed:
                fields = {"topic": topic, "partition": index, "segments": removed}
                message = "%s-%d: retention removed %d segments"
                log.info(message, *fields.values(), extra={"fields": fields})
