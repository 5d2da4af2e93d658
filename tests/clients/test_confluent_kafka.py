"""confluent-kafka, which is librdkafka. Its consumer wants a group id; no coordinator is asked."""

from contextlib import contextmanager

import pytest
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from clients.scenarios import Consumed, Message, Scenarios, in_order, messages, new_topic, read

pytestmark = pytest.mark.clients

TIMEOUT_S = 30.0
NO_OFFSET = -1


def done(futures):
    """The results of an admin call, by what was asked about."""
    return {key: future.result(TIMEOUT_S) for key, future in futures.items()}


def quietly(settings):
    """librdkafka reports on stderr each time a broker goes away, as test brokers do."""
    return {"log_level": 0, **settings}


class ConfluentKafka:
    def __init__(self, bootstrap_servers):
        self.servers = {"bootstrap.servers": bootstrap_servers}
        self.admin = AdminClient(quietly(self.servers))

    def close(self):
        """Nothing is held open."""

    # -- admin -----------------------------------------------------------------------------------

    def create_topic(self, name, partitions, replication_factor, configs):
        topic = NewTopic(name, partitions, replication_factor, config=dict(configs))
        done(self.admin.create_topics([topic]))

    def delete_topic(self, name):
        done(self.admin.delete_topics([name]))

    def grow_topic(self, name, partitions):
        done(self.admin.create_partitions([NewPartitions(name, partitions)]))

    def topics(self):
        found = self.admin.list_topics(timeout=TIMEOUT_S).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def nodes(self):
        described = self.admin.describe_cluster().result(TIMEOUT_S)
        return [(node.id, f"{node.host}:{node.port}") for node in described.nodes]

    def topic_config(self, topic, key):
        (configs,) = done(
            self.admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)])
        ).values()
        return configs[key].value

    def set_topic_config(self, topic, key, value):
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        done(self.admin.incremental_alter_configs([resource]))

    def delete_records(self, topic, before):
        done(self.admin.delete_records([TopicPartition(topic, 0, before)]))

    # -- records ---------------------------------------------------------------------------------

    def produce(
        self, topic, messages, *, codec="none", acks="all", idempotent=False, partition=None
    ):
        problems = []
        settings = {
            "compression.type": codec,
            "acks": acks,
            "enable.idempotence": idempotent,
            "queue.buffering.max.messages": 200_000,
            "linger.ms": 5,
        }
        producer = Producer(quietly(self.servers | settings))
        where = {} if partition is None else {"partition": partition}
        for message in messages:
            producer.produce(
                topic,
                message.value,
                message.key,
                timestamp=message.timestamp,
                headers=list(message.headers),
                on_delivery=lambda problem, _: problems.append(problem) if problem else None,
                **where,
            )
        assert producer.flush(TIMEOUT_S) == 0
        assert problems == []

    @contextmanager
    def reading(self, topic, starts, settings):
        settings = {key.replace("max.wait", "wait.max"): value for key, value in settings.items()}
        with self.consumer(**settings) as consumer:
            consumer.assign([TopicPartition(topic, p, offset) for p, offset in starts.items()])
            yield lambda records: _take(consumer, records)

    def offset_for_time(self, topic, timestamp):
        with self.consumer() as consumer:
            (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, timestamp)], TIMEOUT_S)
        return None if found.offset == NO_OFFSET else found.offset

    def ends(self, topic):
        with self.consumer() as consumer:
            return consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S)

    def consumer(self, **settings):
        fixed = {"group.id": "unused", "enable.auto.commit": False, "auto.offset.reset": "error"}
        return Consumer(quietly(self.servers | fixed | settings))


def _take(consumer, records):
    found = []
    while len(found) < records:
        polled = consumer.consume(min(records - len(found), 10_000), TIMEOUT_S)
        found += [_consumed(message) for message in polled]
    return found


def _consumed(message):
    assert message.error() is None, message.error()
    _, timestamp = message.timestamp()
    sent = Message(message.key(), message.value(), timestamp, tuple(message.headers() or ()))
    return Consumed(message.partition(), message.offset(), sent)


class TestConfluentKafka(Scenarios):
    adapter = ConfluentKafka

    def test_list_offsets(self, client):
        """The admin client's, which alone asks for the largest timestamp."""
        topic = new_topic(client, "list-offsets")
        client.produce(topic, messages(100), partition=0)
        for spec, offset in (
            (OffsetSpec.earliest(), 0),
            (OffsetSpec.latest(), 100),
            (OffsetSpec.max_timestamp(), 99),
            (OffsetSpec.for_timestamp(messages(100)[42].timestamp), 42),
        ):
            asked = {TopicPartition(topic, 0): spec}
            for level in IsolationLevel:
                (found,) = done(client.admin.list_offsets(asked, isolation_level=level)).values()
                assert found.offset == offset

    def test_replacing_all_configs(self, client):
        topic = new_topic(client, "alter", retention_ms="1234", segment_bytes="2000000")
        resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.ms": "99"})
        with pytest.warns(DeprecationWarning, match="incremental_alter_configs"):
            altered = client.admin.alter_configs([resource])
        done(altered)
        assert client.topic_config(topic, "retention.ms") == "99"
        assert client.topic_config(topic, "segment.bytes") == "1073741824"

    def test_broker_configs(self, client):
        resource = ConfigResource(ResourceType.BROKER, "1")
        (configs,) = done(client.admin.describe_configs([resource])).values()
        assert configs["node.id"].value == "1"
        assert configs["node.id"].is_read_only

    def test_read_committed(self, client):
        topic, sent = new_topic(client, "committed"), messages(100)
        client.produce(topic, sent, partition=0)
        with client.consumer(**{"isolation.level": "read_committed"}) as consumer:
            consumer.assign([TopicPartition(topic, 0, 0)])
            assert _take(consumer, 100) == in_order(sent)

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            ("a b", KafkaError.TOPIC_EXCEPTION),
            ("twice", KafkaError.TOPIC_ALREADY_EXISTS),
        ],
    )
    def test_refused_topics(self, client, name, code):
        if code == KafkaError.TOPIC_ALREADY_EXISTS:
            client.create_topic(name, 1, 1, {})
        with pytest.raises(KafkaException) as refused:
            client.create_topic(name, 1, 1, {})
        assert refused.value.args[0].code() == code

    def test_a_record_that_is_too_large(self, client):
        topic = new_topic(client, "large", max_message_bytes="1000")
        problems = []
        producer = Producer(quietly(client.servers))
        producer.produce(
            topic, b"x" * 2000, on_delivery=lambda problem, _: problems.append(problem.code())
        )
        assert producer.flush(TIMEOUT_S) == 0
        assert problems == [KafkaError.MSG_SIZE_TOO_LARGE]
        client.produce(topic, messages(1), partition=0)
        assert read(client, topic, 0, 1) == in_order(messages(1))

    def test_an_offset_that_is_not_there(self, client):
        topic, sent = new_topic(client, "range"), messages(10)
        client.produce(topic, sent, partition=0)
        with client.consumer(**{"auto.offset.reset": "earliest"}) as consumer:
            consumer.assign([TopicPartition(topic, 0, 5_000)])
            assert _take(consumer, 10) == in_order(sent)
