"""Clients that are in no group: simple committers, and administrators."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random

from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.describe_groups import DescribeGroupsRequest
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
from drumbeat.protocol.apis.offset_commit import OffsetCommitRequest
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from sim.clients.client import Client, Surroundings
from sim.clients.member import leave_request
from sim.messages import Committer
from sim.network import Lost
from sim.topics import TopicPartition

LONG_TEXT = "m" * 5_000  # more than offset.metadata.max.bytes
RETENTION_TIME_UNTIL = 4  # the last version of OffsetCommit that has one


class Outsider(Client):
    """Does one thing after the other, for ever, whatever comes of it."""

    def __init__(
        self,
        name: str,
        rng: Random,
        around: Surroundings,
        versions: Mapping[int, int],
        group_ids: tuple[str, ...],
    ) -> None:
        super().__init__(name, rng, around, versions)
        self.group_ids = group_ids
        self.pause_s = (0.1, 2.0)

    async def run(self) -> None:
        deeds = self.deeds()
        while True:
            await asyncio.sleep(self.rng.uniform(*self.pause_s))
            group_id = self.rng.choice(self.group_ids)
            [deed] = self.rng.choices(list(deeds), list(deeds.values()))
            try:
                await deed(group_id)
            except Lost:
                await self.back_off()

    def deeds(self) -> dict[Callable[[str], Awaitable[object]], float]:
        """What it does, and how often compared to the rest."""
        return {self.commit_some: 3, self.fetch_some: 2, self.fetch_all: 1, self.do_both: 1}

    def some_partitions(self) -> list[TopicPartition]:
        known = self.around.topics.all_partitions() or [("gone", 0)]
        return sorted(self.rng.sample(known, min(len(known), self.rng.randint(1, 3))))

    async def commit_some(self, group_id: str) -> None:
        """A consumer that assigns its partitions itself, or somebody who resets offsets."""
        retention_ms = self.rng.choice((-1, 5_000)) if self._has_retention else -1
        who = Committer(group_id, retention_time_ms=retention_ms)
        padding = LONG_TEXT if self.rng.random() < 0.05 else ""
        await self.commit(who, self.some_partitions(), padding)

    @property
    def _has_retention(self) -> bool:
        return self.version_of(OffsetCommitRequest) <= RETENTION_TIME_UNTIL

    async def fetch_some(self, group_id: str) -> None:
        await self.fetch(group_id, self.some_partitions())

    async def do_both(self, group_id: str) -> None:
        """Without waiting for the first answer: they come in the order of the requests."""
        await asyncio.gather(
            self.commit_some(group_id), self.fetch_all(group_id), return_exceptions=True
        )

    async def fetch_all(self, group_id: str) -> None:
        await self.fetch(group_id, None)


class Administrator(Outsider):
    def deeds(self) -> dict[Callable[[str], Awaitable[object]], float]:
        return {
            self.fetch_some: 4,
            self.fetch_all: 1,
            self.commit_some: 2,
            self.do_both: 1,
            self.describe: 3,
            self.list: 1,
            self.find: 1,
            self.delete_group: 1,
            self.delete_offsets: 2,
            self.remove_static: 1,
        }

    async def describe(self, group_id: str) -> None:
        await self.call(DescribeGroupsRequest((group_id,)))

    async def list(self, _group_id: str) -> None:
        await self.call(ListGroupsRequest())

    async def find(self, group_id: str) -> None:
        await self.call(FindCoordinatorRequest(group_id, coordinator_keys=(group_id,)))

    async def delete_group(self, group_id: str) -> None:
        await self.call(DeleteGroupsRequest((group_id,)))

    async def delete_offsets(self, group_id: str) -> None:
        topics = tuple(
            OffsetDeleteRequestTopic(topic, (OffsetDeleteRequestPartition(partition),))
            for topic, partition in self.some_partitions()
        )
        await self.call(OffsetDeleteRequest(group_id, topics))

    async def remove_static(self, group_id: str) -> None:
        """By instance id alone, as kafka-consumer-groups does it."""
        instance_id = f"{group_id}-i{self.rng.randint(0, 2)}"
        await self.call(leave_request(group_id, "", instance_id))
