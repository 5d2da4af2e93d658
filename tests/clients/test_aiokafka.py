"""aiokafka: asyncio, request versions of long ago."""

import asyncio
from contextlib import asynccontextmanager, contextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError, OffsetOutOfRangeError

from clients.scenarios import (
    Consumed,
    Message,
    Scenarios,
    in_order,
    messages,
    new_topic,
    read,
)

pytestmark = pytest.mark.clients

TIMEOUT_MS = 30_000
ACKS = {"0": 0, "1": 1, "all": "all"}


class AioKafka:
    """Each call has an event loop of its own."""

    def __init__(self, bootstrap_servers):
        self.bootstrap_servers = bootstrap_servers

    def close(self):
        """Nothing is held open."""

    # -- admin -----------------------------------------------------------------------------------

    def create_topic(self, name, partitions, replication_factor, configs):
        topic = NewTopic(name, partitions, replication_factor, topic_configs=dict(configs))
        response = self.admin("create_topics", [topic])
        assert [error[1] for error in response.topic_errors] == [0]

    def delete_topic(self, name):
        self.admin("delete_topics", [name])

    def grow_topic(self, name, partitions):
        self.admin("create_partitions", {name: NewPartitions(partitions)})

    def topics(self):
        found = self.admin("describe_topics")
        return {topic["topic"]: len(topic["partitions"]) for topic in found}

    def nodes(self):
        found = self.admin("describe_cluster")["brokers"]
        return [(node["node_id"], f"{node['host']}:{node['port']}") for node in found]

    def topic_config(self, topic, key):
        asked = ConfigResource(ConfigResourceType.TOPIC, topic)
        ((response,),) = [answer.resources for answer in self.admin("describe_configs", [asked])]
        configs = {config[0]: config[1] for config in response[4]}
        return configs[key]

    def set_topic_config(self, topic, key, value):
        """This client only knows AlterConfigs, which replaces all that a topic has."""
        kept = {"segment.bytes": self.topic_config(topic, "segment.bytes")}
        changed = ConfigResource(ConfigResourceType.TOPIC, topic, kept | {key: value})
        ((error,),) = [answer.resources for answer in self.admin("alter_configs", [changed])]
        assert error[0] == 0

    def delete_records(self, topic, before):
        self.admin("delete_records", {TopicPartition(topic, 0): RecordsToDelete(before)})

    def admin(self, call, *arguments):
        async def run():
            admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
            await admin.start()
            try:
                return await getattr(admin, call)(*arguments)
            finally:
                await admin.close()

        return asyncio.run(run())

    # -- records ---------------------------------------------------------------------------------

    def produce(
        self, topic, messages, *, codec="none", acks="all", idempotent=False, partition=None
    ):
        async def run():
            async with AIOKafkaProducer(
                bootstrap_servers=self.bootstrap_servers,
                compression_type=None if codec == "none" else codec,
                acks=ACKS[acks],
                enable_idempotence=idempotent,
                linger_ms=5,
                max_batch_size=128 * 1024,
            ) as producer:
                sent = [
                    await producer.send(
                        topic,
                        message.value,
                        message.key,
                        partition=partition,
                        timestamp_ms=message.timestamp,
                        headers=list(message.headers),
                    )
                    for message in messages
                ]
                await asyncio.gather(*sent)

        asyncio.run(run())

    @contextmanager
    def reading(self, topic, starts, settings):
        options = {key.replace(".", "_"): value for key, value in settings.items()}
        assigned = {TopicPartition(topic, p): offset for p, offset in starts.items()}
        with asyncio.Runner() as runner:
            consumer = runner.run(self.started_consumer(**options))
            runner.run(_assign(consumer, assigned))
            try:
                yield lambda records: runner.run(_take(consumer, records))
            finally:
                runner.run(consumer.stop())

    def offset_for_time(self, topic, timestamp):
        topic_partition = TopicPartition(topic, 0)

        async def run():
            async with self.consumer() as consumer:
                found = await consumer.offsets_for_times({topic_partition: timestamp})
                return found[topic_partition]

        found = asyncio.run(run())
        return None if found is None else found.offset

    def ends(self, topic):
        topic_partition = TopicPartition(topic, 0)

        async def run():
            async with self.consumer() as consumer:
                (first,) = (await consumer.beginning_offsets([topic_partition])).values()
                (last,) = (await consumer.end_offsets([topic_partition])).values()
                return first, last

        return asyncio.run(run())

    async def started_consumer(self, **options):
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            **{"auto_offset_reset": "none", **options},
        )
        await consumer.start()
        return consumer

    @asynccontextmanager
    async def consumer(self, **options):
        consumer = await self.started_consumer(**options)
        try:
            yield consumer
        finally:
            await consumer.stop()


async def _assign(consumer, assigned):
    consumer.assign(list(assigned))
    for topic_partition, offset in assigned.items():
        consumer.seek(topic_partition, offset)


async def _take(consumer, records):
    found = []
    while len(found) < records:
        polled = await consumer.getmany(timeout_ms=TIMEOUT_MS, max_records=records - len(found))
        found += [_consumed(record) for batch in polled.values() for record in batch]
    return found


def _consumed(record):
    message = Message(record.key, record.value, record.timestamp, tuple(record.headers))
    return Consumed(record.partition, record.offset, message)


class TestAioKafka(Scenarios):
    adapter = AioKafka

    def test_read_committed(self, client):
        topic, sent = new_topic(client, "committed"), messages(100)
        client.produce(topic, sent, partition=0)
        topic_partition = TopicPartition(topic, 0)

        async def run():
            async with client.consumer(isolation_level="read_committed") as consumer:
                consumer.assign([topic_partition])
                consumer.seek(topic_partition, 0)
                return [await consumer.getone() for _ in sent]

        assert [_consumed(record) for record in asyncio.run(run())] == in_order(sent)

    def test_many_consumers_at_once(self, client):
        topic, sent = new_topic(client, "many", partitions=4), messages(400)
        for partition in range(4):
            client.produce(topic, sent[partition::4], partition=partition)

        async def read_one(partition):
            async with client.consumer() as consumer:
                topic_partition = TopicPartition(topic, partition)
                consumer.assign([topic_partition])
                consumer.seek(topic_partition, 0)
                return [(await consumer.getone()).value for _ in range(100)]

        async def run():
            return await asyncio.gather(*(read_one(partition) for partition in range(4)))

        values = [message.value for message in sent]
        assert asyncio.run(run()) == [values[partition::4] for partition in range(4)]

    def test_a_record_that_is_too_large(self, client):
        topic = new_topic(client, "large", max_message_bytes="1000")
        with pytest.raises(MessageSizeTooLargeError):
            client.produce(topic, [Message(b"k", b"x" * 2000, 0)], partition=0)
        client.produce(topic, messages(1), partition=0)
        assert read(client, topic, 0, 1) == in_order(messages(1))

    def test_an_offset_that_is_not_there(self, client):
        topic, sent = new_topic(client, "range"), messages(10)
        client.produce(topic, sent, partition=0)
        with pytest.raises(OffsetOutOfRangeError):
            read(client, topic, 5_000, 1)
