"""A node inside the calling process, and what of it outlives a restart. Lives on one event loop."""

from __future__ import annotations

from drumbeat.runtime.broker import Storage
from drumbeat.runtime.config import BrokerConfig
from drumbeat.runtime.topics import Topic
from drumbeat.server.node import Node, file_storage, memory_storage
from drumbeat.testing.clock import MovableClock
from drumbeat.testing.interception import Interception
from drumbeat.testing.options import Options


class EmbeddedNode:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.clock = MovableClock()
        self.interception = Interception()
        self._config = options.broker_config()
        self._memory: Storage | None = None
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        if self._node is None:
            raise RuntimeError("the cluster is not running; use it in a with block, or start() it")
        return self._node

    async def start(self) -> None:
        node = Node(self._config, await self._storage(), self.clock)
        self.interception.attach(node.dispatcher)
        await node.start()
        self._node = node

    async def stop(self) -> None:
        if self._node is not None:
            node, self._node = self._node, None
            await node.stop()

    async def restart(self) -> None:
        """Stop and start with the same data on the same port."""
        self._config = self.options.broker_config(self.node.broker.advertised.port)
        await self.stop()
        await self.start()

    async def _storage(self) -> Storage:
        if self.options.data is not None:
            return await file_storage(self._config)
        if self._memory is None:
            self._memory = memory_storage(self._config)._replace(
                topics=KeptTopics(), configs=KeptConfigs()
            )
        return self._memory


class KeptTopics:
    """Topics in memory that are there again after a restart: a `TopicStore`."""

    def __init__(self) -> None:
        self._topics: dict[bytes, Topic] = {}

    def load(self) -> list[Topic]:
        return list(self._topics.values())

    def save(self, topic: Topic) -> None:
        self._topics[topic.topic_id] = topic

    def remove(self, topic: Topic) -> None:
        self._topics.pop(topic.topic_id, None)


class KeptConfigs:
    """Configs that were altered, in memory; see `runtime.dynamic_configs.DynamicConfigs`."""

    def __init__(self) -> None:
        self._altered: BrokerConfig | None = None

    def restore(self, config: BrokerConfig) -> BrokerConfig:
        return self._altered or config

    def save(self, config: BrokerConfig) -> None:
        self._altered = config
