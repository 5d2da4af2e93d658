"""The two brokers that are asked the same questions, with the same settings."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import (
    create_topics,
    describe_configs,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    metadata,
    offset_fetch,
)
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.apis.join_group import API as JOIN_GROUP
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import partition_for
from drumbeat.runtime.config import load_config
from drumbeat.runtime.coordinator.group_coordinator import GroupCoordinator
from drumbeat.runtime.coordinator.shard import Environment, Shard
from drumbeat.runtime.entropy import new_member_uuid
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Request
from drumbeat.server.node import Node, file_storage
from interop.kafka_jars import start_kafka
from interop.oracle.connection import Call, Client
from interop.oracle.vocabulary import SHARED_TOPICS, Topic

T = TypeVar("T")

OFFSETS_PARTITIONS = 4
SETTINGS = {
    "node.id": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.max.size": "3",
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
}
# How quickly the metadata log is written is nobody's business but Kafka's.
KAFKA_SETTINGS = SETTINGS | {"controller.quorum.append.linger.ms": "0"}

HOUSEKEEPER = "housekeeper"  # the client id of requests that are no part of a sequence
BARRIER_TOPIC = "barrier"
FIRST_CHANGE = 1_000_000
TOPIC_RESOURCE = 2
ARRIVAL_TIMEOUT_S = 5.0
POLL_S = 0.002


class Kafka:
    name = "Apache Kafka"
    epochs_per_restart = 2  # the partition is without a leader in between

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._process = ExitStack()
        self._barrier = Barrier()
        self.port = 0
        self.topic_ids: dict[Topic, bytes] = {}

    async def start(self) -> None:
        servers = await asyncio.to_thread(
            self._process.enter_context, start_kafka(self._data_dir, KAFKA_SETTINGS)
        )
        self.port = int(servers.rsplit(":", 1)[1])

    async def stop(self) -> None:
        await asyncio.to_thread(self._process.close)

    async def set_up(self) -> None:
        self.topic_ids = await _with_client(self.port, _create_shared_topics)
        await self.catch_up()

    async def await_loaded(self) -> None:
        """Return when every group can be asked about again."""
        await _with_client(self.port, _await_coordinators)

    async def catch_up(self) -> None:
        """Return when the broker has carried out all that its controller had accepted."""
        await self._barrier.cross(self.port)


class Barrier:
    """Metadata changes reach a broker one after the other, each a little after its answer.

    Once a change is visible, so are all before it; and once the next one is visible, the broker
    has finished what it does about the one before. Whoever waits shares the next round.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._rounds = 0

    async def cross(self, port: int) -> None:
        rounds_begun = self._rounds
        async with self._lock:
            if self._rounds > rounds_begun:
                return
            self._rounds += 1
            await _with_client(port, self._pass)

    async def _pass(self, client: Client) -> None:
        for change in (2 * self._rounds, 2 * self._rounds + 1):
            await self._see_change(client, str(FIRST_CHANGE + change))

    async def _see_change(self, client: Client, value: str) -> None:
        change = IncrementalAlterConfigsRequest(
            (
                AlterConfigsResource(
                    TOPIC_RESOURCE, BARRIER_TOPIC, (AlterableConfig("retention.ms", 0, value),)
                ),
            )
        )
        await client.call(HOUSEKEEPER, incremental_alter_configs.API, 1, change)
        question = DescribeConfigsRequest(
            (DescribeConfigsResource(TOPIC_RESOURCE, BARRIER_TOPIC, ("retention.ms",)),)
        )
        while True:
            answer = await client.call(HOUSEKEEPER, describe_configs.API, 4, question)
            if any(config.value == value for result in answer.results for config in result.configs):
                return
            await asyncio.sleep(POLL_S)


class Drumbeat:
    name = "Drumbeat"
    epochs_per_restart = 1

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._node: Node | None = None
        self._ids = ReplayedIds()
        self.port = 0
        self.topic_ids: dict[Topic, bytes] = {}

    async def start(self) -> None:
        options = {"port": "0", "log.dirs": str(self._data_dir)}
        config = load_config(None, [f"{k}={v}" for k, v in SETTINGS.items()], options).config
        node = self._node = Node(config, await file_storage(config))
        node.broker.groups = GroupCoordinator(node.broker, self._new_shard)
        await node.start()
        self.port = node.broker.advertised.port

    async def stop(self) -> None:
        if self._node is not None:
            await self._node.stop()
            self._node = None

    async def set_up(self) -> None:
        self.topic_ids = await _with_client(self.port, _create_shared_topics)

    async def await_loaded(self) -> None:
        await _with_client(self.port, _await_coordinators)

    async def catch_up(self) -> None:
        """It has, when it answers."""

    async def join(
        self, client: Client, client_id: str, version: int, body: JoinGroupRequest, uuid: str | None
    ) -> Call:
        """JoinGroup; a new member's id will end with `uuid`."""
        return await self._ids.join(client, client_id, version, body, uuid)

    def _new_shard(self, index: int, partition: Partition, environment: Environment) -> Shard:
        environment = environment._replace(new_id=self._ids.draw)
        return ObservedShard(index, partition, environment, self._ids)


class ReplayedIds:
    """Gives members the ids that Kafka has given them.

    Leaders are elected, and members listed, in the order of a hash table of their ids. With the
    same ids on both sides that order can be compared like everything else.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._uuid: str | None = None
        self._arrived: asyncio.Future[None] | None = None

    async def join(
        self, client: Client, client_id: str, version: int, body: JoinGroupRequest, uuid: str | None
    ) -> Call:
        async with self._lock:
            self._uuid = uuid
            self._arrived = asyncio.get_running_loop().create_future()
            call = await client.begin(client_id, JOIN_GROUP, version, body)
            # A request that is refused early comes to no shard.
            await asyncio.wait(
                [self._arrived, call.result],
                timeout=ARRIVAL_TIMEOUT_S,
                return_when=asyncio.FIRST_COMPLETED,
            )
            return call

    def draw(self) -> str:
        return self._uuid or new_member_uuid()

    def note_arrival(self) -> None:
        """The JoinGroup has had its turn; whether it is answered yet or not."""
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


class ObservedShard(Shard):
    """Tells when a JoinGroup has had its turn: it may be parked, and then nobody else does."""

    def __init__(
        self, index: int, partition: Partition, environment: Environment, ids: ReplayedIds
    ) -> None:
        super().__init__(index, partition, environment)
        self._ids = ids

    def submit(self, request: Request, body: Any) -> Any:
        answer = super().submit(request, body)
        if request.api_key == JOIN_GROUP.key:
            self._ids.note_arrival()
        return answer


async def _with_client(port: int, use: Callable[[Client], Awaitable[T]]) -> T:
    client = Client("127.0.0.1", port)
    try:
        return await use(client)
    finally:
        client.close()


async def _create_shared_topics(client: Client) -> dict[Topic, bytes]:
    await _create(client, CreatableTopic(BARRIER_TOPIC, 1, 1))
    created = {
        topic: await _create(client, CreatableTopic(name, partitions, 1))
        for topic, (name, partitions) in SHARED_TOPICS.items()
    }
    await _await_coordinators(client)
    asked = (MetadataRequestTopic(name="__consumer_offsets"),)
    answer = await client.call(HOUSEKEEPER, metadata.API, 12, MetadataRequest(asked))
    return {**created, Topic.INTERNAL: answer.topics[0].topic_id}


async def _await_coordinators(client: Client) -> None:
    """Return when every partition of the offsets topic is loaded, and producers get their ids."""
    producer = InitProducerIdRequest(transactional_id=None)
    await client.call_until_ok(HOUSEKEEPER, init_producer_id.API, 4, producer)
    groups = (f"group-{number}" for number in count())
    missing = set(range(OFFSETS_PARTITIONS))
    while missing:
        group_id = next(groups)
        missing.discard(partition_for(group_id, OFFSETS_PARTITIONS))
        for api, version, body in (
            (find_coordinator.API, 3, FindCoordinatorRequest(group_id)),
            (offset_fetch.API, 7, OffsetFetchRequest(group_id)),
        ):
            await client.call_until_ok(HOUSEKEEPER, api, version, body)


async def _create(client: Client, topic: CreatableTopic) -> bytes:
    api: Api = create_topics.API
    answer = await client.call(HOUSEKEEPER, api, 7, CreateTopicsRequest((topic,)))
    (created,) = answer.topics
    assert created.error_code == ErrorCode.NONE, created
    topic_id: bytes = created.topic_id
    return topic_id
