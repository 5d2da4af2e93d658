"""Groups and their offsets, against a running node with members of another library."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from drumbeat.client.admin import MemberToRemove, NewTopic, ResetTo, SomeFailedError
from drumbeat.client.admin.groups import _consumer_group
from drumbeat.client.errors import (
    GroupIdNotFoundError,
    GroupNotEmptyError,
    KafkaError,
    UnknownMemberIdError,
)
from drumbeat.client.producer import SyncProducer
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.protocol.apis import consumer_group_describe as described
from drumbeat.protocol.errors import ErrorCode
from support.data_topics import fresh_name
from support.waiting import wait_until

TIMEOUT_S = 20.0


@pytest.fixture(scope="module")
def topic(admin, bootstrap_servers) -> str:
    """Two partitions with ten records each, of the milliseconds 0, 100, 200 ..."""
    name = fresh_name("groups")
    admin.create_topics([NewTopic(name=name, num_partitions=2)])
    with SyncProducer(bootstrap_servers=bootstrap_servers) as producer:
        for number in range(20):
            timestamp_ms = number // 2 * 100
            producer.send(name, b"v", partition=number % 2, timestamp_ms=timestamp_ms)
    return name


@pytest.fixture
def empty(admin, topic) -> str:
    """A group that has committed and has no members."""
    group_id = fresh_name("empty")
    offsets = {TopicPartition(topic, 0): 5, TopicPartition(topic, 1): OffsetAndMetadata(6, "note")}
    admin.alter_group_offsets(group_id, offsets)
    return group_id


@pytest.fixture
def stable(admin, bootstrap_servers, topic) -> Iterator[str]:
    """A group with one static member that owns both partitions."""
    group_id = fresh_name("stable")
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group_id,
            "group.instance.id": "i-1",
            "client.id": "reader",
        }
    )
    consumer.subscribe([topic])

    def is_assigned() -> bool:
        consumer.poll(0.05)
        return len(consumer.assignment()) == 2

    wait_until(is_assigned, TIMEOUT_S, "assignment")
    yield group_id
    consumer.close()


def test_listed_by_state_and_type(admin, empty, stable):
    def listed(**filters) -> set[str]:
        return {group.group_id for group in admin.list_groups(**filters)} & {empty, stable}

    assert listed() == {empty, stable}
    assert listed(states=["Stable"]) == {stable}
    assert listed(states=["Empty"], types=["classic"]) == {empty}
    assert listed(types=["consumer"]) == set()


def test_described(admin, topic, empty, stable):
    found = admin.describe_groups([empty, stable])
    assert (found[empty].state, found[empty].members) == ("Empty", ())
    group = found[stable]
    assert (group.state, group.type, group.protocol_type) == ("Stable", "classic", "consumer")
    assert group.coordinator in admin.describe_cluster().brokers
    (member,) = group.members
    assert (member.group_instance_id, member.client_id) == ("i-1", "reader")
    assert member.assignment == (TopicPartition(topic, 0), TopicPartition(topic, 1))
    assert member.subscription == (topic,)


def test_a_group_of_the_consumer_protocol_has_epochs():
    at_first, later = (
        described.Assignment((described.TopicPartitions(topic_name="t", partitions=numbers),))
        for numbers in ((0,), (0, 1))
    )
    member = described.Member(
        member_id="m",
        client_id="c",
        member_epoch=4,
        subscribed_topic_names=("t",),
        assignment=at_first,
        target_assignment=later,
    )
    group = _consumer_group(
        described.DescribedGroup(
            group_id="g",
            group_state="Reconciling",
            group_epoch=5,
            assignment_epoch=5,
            assignor_name="uniform",
            members=(member,),
        )
    )
    assert (group.type, group.protocol, group.epoch) == ("consumer", "uniform", 5)
    (one,) = group.members
    assert (one.epoch, one.assignment) == (4, (TopicPartition("t", 0),))
    assert one.target_assignment == (TopicPartition("t", 0), TopicPartition("t", 1))


def test_what_is_not_there(admin, empty):
    for call in (admin.describe_groups, admin.delete_groups):
        with pytest.raises(GroupIdNotFoundError, match="missing"):
            call(["missing"])
    with pytest.raises(SomeFailedError, match="1 of 2 failed: missing"):
        admin.describe_groups([empty, "missing"])
    assert admin.list_group_offsets(["missing"]) == {"missing": {}}


def test_deleted(admin, empty, stable):
    with pytest.raises(GroupNotEmptyError, match="stop its consumers first"):
        admin.delete_groups([stable])
    admin.delete_groups([empty])
    assert admin.list_group_offsets([empty]) == {empty: {}}


@pytest.mark.parametrize("members", [None, [MemberToRemove(group_instance_id="i-1")]])
def test_members_are_removed(admin, stable, members):
    admin.remove_members(stable, members)
    assert all(
        m.group_instance_id != "i-1" for m in admin.describe_groups([stable])[stable].members
    )


def test_removing_a_stranger(admin, stable):
    with pytest.raises(UnknownMemberIdError, match="nobody"):
        admin.remove_members(stable, [MemberToRemove(group_instance_id="nobody")])


def test_offsets_of_several_groups(admin, topic, empty, stable):
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert admin.list_group_offsets([empty, stable]) == {
        empty: {first: OffsetAndMetadata(5), second: OffsetAndMetadata(6, "note")},
        stable: {},
    }
    some = admin.list_group_offsets([empty], partitions=[second], require_stable=True)
    assert list(some[empty]) == [second]


def test_offsets_as_brokers_before_3_0_give_them(admin, topic, empty):
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def fetch(wanted) -> dict[TopicPartition, OffsetAndMetadata]:
        node_id = await admin.asynchronous._cluster.coordinator(empty)
        return await admin.asynchronous._fetch_one(node_id, empty, wanted)

    assert set(admin.run(fetch(None))) == {first, second}
    assert admin.run(fetch({topic: [second]})) == {second: OffsetAndMetadata(6, "note")}


def test_offsets_of_a_group_with_members_are_its_own(admin, topic, stable):
    with pytest.raises(GroupNotEmptyError, match="stop them first"):
        admin.alter_group_offsets(stable, {TopicPartition(topic, 0): 1})
    with pytest.raises(KafkaError, match=topic) as caught:
        admin.delete_group_offsets(stable, [TopicPartition(topic, 0)])
    assert caught.value.code is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


def test_single_offsets_are_deleted(admin, topic, empty):
    admin.delete_group_offsets(empty, [TopicPartition(topic, 0)])
    assert list(admin.list_group_offsets([empty])[empty]) == [TopicPartition(topic, 1)]
    with pytest.raises(GroupIdNotFoundError):
        admin.delete_group_offsets("missing", [TopicPartition(topic, 0)])


# Partition 0 was at 5, partition 1 at 6; both hold 0 to 9.
RESETS = [
    (ResetTo.earliest(), [0, 0]),
    (ResetTo.latest(), [10, 10]),
    (ResetTo.offset(3), [3, 3]),
    (ResetTo.shift(-2), [3, 4]),
    (ResetTo.shift(100), [10, 10]),
    (ResetTo.timestamp(250), [3, 3]),
    (ResetTo.duration(1000), [10, 10]),
    (ResetTo.current(), [5, 6]),
]


@pytest.mark.parametrize(("to", "after"), RESETS, ids=[f"{to.choice}" for to, _ in RESETS])
def test_reset(admin, topic, empty, to, after):
    rows = admin.reset_group_offsets(empty, to, dry_run=True)
    assert [row.before for row in rows] == [5, 6]
    assert [row.after for row in rows] == after
    assert [c.offset for c in admin.list_group_offsets([empty])[empty].values()] == [5, 6]
    assert admin.reset_group_offsets(empty, to) == rows
    assert [c.offset for c in admin.list_group_offsets([empty])[empty].values()] == after


def test_reset_to_another_group_and_from_lines(admin, topic, empty):
    fresh = fresh_name("copy")
    rows = admin.reset_group_offsets(fresh, ResetTo.group(empty), topics=[topic])
    assert [(row.before, row.after) for row in rows] == [(None, 5), (None, 6)]
    rows = admin.reset_group_offsets(fresh, ResetTo.lines([f"{topic},1,2"]))
    assert [(row.topic_partition.partition, row.before, row.after) for row in rows] == [(1, 6, 2)]
    rows = admin.reset_group_offsets(fresh_name("copy"), ResetTo.group(empty), dry_run=True)
    assert [(row.before, row.after) for row in rows] == [(None, 5), (None, 6)]


def test_reset_of_one_partition(admin, topic, empty):
    tp = TopicPartition(topic, 1)
    admin.reset_group_offsets(empty, ResetTo.earliest(), partitions=[tp])
    offsets = admin.list_group_offsets([empty])[empty]
    assert [commit.offset for commit in offsets.values()] == [5, 0]


def test_reset_of_a_group_with_members(admin, topic, stable):
    with pytest.raises(SomeFailedError) as caught:
        admin.reset_group_offsets(stable, ResetTo.earliest(), topics=[topic])
    assert {type(error) for error in caught.value.errors.values()} == {GroupNotEmptyError}
