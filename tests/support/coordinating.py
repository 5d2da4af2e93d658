"""A broker without a listener, for what its group coordinator does with a log of one's own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from drumbeat.log.port import LogStore, PartitionLog, TopicPartition
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import offset_commit, offset_fetch
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.clock import SystemClock
from drumbeat.runtime.config import load_config
from drumbeat.runtime.coordinator.group_coordinator import GroupCoordinator, NewShard
from drumbeat.runtime.coordinator.shard import Shard
from drumbeat.runtime.requests import Deferred, Request
from drumbeat.runtime.tasks import answer_of
from drumbeat.runtime.topic_changes import create_automatically
from drumbeat.runtime.topics import CONSUMER_OFFSETS
from drumbeat.server.node import memory_storage

PARTITION = TopicPartition(CONSUMER_OFFSETS, 0)
GROUP, TOPIC = "g", "t1"


@asynccontextmanager
async def broker_on(store: LogStore, new_shard: NewShard = Shard) -> AsyncIterator[Broker]:
    """One partition of committed offsets, which begins to load, and a topic to commit to."""
    config = load_config(None, ["offsets.topic.num.partitions=1"], {"port": "0"}).config
    broker = Broker(config, memory_storage(config)._replace(logs=store), SystemClock())
    broker.groups = GroupCoordinator(broker, new_shard)
    broker.catalog.load()
    await create_automatically(broker, CONSUMER_OFFSETS)
    await create_automatically(broker, TOPIC)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


async def loaded(broker: Broker) -> None:
    await asyncio.gather(*broker.groups.elections._loads)


async def write(log: PartitionLog, *batches: bytes) -> None:
    for data in batches:
        log.append(data, expected=log.end_offset)
    await log.sync()


async def fetch(broker: Broker) -> tuple[str, int | None]:
    """Error code and committed offset of t1-0, as the node answers at this moment."""
    topic = OffsetFetchRequestTopics(TOPIC, partition_indexes=(0,))
    body = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(GROUP, topics=(topic,)),))
    (group,) = (await submit(broker, offset_fetch.API, body)).groups
    if group.error_code:
        return ErrorCode(group.error_code).name, None
    return "NONE", group.topics[0].partitions[0].committed_offset


async def commit_offset(broker: Broker, offset: int) -> str:
    """Commit t1-0 from outside the group; the error code, once there is an answer."""
    partition = OffsetCommitRequestPartition(0, offset)
    topic = OffsetCommitRequestTopic(TOPIC, partitions=(partition,))
    answer = await submit(broker, offset_commit.API, OffsetCommitRequest(GROUP, topics=(topic,)))
    return ErrorCode(answer.topics[0].partitions[0].error_code).name


async def submit(broker: Broker, api: Api, body: Any, api_version: int = 8) -> Any:
    request = Request(api.key, api_version, "client", "127.0.0.1")
    answer = broker.groups.submit(request, body, GROUP)
    return await answer_of(answer) if isinstance(answer, Deferred) else answer
