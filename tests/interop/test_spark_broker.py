"""The Spark source `drumbeat` on Apache Kafka: its transactions, its restarts, its tools."""

import json
from contextlib import ExitStack

import pytest
from confluent_kafka import Consumer, Producer

from drumbeat.client.admin import OffsetSpec, SyncAdmin
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.session import COORDINATING, register_sources, spark_session
from drumbeat.pipeline.sources.brokers import Brokers
from drumbeat.pipeline.sources.fetching import read_batches
from drumbeat.protocol.record_batch import iter_headers
from interop import kafka_jars
from interop.kafka_jars import run_tool, start_kafka
from pipeline.sources_broker.kit import (
    new_topic,
    options_for,
    places,
    produce,
    read_rows,
    stream_reader,
)
from support.data_topics import fresh_name
from support.ports import free_ports
from support.waiting import wait_until

pytestmark = pytest.mark.interop

SECONDS_MAX = 30
GROUPS_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    # Records of long ago are read here, minutes after they were written.
    with start_kafka(tmp_path_factory.mktemp("kafka"), {"log.retention.ms": "-1"}) as servers:
        yield servers


@pytest.fixture(scope="module")
def admin(kafka):
    with SyncAdmin(bootstrap_servers=kafka) as admin:
        yield admin


@pytest.fixture(scope="module")
def session():
    with spark_session("local[2]", COORDINATING) as session:
        register_sources(session)
        yield session


class Transactions:
    """A transactional producer, one transaction at a time, in partition 0."""

    def __init__(self, servers, admin, topic):
        self._admin, self._topic = admin, topic
        self._producer = Producer(
            {"bootstrap.servers": servers, "transactional.id": fresh_name("txn"), "linger.ms": 0}
        )
        self._producer.init_transactions(SECONDS_MAX)

    def write(self, *values):
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(self._topic, value, partition=0)
        self._producer.flush(SECONDS_MAX)
        return self

    def commit(self):
        self._end(self._producer.commit_transaction)

    def abort(self):
        self._end(self._producer.abort_transaction)

    def _end(self, end_transaction):
        """Kafka answers once the outcome is decided, and writes the marker to the log later."""
        marker_at = self._end_offset()
        end_transaction(SECONDS_MAX)
        wait_until(lambda: self._end_offset() > marker_at, SECONDS_MAX, "a transaction's marker")

    def _end_offset(self):
        partition = TopicPartition(self._topic, 0)
        return self._admin.list_offsets({partition: OffsetSpec.LATEST})[partition].offset


def values(rows):
    return [row["value"] for row in rows]


def test_transactions_by_isolation_level(kafka, admin):
    topic = new_topic(admin)
    first, second = (Transactions(kafka, admin, topic) for _ in range(2))
    first.write(b"a1", b"a2")
    second.write(b"b1")
    first.abort()
    first.write(b"a3")
    second.commit()
    first.commit()
    second.write(b"b2").abort()
    produce(kafka, topic, [7])
    committed = options_for(kafka, topic, **{"kafka.isolation.level": "read_committed"})
    everything = options_for(kafka, topic)
    assert values(read_rows(committed)) == [b"b1", b"a3", b"7"]
    assert values(read_rows(everything)) == [b"a1", b"a2", b"b1", b"a3", b"b2", b"7"]

    first.write(b"open")
    produce(kafka, topic, [8])
    assert values(read_rows(committed)) == [b"b1", b"a3", b"7"]
    assert values(read_rows(everything))[-2:] == [b"open", b"8"]
    stream = stream_reader({**committed, "startingOffsets": "latest"})
    before = stream.initialOffset()
    first.commit()
    after = stream.latestOffset(before, stream.getDefaultReadLimit())
    stream.stop()
    assert before[topic]["0"] < after[topic]["0"]
    assert values(read_rows(committed)) == [b"b1", b"a3", b"7", b"open", b"8"]


def test_transactions_larger_than_a_response(kafka, admin):
    topic = new_topic(admin)
    transactions = Transactions(kafka, admin, topic)
    for number in range(8):
        transactions.write(*(b"%d %d" % (number, row) for row in range(500)))
        transactions.commit() if number % 2 else transactions.abort()
    options = options_for(
        kafka,
        topic,
        **{"isolation.level": "read_committed", "kafka.max.partition.fetch.bytes": 3_000},
    )
    assert values(read_rows(options)) == [
        b"%d %d" % (number, row) for number in range(1, 8, 2) for row in range(500)
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_another_client_compressed(kafka, admin, codec):
    topic = new_topic(admin)
    producer = Producer({"bootstrap.servers": kafka, "compression.type": codec, "linger.ms": 50})
    for number in range(500):
        producer.produce(topic, b"%d" % number, headers=[("n", b"%d" % number)])
    producer.flush(SECONDS_MAX)
    rows = read_rows(options_for(kafka, topic, includeHeaders="true"))
    assert values(rows) == [b"%d" % number for number in range(500)]
    assert all(row["headers"] == [{"key": "n", "value": row["value"]}] for row in rows)


def test_offsets_and_times_of_kafka(kafka, admin):
    topic = new_topic(admin, partitions=2)
    produce(kafka, topic, range(50), partition=1)
    admin.delete_records({TopicPartition(topic, 1): 5})
    starts = json.dumps({topic: {"0": -2, "1": 45}})
    assert places(read_rows(options_for(kafka, topic, startingOffsets=starts))) == [
        (1, at) for at in range(45, 50)
    ]
    assert len(read_rows(options_for(kafka, topic))) == 45
    assert places(read_rows(options_for(kafka, topic, endingTimestamp=1_000_010))) == [
        (1, at) for at in range(5, 10)
    ]


def test_kafka_restarts_in_mid_read(tmp_path, monkeypatch):
    ports = free_ports(2)
    monkeypatch.setattr(kafka_jars, "free_ports", lambda _count: ports)
    with ExitStack() as stack:
        with start_kafka(tmp_path) as servers:
            with SyncAdmin(bootstrap_servers=servers) as admin:
                topic = new_topic(admin)
            produce(servers, topic, range(2_000), batch_size=700)
            brokers = Brokers.at(servers, max_partition_fetch_bytes=2_000)
            coming = read_batches(brokers, TopicPartition(topic, 0), 0, 2_000)
            stack.callback(coming.close)
            fetched = [next(coming)]
        stack.enter_context(start_kafka(tmp_path))
        fetched += coming
    offsets = [
        offset
        for each in fetched
        for _, header in iter_headers(each.records)
        for offset in range(header.base_offset, header.next_offset)
    ]
    assert offsets == list(range(2_000))


def test_kafkas_tool_shows_how_far_a_stream_is(session, kafka, admin, tmp_path):
    topic, group_id = new_topic(admin, partitions=2), fresh_name("spark")
    produce(kafka, topic, range(60), partition=0)
    produce(kafka, topic, range(20), partition=1)
    options = options_for(kafka, topic, startingOffsets="earliest", maxOffsetsPerTrigger=50)
    query = (
        session.readStream.format("drumbeat")
        .options(**options, **{"group.id": group_id})
        .load()
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "rows"))
    )
    query.awaitTermination(SECONDS_MAX * 2)
    assert session.read.parquet(str(tmp_path / "rows")).count() == 80
    shown = run_tool(GROUPS_TOOL, "--bootstrap-server", kafka, "--describe", "--group", group_id)
    lines = [line.split() for line in shown.splitlines() if line.startswith(group_id)]
    # group, topic, partition, current offset, log end offset, lag
    assert sorted(line[1:6] for line in lines) == [
        [topic, "0", "60", "60", "0"],
        [topic, "1", "20", "20", "0"],
    ]


def test_another_client_reads_what_spark_wrote(session, kafka, admin):
    topic = new_topic(admin)
    rows = session.range(30).selectExpr("CAST(id AS STRING) AS key", "'v' AS value")
    options = {"kafka.bootstrap.servers": kafka, "topic": topic, "kafka.compression.type": "lz4"}
    rows.coalesce(1).write.format("drumbeat").options(**options).mode("append").save()
    consumer = Consumer(
        {"bootstrap.servers": kafka, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found = [(one.key(), one.value()) for one in consumer.consume(30, SECONDS_MAX)]
    consumer.close()
    assert found == [(b"%d" % number, b"v") for number in range(30)]
