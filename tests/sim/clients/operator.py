"""Who creates topics, lets them grow, and deletes them."""

from drumbeat.protocol.apis.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from sim.clients.client import Client
from sim.network import Lost


class Operator(Client):
    async def ensure(self, name: str, partition_count: int) -> None:
        """Create the topic, unless it is there, and do not give up."""
        while self.around.topics.get(name) is None:
            try:
                await self.create(name, partition_count)
            except Lost:
                await self.back_off()

    async def create(self, name: str, partition_count: int) -> None:
        await self.call(CreateTopicsRequest((CreatableTopic(name, partition_count, 1),)))

    async def grow(self, name: str) -> None:
        """One more partition."""
        topic = self.around.topics.get(name)
        if topic is not None:
            wanted = CreatePartitionsTopic(name, topic.partition_count + 1, None)
            await self.call(CreatePartitionsRequest((wanted,), 10_000))

    async def delete(self, name: str) -> None:
        await self.call(DeleteTopicsRequest((DeleteTopicState(name),), timeout_ms=10_000))
