"""The stream reader that Spark is given: what it offers, plans, commits and refuses."""

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from drumbeat.client import SyncAdmin, SyncConsumer
from drumbeat.client.errors import NoBrokersAvailable
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.errors import SourceError
from drumbeat.testing import Cluster
from pipeline.sources_broker.kit import (
    new_topic,
    options_for,
    places,
    produce,
    stream_reader,
)
from support.data_topics import fresh_name
from support.ports import free_ports
from support.waiting import wait_until

ALL = ReadAllAvailable()


@pytest.fixture
def topic(servers, admin):
    """Two partitions with offsets 0-29 and 0-9."""
    name = new_topic(admin, partitions=2)
    produce(servers, name, range(30), partition=0)
    produce(servers, name, range(10), partition=1)
    return name


@pytest.fixture
def reader_of(servers):
    """Makes readers of a topic, and stops them."""
    readers = []

    def make(topic, **options):
        readers.append(stream_reader(options_for(servers, topic, **options)))
        return readers[-1]

    yield make
    for reader in readers:
        reader.stop()


def offset(topic, *offsets):
    return {topic: {str(number): at for number, at in enumerate(offsets)}}


def rows_between(reader, start, end):
    return places(
        row
        for partition in reader.partitions(start, end)
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    )


@pytest.mark.parametrize(("word", "expected"), [("earliest", (0, 0)), ("latest", (30, 10))])
def test_where_a_stream_begins(reader_of, topic, word, expected):
    reader = reader_of(topic, startingOffsets=word)
    assert reader.initialOffset() == offset(topic, *expected)


def test_what_there_is_becomes_tasks(reader_of, topic):
    reader = reader_of(topic, startingOffsets="earliest")
    end = reader.latestOffset(offset(topic, 25, 10), ALL)
    assert end == offset(topic, 30, 10)
    assert reader.reportLatestOffset() == end
    assert rows_between(reader, offset(topic, 25, 10), end) == [(0, at) for at in range(25, 30)]
    assert reader.partitions(end, end) == []


def test_a_batch_takes_as_much_as_it_may(reader_of, topic):
    reader = reader_of(topic, maxOffsetsPerTrigger=20)
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(20)
    assert reader.latestOffset(offset(topic, 0, 0), limit) == offset(topic, 15, 5)
    assert reader.latestOffset(offset(topic, 0, 0), ALL) == offset(topic, 30, 10)
    assert reader_of(topic).getDefaultReadLimit() == ALL


def test_a_run_that_ends_with_what_there_is(servers, admin, reader_of, topic):
    reader = reader_of(topic)
    reader.prepareForTriggerAvailableNow()
    produce(servers, topic, range(5), partition=1)
    admin.create_partitions({topic: 3})
    assert reader.latestOffset(offset(topic, 0, 0), ALL) == offset(topic, 30, 10)
    assert reader.latestOffset(offset(topic, 30, 10), ALL) == offset(topic, 30, 10)
    assert reader.latestOffset(offset(topic, 30, 12), ALL) == offset(topic, 30, 12)


def test_partitions_that_come_later_are_read_from_their_beginning(servers, admin, reader_of, topic):
    reader = reader_of(topic)
    start = reader.initialOffset()
    admin.create_partitions({topic: 3})
    produce(servers, topic, range(4), partition=2)
    end = reader.latestOffset(start, ALL)
    assert end == offset(topic, 30, 10, 4)
    assert rows_between(reader, start, end) == [(2, at) for at in range(4)]


def test_lost_records_stop_a_stream_unless_it_is_told_to_go_on(admin, reader_of, topic):
    admin.delete_records({TopicPartition(topic, 0): 20})
    start = offset(topic, 12, 10)
    with pytest.raises(SourceError, match=f"{topic}-0 up to offset 12, .* has 20 up to 30"):
        reader_of(topic).latestOffset(start, ALL)
    reader = reader_of(topic, failOnDataLoss="false")
    end = reader.latestOffset(start, ALL)
    assert rows_between(reader, start, end) == [(0, at) for at in range(20, 30)]


def test_a_partition_that_is_gone(reader_of, topic):
    with pytest.raises(SourceError, match=f"{topic}-7 up to offset 1, but the partition is gone"):
        reader_of(topic).latestOffset({topic: {"0": 0, "1": 0, "7": 1}}, ALL)


def test_progress_is_committed_as_the_groups(admin, reader_of, topic):
    group_id = fresh_name("spark")

    def committed():
        found = admin.list_group_offsets([group_id])[group_id]
        return {tp.partition: commit.offset for tp, commit in found.items()}

    reader = reader_of(topic, **{"group.id": group_id, "startingOffsets": "earliest"})
    start = reader.initialOffset()
    reader.latestOffset(start, ALL)
    assert committed() == {}
    reader.commit(offset(topic, 7, 3))
    assert committed() == {0: 7, 1: 3}
    reader.latestOffset(offset(topic, 9, 3), ALL)  # Spark asks for more once all before is done
    assert committed() == {0: 9, 1: 3}
    assert group_id in {group.group_id for group in admin.list_groups()}


def test_a_group_that_consumers_use_is_left_alone(servers, admin, reader_of, topic):
    group_id = fresh_name("used")
    reader = reader_of(topic, **{"group.id": group_id})
    start = reader.initialOffset()
    with SyncConsumer(bootstrap_servers=servers, group_id=group_id) as consumer:
        consumer.subscribe([topic])

        def is_stable():
            consumer.poll(50)
            return admin.describe_groups([group_id])[group_id].state == "Stable"

        wait_until(is_stable, 20, "the consumer is a member")
        with pytest.raises(SourceError, match=f"cannot commit as group {group_id}, which consumer"):
            reader.commit(offset(topic, 1, 1))
        with pytest.raises(SourceError, match="it has 1 members and is Stable"):
            reader_of(topic, **{"group.id": group_id}).latestOffset(start, ALL)


def test_nobody_answers():
    (port,) = free_ports(1)
    reader = stream_reader(options_for(f"127.0.0.1:{port}", "t"))
    with pytest.raises(NoBrokersAvailable, match="connection refused"):
        reader.initialOffset()
    reader.stop()


def test_a_stream_outlives_a_restart_of_its_broker(tmp_path):
    (port,) = free_ports(1)
    cluster = Cluster(data=str(tmp_path), port=port)
    cluster.start()
    servers = cluster.bootstrap_servers
    try:
        with SyncAdmin(bootstrap_servers=servers) as admin:
            topic = new_topic(admin)
        reader = stream_reader(options_for(servers, topic, **{"group.id": "g"}))
        start = reader.initialOffset()
        produce(servers, topic, range(5))
        cluster.stop()
        cluster.start()
        end = reader.latestOffset(start, ALL)
        reader.commit(end)
        reader.stop()
        with SyncAdmin(bootstrap_servers=servers) as admin:
            committed = admin.list_group_offsets(["g"])["g"]
    finally:
        cluster.stop()
    assert end == offset(topic, 5)
    assert committed[TopicPartition(topic, 0)].offset == 5
