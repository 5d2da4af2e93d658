"""kafka-python: pure Python, old request versions, one thread."""

import gc
from contextlib import contextmanager

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    OffsetSpec,
)
from kafka.errors import (
    InvalidTopicError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
)

from clients.scenarios import Consumed, Message, Scenarios, in_order, messages, new_topic, read

pytestmark = pytest.mark.clients

TIMEOUT_MS = 30_000
ACKS = {"0": 0, "1": 1, "all": "all"}


class KafkaPython:
    def __init__(self, bootstrap_servers):
        self.bootstrap_servers = bootstrap_servers
        self.admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)

    def close(self):
        self.admin.close()

    # -- admin -----------------------------------------------------------------------------------

    def create_topic(self, name, partitions, replication_factor, configs):
        self.admin.create_topics(
            {
                name: {
                    "num_partitions": partitions,
                    "replication_factor": replication_factor,
                    "configs": dict(configs),
                }
            }
        )

    def delete_topic(self, name):
        self.admin.delete_topics([name])

    def grow_topic(self, name, partitions):
        self.admin.create_partitions({name: partitions})

    def topics(self):
        found = self.admin.describe_topics()
        return {topic["name"]: len(topic["partitions"]) for topic in found}

    def nodes(self):
        found = self.admin.describe_cluster()["brokers"]
        return [(node["broker_id"], f"{node['host']}:{node['port']}") for node in found]

    def topic_config(self, topic, key):
        asked = ConfigResource(ConfigResourceType.TOPIC, topic, {key: None})
        found = self.admin.describe_configs([asked], config_filter="all")
        return found["topic"][topic][key]["value"]

    def set_topic_config(self, topic, key, value):
        changed = ConfigResource(ConfigResourceType.TOPIC, topic, {key: (AlterConfigOp.SET, value)})
        self.admin.alter_configs([changed], incremental=True)

    def delete_records(self, topic, before):
        self.admin.delete_records({TopicPartition(topic, 0): before})

    # -- records ---------------------------------------------------------------------------------

    def produce(
        self, topic, messages, *, codec="none", acks="all", idempotent=False, partition=None
    ):
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap_servers,
            compression_type=None if codec == "none" else codec,
            acks=ACKS[acks],
            enable_idempotence=idempotent,
            linger_ms=5,
            batch_size=128 * 1024,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    message.value,
                    message.key,
                    headers=list(message.headers),
                    partition=partition,
                    timestamp_ms=message.timestamp,
                )
                for message in messages
            ]
            producer.flush(TIMEOUT_MS / 1000)
            for future in sent:
                future.get(0)
        finally:
            producer.close()

    @contextmanager
    def reading(self, topic, starts, settings):
        options = {key.replace(".", "_"): value for key, value in settings.items()}
        with self.consumer(**options) as consumer:
            assigned = {TopicPartition(topic, p): offset for p, offset in starts.items()}
            consumer.assign(list(assigned))
            for topic_partition, offset in assigned.items():
                consumer.seek(topic_partition, offset)
            yield lambda records: _take(consumer, records)

    def offset_for_time(self, topic, timestamp):
        topic_partition = TopicPartition(topic, 0)
        with self.consumer() as consumer:
            found = consumer.offsets_for_times({topic_partition: timestamp})[topic_partition]
        return None if found is None else found.offset

    def ends(self, topic):
        topic_partition = TopicPartition(topic, 0)
        with self.consumer() as consumer:
            (first,) = consumer.beginning_offsets([topic_partition]).values()
            (last,) = consumer.end_offsets([topic_partition]).values()
        return first, last

    @contextmanager
    def consumer(self, **options):
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            **{"group_id": None, "auto_offset_reset": "none", **options},
        )
        try:
            yield consumer
        finally:
            consumer.close()


def _take(consumer, records):
    found = []
    while len(found) < records:
        polled = consumer.poll(TIMEOUT_MS, max_records=records - len(found))
        found += [_consumed(record) for batch in polled.values() for record in batch]
    return found


def _consumed(record):
    message = Message(record.key, record.value, record.timestamp, tuple(record.headers))
    return Consumed(record.partition, record.offset, message)


class TestKafkaPython(Scenarios):
    adapter = KafkaPython

    @pytest.mark.filterwarnings("ignore::ResourceWarning")
    def test_a_consumer_outlives_a_restart(self, tmp_path):
        super().test_a_consumer_outlives_a_restart(tmp_path)
        gc.collect()  # kafka-python leaves the sockets of refused connections lying about

    def test_list_offsets(self, client):
        """The admin client's, which alone asks for the largest timestamp."""
        topic = new_topic(client, "list-offsets")
        client.produce(topic, messages(100), partition=0)
        topic_partition = TopicPartition(topic, 0)
        for spec, offset in (
            (OffsetSpec.EARLIEST, 0),
            (OffsetSpec.LATEST, 100),
            (OffsetSpec.MAX_TIMESTAMP, 99),
            (messages(100)[42].timestamp, 42),
        ):
            found = client.admin.list_partition_offsets({topic_partition: spec})
            assert found[topic_partition].offset == offset

    def test_replacing_all_configs(self, client):
        topic = new_topic(client, "alter", retention_ms="1234")
        changed = ConfigResource(ConfigResourceType.TOPIC, topic, {"segment.bytes": "2000000"})
        client.admin.alter_configs([changed], incremental=False)
        assert client.topic_config(topic, "segment.bytes") == "2000000"

    def test_log_dirs(self, client):
        topic = new_topic(client, "log-dirs")
        client.produce(topic, messages(100), partition=0)
        (found,) = client.admin.describe_log_dirs([topic])
        (directory,) = found["log_dirs"]
        (described,) = directory["topics"]
        assert described["partitions"][0]["partition_size"] > 5_000

    def test_read_committed(self, client):
        topic, sent = new_topic(client, "committed"), messages(100)
        client.produce(topic, sent, partition=0)
        topic_partition = TopicPartition(topic, 0)
        with client.consumer(isolation_level="read_committed") as consumer:
            consumer.assign([topic_partition])
            consumer.seek(topic_partition, 0)
            assert _take(consumer, 100) == in_order(sent)

    def test_refused_topics(self, client):
        topic = new_topic(client, "twice")
        for name, error in ((topic, TopicAlreadyExistsError), ("a b", InvalidTopicError)):
            with pytest.raises(error):
                client.create_topic(name, 1, 1, {})

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
