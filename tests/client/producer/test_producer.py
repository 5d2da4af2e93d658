"""The producer against a running node; what it stored is read by another library."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition as ConfluentPartition

from drumbeat.client.admin import NewTopic, SyncAdmin
from drumbeat.client.errors import (
    ConfigError,
    IllegalStateError,
    InvalidTopicError,
    NoBrokersAvailable,
    ProducerClosedError,
    RecordTooLargeError,
    SerializationError,
    UnknownTopicOrPartitionError,
)
from drumbeat.client.producer import Producer
from drumbeat.client.producer.partitioner import partition_for_key
from support.data_topics import fresh_name
from support.ports import free_ports

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
READ_TIMEOUT_S = 10.0


def with_producer(check: Callable[[Producer], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        async with Producer(**options) as producer:
            await check(producer)

    asyncio.run(run())


def send_all(servers: str, records: list[dict[str, Any]], **options: Any) -> list[Any]:
    acknowledged: list[Any] = []

    async def check(producer: Producer) -> None:
        deliveries = [await producer.send(**record) for record in records]
        acknowledged.extend([await delivery for delivery in deliveries])

    with_producer(check, bootstrap_servers=servers, **options)
    return acknowledged


@pytest.mark.parametrize("codec", CODECS)
def test_others_read_what_was_sent(bootstrap_servers, read_back, codec):
    topic = fresh_name("codec")
    records = [
        {
            "topic": topic,
            "value": None if number == 7 else b"value-%d" % number * (number % 50),
            "key": b"key-%d" % (number % 10),
            "headers": [("trace", b"%d" % number), ("none", None)] if number % 3 == 0 else (),
            "timestamp_ms": 1_700_000_000_000 + number,
        }
        for number in range(500)
    ]
    acknowledged = send_all(bootstrap_servers, records, compression_type=codec)
    found = {(record.partition, record.offset): record for record in read_back(topic)}
    assert len(found) == len(records)
    for sent, metadata in zip(records, acknowledged, strict=True):
        record = found[metadata.partition, metadata.offset]
        assert (record.key, record.value) == (sent["key"], sent["value"])
        assert list(record.headers) == list(sent["headers"])
        assert record.timestamp == sent["timestamp_ms"] == metadata.timestamp
        assert metadata.serialized_value_size == (
            -1 if sent["value"] is None else len(sent["value"])
        )
        assert metadata.partition == partition_for_key(sent["key"], 3)


@pytest.mark.parametrize("codec", CODECS)
def test_librdkafka_reads_every_codec(bootstrap_servers, codec):
    topic = fresh_name("librdkafka")
    values = [b"value-%d" % number * 20 for number in range(100)]
    records = [{"topic": topic, "value": value, "partition": 0} for value in values]
    send_all(bootstrap_servers, records, compression_type=codec)
    consumer = ConfluentConsumer({"bootstrap.servers": bootstrap_servers, "group.id": "none"})
    consumer.assign([ConfluentPartition(topic, 0, 0)])
    messages = consumer.consume(len(values), READ_TIMEOUT_S)
    consumer.close()
    assert [message.value() for message in messages] == values


def test_records_without_a_key_share_batches_and_spread(bootstrap_servers):
    topic = fresh_name("sticky")
    records = [{"topic": topic, "value": bytes(500)} for _ in range(1000)]
    acknowledged = send_all(bootstrap_servers, records, batch_size=5_000)
    partitions = [metadata.partition for metadata in acknowledged]
    switches = sum(a != b for a, b in pairwise(partitions))
    assert switches < 200, "records of one batch stay together"
    assert min(Counter(partitions)[p] for p in range(3)) > 100


def test_keys_may_be_ignored_and_partitioners_replaced(bootstrap_servers):
    records = [{"topic": fresh_name("own"), "value": b"v", "key": "a" * n} for n in range(5)]
    acknowledged = send_all(
        bootstrap_servers,
        records,
        key_serializer=lambda topic, key: key.encode(),
        partitioner=lambda topic, key, kb, value, vb, count: len(key) % count,
    )
    assert [metadata.partition for metadata in acknowledged] == [0, 1, 2, 0, 1]


@pytest.mark.parametrize(
    ("acks", "has_offsets"), [("all", True), (1, True), (0, False)], ids=["all", "1", "0"]
)
def test_acknowledgements(bootstrap_servers, read_back, acks, has_offsets):
    topic = fresh_name("acks")
    records = [{"topic": topic, "value": b"%d" % n, "partition": 0} for n in range(20)]
    acknowledged = send_all(bootstrap_servers, records, acks=acks, batch_size=1)
    expected = list(range(20)) if has_offsets else [-1] * 20
    assert [metadata.offset for metadata in acknowledged] == expected
    assert [record.value for record in read_back(topic)] == [b"%d" % n for n in range(20)]


def test_flush_delivers_what_lingers(bootstrap_servers):
    async def check(producer: Producer) -> None:
        delivery = await producer.send(fresh_name("flush"), b"v")
        assert not delivery.done()
        await producer.flush()
        assert delivery.result().offset == 0

    with_producer(check, bootstrap_servers=bootstrap_servers, linger_ms=60_000)


def test_close_delivers_what_lingers(bootstrap_servers, read_back):
    topic = fresh_name("close")

    async def check(producer: Producer) -> None:
        for number in range(10):
            await producer.send(topic, b"%d" % number, partition=1)

    with_producer(check, bootstrap_servers=bootstrap_servers, linger_ms=60_000)
    assert [record.value for record in read_back(topic)] == [b"%d" % n for n in range(10)]


def test_a_full_buffer_makes_senders_wait_and_keeps_their_order(bootstrap_servers, read_back):
    topic = fresh_name("buffer")

    async def check(producer: Producer) -> None:
        for number in range(300):
            await producer.send(topic, b"%05d" % number + bytes(1000), partition=0)
        assert producer.metrics()["buffer-available-bytes"] >= 0

    with_producer(
        check, bootstrap_servers=bootstrap_servers, buffer_memory=20_000, batch_size=4_000
    )
    assert [int(record.value[:5]) for record in read_back(topic)] == list(range(300))


def test_metrics_have_kafkas_names(bootstrap_servers):
    async def check(producer: Producer) -> None:
        topic = fresh_name("metrics")
        # A topic that is made by its first record may have no leader yet: a record that is sent
        # again counts again.
        await producer.send_and_wait(topic, b"first", partition=0)
        before = producer.metrics()
        for _ in range(100):
            await producer.send(topic, bytes(100), partition=0)
        await producer.flush()
        metrics = producer.metrics()
        assert metrics["record-send-total"] - before["record-send-total"] == 100
        assert metrics["record-retry-total"] == before["record-retry-total"]
        assert metrics["record-error-total"] == 0
        assert metrics["request-latency-max"] >= metrics["request-latency-avg"] >= 0
        assert metrics["requests-in-flight"] == 0
        assert metrics["buffer-available-bytes"] == metrics["buffer-total-bytes"]

    with_producer(check, bootstrap_servers=bootstrap_servers)


def test_partitions_for(bootstrap_servers):
    async def check(producer: Producer) -> None:
        partitions = await producer.partitions_for(fresh_name("partitions"))
        assert [partition.index for partition in partitions] == [0, 1, 2]

    with_producer(check, bootstrap_servers=bootstrap_servers)


def test_new_partitions_are_found(bootstrap_servers):
    topic = fresh_name("grows")
    with SyncAdmin(bootstrap_servers=bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name=topic, num_partitions=1)])

        async def check(producer: Producer) -> None:
            assert (await producer.send_and_wait(topic, b"v")).partition == 0
            await asyncio.to_thread(admin.create_partitions, {topic: 3})
            assert (await producer.send_and_wait(topic, b"v", partition=2)).offset == 0

        with_producer(check, bootstrap_servers=bootstrap_servers)


REFUSED = [
    ({"topic": "t", "value": "text"}, {}, SerializationError, "value .* is str.*value_serializer"),
    ({"topic": "t", "key": 1}, {}, SerializationError, "key .* is int.*key_serializer"),
    (
        {"topic": "t", "value": 1},
        {"value_serializer": lambda topic, value: value + b""},
        SerializationError,
        "value_serializer raised",
    ),
    ({"topic": "t", "value": bytes(2_000_000)}, {}, RecordTooLargeError, "max_request_size"),
    ({"topic": "no/good"}, {}, InvalidTopicError, "'no/good' is not the name of a topic"),
    ({"topic": b"t"}, {}, InvalidTopicError, "b't' is bytes: a topic's name is str"),
    ({"topic": None}, {}, InvalidTopicError, "a topic's name is str"),
    (
        {"topic": "t", "partition": 99},
        {"max_block_ms": 300},
        UnknownTopicOrPartitionError,
        "t-99 does not exist: topic t has 3 partitions",
    ),
    ({"topic": "t", "partition": "0"}, {}, TypeError, "partition takes a number or None, not '0'"),
    ({"topic": "t", "partition": -1}, {}, ValueError, "negative"),
    ({"topic": "t", "headers": [("h", "text")]}, {}, SerializationError, "str and bytes"),
    ({"topic": "t", "headers": [b"h"]}, {}, SerializationError, "a header is a pair"),
    ({"topic": "t", "timestamp_ms": -5}, {}, ValueError, "milliseconds since 1970"),
    ({"topic": "t", "timestamp_ms": 1.5}, {}, ValueError, "milliseconds since 1970"),
]


@pytest.mark.parametrize(("record", "options", "error", "words"), REFUSED)
def test_what_cannot_be_sent_says_why(bootstrap_servers, record, options, error, words):
    async def check(producer: Producer) -> None:
        await producer.partitions_for("t")
        with pytest.raises(error, match=words):
            await producer.send(**record)
        assert (await producer.send_and_wait("t", b"still works", partition=0)).offset >= 0

    with_producer(check, bootstrap_servers=bootstrap_servers, **options)


def test_use_before_start_and_after_close(bootstrap_servers):
    async def run() -> None:
        producer = Producer(bootstrap_servers=bootstrap_servers)
        with pytest.raises(IllegalStateError, match="async with"):
            await producer.send("t", b"v")
        await producer.start()
        with pytest.raises(IllegalStateError, match=r"starts once.*make a new one"):
            await producer.start()
        await producer.close()
        await producer.close()
        with pytest.raises(ProducerClosedError, match="make a new one"):
            await producer.flush()

    asyncio.run(run())


def test_a_wrong_address_is_named():
    (port,) = free_ports(1)
    with pytest.raises(NoBrokersAvailable, match=f"127.0.0.1:{port}.*refused"):
        with_producer(None, bootstrap_servers=f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"compresion_type": "gzip"}, "did you mean 'compression_type'"),
        ({"compression_type": "gzip", "compression_gzip_level": 0}, "compression_gzip_level"),
        ({"enable_idempotence": True, "acks": 1}, "acks='all'"),
    ],
)
def test_a_wrong_option_is_named(options, words):
    with pytest.raises(ConfigError, match=words):
        Producer(**options)
