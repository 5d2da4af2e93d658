"""Topics, their records and the cluster, against a running node."""

import asyncio

import pytest

from drumbeat.client.admin import Admin, NewTopic, OffsetSpec, SomeFailedError, SyncAdmin
from drumbeat.client.errors import (
    ConfigError,
    IllegalStateError,
    InvalidTopicError,
    KafkaError,
    NoBrokersAvailable,
    OffsetOutOfRangeError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from drumbeat.client.producer import SyncProducer
from drumbeat.client.values import OffsetAndTimestamp, TopicPartition
from drumbeat.protocol.errors import ErrorCode
from support.data_topics import fresh_name
from support.ports import free_ports
from support.waiting import wait_until

TIMEOUT_S = 10.0


@pytest.fixture
def topic(admin: SyncAdmin) -> str:
    name = fresh_name("topic")
    admin.create_topics([NewTopic(name=name, num_partitions=2)])
    return name


def produce(servers: str, tp: TopicPartition, timestamps: list[int]) -> None:
    with SyncProducer(bootstrap_servers=servers) as producer:
        for timestamp_ms in timestamps:
            producer.send(tp.topic, b"v", partition=tp.partition, timestamp_ms=timestamp_ms)


def test_created_listed_described_deleted(admin):
    name = fresh_name("life")
    new = NewTopic(name=name, num_partitions=3, configs={"retention.ms": "60000"})
    created = admin.create_topics([new])[name]
    assert (created.num_partitions, created.replication_factor) == (3, 1)
    assert created.configs["retention.ms"] == "60000"
    assert name in admin.list_topics()
    described = admin.describe_topics([name])[name]
    assert described.topic_id == created.topic_id
    assert [(p.index, p.leader, p.replicas) for p in described.partitions] == [
        (index, 1, (1,)) for index in range(3)
    ]
    admin.delete_topics([name])
    wait_until(lambda: name not in admin.list_topics(), TIMEOUT_S, f"{name} to be gone")


def test_validation_creates_nothing(admin):
    name = fresh_name("validated")
    admin.create_topics([name], validate_only=True)
    assert name not in admin.list_topics()


def test_replicas_may_be_assigned(admin):
    name = fresh_name("assigned")
    admin.create_topics([NewTopic(name=name, replica_assignments={0: [1], 1: [1]})])
    assert len(admin.describe_topics([name])[name].partitions) == 2


def test_internal_topics_are_shown_on_request(admin, topic):
    admin.alter_group_offsets("internal", {TopicPartition(topic, 0): 0})
    assert "__consumer_offsets" not in admin.list_topics()
    assert "__consumer_offsets" in admin.list_topics(include_internal=True)


def test_partitions_grow(admin, topic):
    admin.create_partitions({topic: 5}, validate_only=True)
    assert len(admin.describe_topics([topic])[topic].partitions) == 2
    admin.create_partitions({topic: 5})
    assert len(admin.describe_topics([topic])[topic].partitions) == 5


ERRORS = [
    (lambda admin, topic: admin.create_topics([topic]), TopicExistsError),
    (lambda admin, topic: admin.create_topics(["no/good"]), InvalidTopicError),
    (lambda admin, topic: admin.delete_topics(["missing"]), UnknownTopicOrPartitionError),
    (lambda admin, topic: admin.describe_topics(["missing"]), UnknownTopicOrPartitionError),
    (
        lambda admin, topic: admin.list_offsets({TopicPartition("missing", 0): OffsetSpec.LATEST}),
        UnknownTopicOrPartitionError,
    ),
    (
        lambda admin, topic: admin.list_offsets({TopicPartition(topic, 9): OffsetSpec.LATEST}),
        UnknownTopicOrPartitionError,
    ),
    (
        lambda admin, topic: admin.delete_records({TopicPartition(topic, 0): 99}),
        OffsetOutOfRangeError,
    ),
]


@pytest.mark.parametrize(("call", "error"), ERRORS)
def test_one_thing_fails_with_its_own_error(admin, topic, call, error):
    with pytest.raises(error):
        call(admin, topic)


def test_fewer_partitions_are_refused(admin, topic):
    with pytest.raises(KafkaError, match=topic) as caught:
        admin.create_partitions({topic: 1})
    assert caught.value.code is ErrorCode.INVALID_PARTITIONS


def test_of_several_things_some_may_fail(admin, topic):
    fresh = fresh_name("fresh")
    with pytest.raises(SomeFailedError, match=f"1 of 2 failed: {topic}") as caught:
        admin.create_topics([topic, fresh])
    assert list(caught.value.errors) == [topic]
    assert isinstance(caught.value.errors[topic], TopicExistsError)
    assert caught.value.results[fresh].num_partitions == 1


def test_offsets_by_place_and_time(admin, bootstrap_servers, topic):
    tp = TopicPartition(topic, 1)
    produce(bootstrap_servers, tp, [1000, 3000, 2000])
    wanted = [OffsetSpec.EARLIEST, OffsetSpec.LATEST, OffsetSpec.MAX_TIMESTAMP, 1500, 9999]
    found = [admin.list_offsets({tp: spec})[tp] for spec in wanted]
    assert [one.offset for one in found] == [0, 3, 1, 1, -1]
    assert found[2] == OffsetAndTimestamp(1, 3000, found[2].leader_epoch)
    others = {TopicPartition(topic, 0): OffsetSpec.LATEST, tp: OffsetSpec.LATEST}
    committed = admin.list_offsets(others, isolation_level="read_committed")
    assert [one.offset for one in committed.values()] == [0, 3]


def test_records_are_deleted_up_to_an_offset(admin, bootstrap_servers, topic):
    tp = TopicPartition(topic, 0)
    produce(bootstrap_servers, tp, [1, 2, 3])
    assert admin.delete_records({tp: 2}) == {tp: 2}
    assert admin.list_offsets({tp: OffsetSpec.EARLIEST})[tp].offset == 2
    assert admin.delete_records({tp: -1}) == {tp: 3}


def test_the_cluster(admin, bootstrap_servers, topic):
    described = admin.describe_cluster()
    assert [f"{b.host}:{b.port}" for b in described.brokers] == [bootstrap_servers]
    assert described.controller_id == described.brokers[0].node_id
    assert described.cluster_id
    offered = {one.name: one for one in admin.api_versions(described.controller_id)}
    assert offered["Metadata"].max_version >= 12

    def has_replica() -> bool:
        """Kafka's brokers make their logs a little later than the topic."""
        (folder,) = admin.describe_log_dirs()[described.controller_id]
        assert folder.error is None
        return TopicPartition(topic, 0) in folder.replicas

    wait_until(has_replica, TIMEOUT_S, "the topic has a log")


def test_use_before_start_and_after_close(bootstrap_servers):
    async def run() -> None:
        admin = Admin(bootstrap_servers=bootstrap_servers)
        with pytest.raises(IllegalStateError, match="async with"):
            await admin.list_topics()
        async with admin:
            with pytest.raises(IllegalStateError, match="started already"):
                await admin.start()
        with pytest.raises(IllegalStateError, match="closed"):
            await admin.list_topics()

    asyncio.run(run())


def test_the_synchronous_one_too(bootstrap_servers):
    admin = SyncAdmin(bootstrap_servers=bootstrap_servers)
    with pytest.raises(IllegalStateError, match="not started"):
        admin.list_topics()
    with admin:
        admin.list_topics()
    admin.close()
    with pytest.raises(IllegalStateError, match="closed"):
        admin.list_topics()


def test_wrong_address_and_wrong_option():
    (port,) = free_ports(1)
    with (
        pytest.raises(NoBrokersAvailable, match=f"127.0.0.1:{port}.*refused"),
        SyncAdmin(bootstrap_servers=f"127.0.0.1:{port}"),
    ):
        pass
    with pytest.raises(ConfigError, match="did you mean 'client_id'"):
        SyncAdmin(clientid="x")
