"""Groups administered with the three libraries' own admin clients."""

import warnings
from contextlib import closing

import pytest

from groups.library_aiokafka import run
from groups.states import build
from groups.wire_coordinator import WireCoordinator
from support.data_topics import create_topic
from support.wire import Wire

with warnings.catch_warnings():
    # kafka-python reads its message schemas with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaAdminClient, OffsetAndMetadata
    from kafka import TopicPartition as KafkaPythonPartition
from aiokafka import TopicPartition as AiokafkaPartition
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from drumbeat.protocol.consumer_protocol import Assignment, TopicPartitions, encode_assignment

pytestmark = pytest.mark.clients

TIMEOUT_S = 10
# Admin clients read what members were given.
ASSIGNMENT = encode_assignment(Assignment((TopicPartitions("t1", (0, 1)),)), 0)


@pytest.fixture(scope="module")
def topics(servers):
    with Wire(servers) as wire:
        for name in ("t1", "t2"):
            create_topic(wire, name, partitions=4)


@pytest.fixture
def groups(servers, topics):
    """A Stable group and an Empty one, both with an offset of t1-0."""
    with WireCoordinator(servers) as coordinator:
        stable = build(coordinator, "completing")
        plan = dict.fromkeys(stable.member_ids.values(), ASSIGNMENT)
        stable.clients.sync(stable.member_id("leader"), 2, plan)
        stable.clients.commit(1, stable.member_id("leader"), 2)
        yield stable, build(coordinator, "empty")


def test_kafka_python(servers, groups):
    stable, empty = (group.clients.group_id for group in groups)
    partition = KafkaPythonPartition("t1", 0)
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        listed = {group["group_id"]: group["group_state"] for group in admin.list_groups()}
        assert (listed[stable], listed[empty]) == ("Stable", "Empty")
        only = {group["group_id"] for group in admin.list_groups(states_filter=["Empty"])}
        assert empty in only
        assert stable not in only
        described = admin.describe_groups([stable])[stable]
        assert (described["group_state"], len(described["members"])) == ("Stable", 2)
        assert admin.list_group_offsets({empty: [partition]})[empty][partition].offset == 1
        altered = admin.alter_group_offsets(empty, {partition: OffsetAndMetadata(3, "m", -1)})
        assert altered[partition].errno == 0
        assert admin.list_group_offsets([empty])[empty][partition].offset == 3
        refused = admin.delete_group_offsets(stable, [partition])
        assert refused[partition].errno == 86
        assert admin.delete_group_offsets(empty, [partition])[partition].errno == 0
        assert admin.list_group_offsets([empty])[empty] == {}
        results = admin.delete_groups([stable, empty, "no-such-group"])
    assert groups[1].state == "Dead"
    assert results == {
        stable: "NonEmptyGroupError",
        empty: "OK",
        "no-such-group": "GroupIdNotFoundError",
    }


def test_aiokafka(servers, groups):
    stable, empty = (group.clients.group_id for group in groups)

    async def administer():
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        try:
            listed = dict(await admin.list_consumer_groups())
            described = await admin.describe_consumer_groups([stable])
            offsets = await admin.list_consumer_group_offsets(empty)
        finally:
            await admin.close()
        return listed, described, offsets

    listed, described, offsets = run(administer())
    assert (listed[stable], listed[empty]) == ("consumer", "consumer")
    (group,) = described[0].groups
    assert (group[2], len(group[5])) == ("Stable", 2)
    assert offsets[AiokafkaPartition("t1", 0)].offset == 1


def test_confluent_kafka(servers, groups):
    stable, empty = (group.clients.group_id for group in groups)
    admin = AdminClient({"bootstrap.servers": servers})
    listed = admin.list_consumer_groups().result(TIMEOUT_S)
    assert not listed.errors
    states = {group.group_id: group.state for group in listed.valid}
    assert states[stable] == ConsumerGroupState.STABLE
    assert states[empty] == ConsumerGroupState.EMPTY
    filtered = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(TIMEOUT_S)
    assert stable not in {group.group_id for group in filtered.valid}
    described = admin.describe_consumer_groups([stable])[stable].result(TIMEOUT_S)
    assert (described.state, len(described.members)) == (ConsumerGroupState.STABLE, 2)
    assert described.partition_assignor == "range"
    _check_confluent_offsets(admin, empty)
    deleted = admin.delete_consumer_groups([stable, empty])
    assert deleted[empty].result(TIMEOUT_S) is None
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        deleted[stable].result(TIMEOUT_S)
    assert groups[1].state == "Dead"


def _check_confluent_offsets(admin: AdminClient, group_id: str) -> None:
    wanted = ConsumerGroupTopicPartitions(group_id, [TopicPartition("t1", 0)])
    found = admin.list_consumer_group_offsets([wanted])[group_id].result(TIMEOUT_S)
    assert found.topic_partitions[0].offset == 1
    changed = ConsumerGroupTopicPartitions(group_id, [TopicPartition("t1", 0, 7)])
    admin.alter_consumer_group_offsets([changed])[group_id].result(TIMEOUT_S)
    everything = ConsumerGroupTopicPartitions(group_id)
    found = admin.list_consumer_group_offsets([everything])[group_id].result(TIMEOUT_S)
    assert [(p.topic, p.partition, p.offset) for p in found.topic_partitions] == [("t1", 0, 7)]
