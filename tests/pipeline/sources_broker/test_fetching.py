"""Raw batches from brokers: all of them, whatever happens to connections meanwhile."""

import pickle

import pytest

from drumbeat.client import SyncAdmin
from drumbeat.client.errors import (
    NoBrokersAvailable,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.sources.brokers import (
    Brokers,
    offsets_at,
    partition_ends,
    partitions_of,
)
from drumbeat.pipeline.sources.fetching import NothingThere, read_batches
from drumbeat.protocol.record_batch import iter_headers
from drumbeat.protocol.records import decode_records
from drumbeat.testing import Cluster
from pipeline.sources_broker.kit import FIRST_TIMESTAMP, new_topic, produce
from support.ports import free_ports

SMALL = {"max_partition_fetch_bytes": 2_000}  # responses end within a batch
HASTY = {"default_api_timeout_ms": 300, "fetch_max_wait_ms": 50}


def records_in(fetched):
    return [
        record
        for position, header in iter_headers(fetched.records)
        for record in decode_records(fetched.records[position : position + header.size])
    ]


def values_between(brokers, topic, start, end, **how):
    fetched = list(read_batches(brokers, TopicPartition(topic, 0), start, end, **how))
    values = [
        record.value
        for each in fetched
        for record in records_in(each)
        if each.start_offset <= record.offset < end
    ]
    return values, len(fetched)


def numbers(*bounds):
    return [b"%d" % number for number in range(*bounds)]


@pytest.fixture(scope="module")
def topic(servers, admin):
    name = new_topic(admin)
    produce(servers, name, range(2_000), batch_size=700)
    return name


@pytest.mark.parametrize(("start", "end"), [(0, 2000), (1, 1999), (777, 778), (5, 5)])
def test_everything_between_two_offsets(servers, topic, start, end):
    values, _ = values_between(Brokers.at(servers, **SMALL), topic, start, end)
    assert values == numbers(start, end)


def test_a_response_that_is_cut_off_is_continued(servers, topic):
    values, responses = values_between(Brokers.at(servers, **SMALL), topic, 0, 2000)
    assert values == numbers(2000)
    assert responses > 10


def test_configuration_travels_to_executors(servers, topic):
    brokers = pickle.loads(pickle.dumps(Brokers.at(servers, **SMALL)))
    assert values_between(brokers, topic, 0, 10)[0] == numbers(10)


def test_a_broker_that_restarts_in_mid_read(tmp_path):
    (port,) = free_ports(1)
    cluster = Cluster(data=str(tmp_path), port=port)
    cluster.start()
    servers = cluster.bootstrap_servers
    try:
        with SyncAdmin(bootstrap_servers=servers) as admin:
            topic = new_topic(admin)
        produce(servers, topic, range(1_000), batch_size=700)
        coming = read_batches(Brokers.at(servers, **SMALL), TopicPartition(topic, 0), 0, 1_000)
        records = records_in(next(coming))
        cluster.stop()
        cluster.start()
        records += [record for fetched in coming for record in records_in(fetched)]
    finally:
        cluster.stop()
    assert [record.value for record in records] == numbers(1_000)


def test_offsets_that_retention_has_removed(servers, admin):
    topic = new_topic(admin)
    produce(servers, topic, range(100))
    admin.delete_records({TopicPartition(topic, 0): 60})
    brokers = Brokers.at(servers)
    with pytest.raises(OffsetOutOfRangeError, match=r"no record at offset 10 .* only 60 up to 100"):
        values_between(brokers, topic, 10, 100)
    assert values_between(brokers, topic, 10, 100, fails_on_data_loss=False)[0] == numbers(60, 100)


def test_offsets_beyond_the_end(servers, topic):
    brokers = Brokers.at(servers, **HASTY)
    with pytest.raises(NothingThere, match=f"{topic}-0: responses for offset 2000 are empty"):
        values_between(brokers, topic, 1_990, 2_010)
    found, _ = values_between(brokers, topic, 1_990, 2_010, fails_on_data_loss=False)
    assert found == numbers(1_990, 2_000)


def test_nothing_is_read_of_a_topic_that_does_not_exist(servers):
    brokers = Brokers.at(servers, **HASTY)
    with pytest.raises(UnknownTopicOrPartitionError, match="no-such-topic-0 at offset 0"):
        values_between(brokers, "no-such-topic", 0, 1)
    with pytest.raises(UnknownTopicOrPartitionError, match="no-such-topic"):
        partition_ends(brokers, ["no-such-topic"])


def test_nobody_answers():
    (port,) = free_ports(1)
    with pytest.raises(NoBrokersAvailable, match=f"127.0.0.1:{port}: connection refused"):
        values_between(Brokers.at(f"127.0.0.1:{port}"), "t", 0, 1)


def test_where_partitions_begin_and_end(servers, admin):
    topic = new_topic(admin, partitions=2)
    produce(servers, topic, range(8), partition=1)
    first, second = partitions_of(admin, [topic])
    admin.delete_records({second: 3})
    assert partition_ends(Brokers.at(servers), [topic]) == {first: (0, 0), second: (3, 8)}


def test_offsets_by_time(servers, admin):
    topic = new_topic(admin)
    produce(servers, topic, range(50))
    tp = TopicPartition(topic, 0)
    for time, expected in [(0, 0), (FIRST_TIMESTAMP + 20, 20), (FIRST_TIMESTAMP + 50, None)]:
        assert offsets_at(admin, {tp: time}) == {tp: expected}
    assert offsets_at(admin, {}) == {}
