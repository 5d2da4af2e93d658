"""What every client has: a connection that it renews, patience that ends, and a history."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from drumbeat.protocol.apis import offset_commit, offset_fetch
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.clock import Clock
from sim.history import API_OF_REQUEST, History, Operation
from sim.messages import ALL_TOPICS_SINCE, Committer, Position, commit_request, fetch_request
from sim.network import Channel, Lost, Network
from sim.node import Node
from sim.topics import TopicDirectory, TopicPartition
from sim.watch import Verdict

REQUEST_TIMEOUT_MS = 5_000

# Somebody else, or nobody, is the coordinator at the moment: ask again.
RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What clients live in."""

    network: Network
    node: Node
    history: History
    topics: TopicDirectory
    clock: Clock
    verdict: Verdict


class Client:
    """`versions` are what it speaks of each API, by key; else the newest."""

    def __init__(
        self, name: str, rng: Random, around: Surroundings, versions: Mapping[int, int]
    ) -> None:
        self.name = name
        self.rng = rng
        self.around = around
        self.versions = versions
        self._channel: Channel | None = None

    async def call(self, request: Any, timeout_ms: int = REQUEST_TIMEOUT_MS) -> Operation:
        """One request and its answer. Raises Lost if there is none in time."""
        around = self.around
        channel = await self._connected()
        version = self.version_of(type(request))
        now_ms = around.clock.monotonic_ms()
        operation = around.history.invoke(self.name, request, version, now_ms)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await channel.send(operation)
        except TimeoutError:
            channel.close()
            raise Lost("no answer in time") from None
        operation.returned = around.history.now()
        return operation

    def version_of(self, request_type: type[Any]) -> int:
        api = API_OF_REQUEST[request_type]
        return self.versions.get(api.key, api.versions[-1])

    async def _connected(self) -> Channel:
        if self._channel is None or not self._channel.is_open:
            self._channel = await self.around.network.connect(self.name, self.around.node)
        return self._channel

    def disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()

    async def back_off(self) -> None:
        await asyncio.sleep(self.rng.uniform(0.05, 0.5))

    # -- offsets ---------------------------------------------------------------------------------

    async def commit(
        self, who: Committer, partitions: list[TopicPartition], padding: str = ""
    ) -> Operation:
        """Offsets and texts that nobody has committed before, so that each can be recognised."""
        around = self.around
        number = around.history.token()
        positions = {
            tp: Position(
                offset=number * 100 + place, leader_epoch=place, metadata=f"c{number}{padding}"
            )
            for place, tp in enumerate(partitions)
        }
        version = self.version_of(offset_commit.API.request)
        return await self.call(commit_request(version, who, positions, around.topics))

    async def fetch(self, group_id: str, partitions: list[TopicPartition] | None) -> Operation:
        """None asks for all; whom its version does not let asks for each."""
        version = self.version_of(offset_fetch.API.request)
        if partitions is None and version < ALL_TOPICS_SINCE:
            partitions = self.around.topics.all_partitions()
        return await self.call(fetch_request(version, group_id, partitions, self.around.topics))
