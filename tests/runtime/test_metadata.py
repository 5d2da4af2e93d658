"""Metadata: the cluster and its topics, at every version; topics that come into being by asking."""

import pytest

from drumbeat.protocol.apis.metadata import API as METADATA
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID
from support.brokers import start_broker
from support.data_topics import create_topic, fresh_name, lowest_and_highest
from support.topics import described, not_created
from support.waiting import wait_until
from support.wire import Wire

VERSIONS = lowest_and_highest(METADATA)
HIGHEST = VERSIONS[1]
CREATION_IS_OPTIONAL_SINCE = 4
NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NOT_ASKED = -(2**31)


def ask(wire, version, *names, may_create=False, **fields):
    topics = tuple(MetadataRequestTopic(name=name) for name in names)
    request = MetadataRequest(topics, allow_auto_topic_creation=may_create, **fields)
    return wire.call(METADATA, version, request)


def names_in(response):
    return {topic.name for topic in response.topics}


@pytest.mark.parametrize("version", METADATA.versions)
def test_a_topic_and_its_leader(wire, bootstrap_servers, version):
    topic = create_topic(wire, partitions=3)
    response = ask(wire, version, topic.name)
    host, port = bootstrap_servers.rsplit(":", 1)
    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port, broker.rack) == (1, host, int(port), None)
    assert response.controller_id == (1 if version >= 1 else -1)
    assert (response.cluster_id is not None) == (version >= 2)
    (found,) = response.topics
    assert (found.error_code, found.name, found.is_internal) == (NONE, topic.name, False)
    assert found.topic_id == (topic.topic_id if version >= 10 else NULL_UUID)
    assert sorted(p.partition_index for p in found.partitions) == [0, 1, 2]
    for partition in found.partitions:
        assert (partition.error_code, partition.leader_id) == (NONE, 1)
        assert (partition.replica_nodes, partition.isr_nodes) == ((1,), (1,))
        assert partition.offline_replicas == ()
        assert (partition.leader_epoch >= 0) == (version >= 7)


def test_the_cluster_id_stays(wire):
    ids = {ask(wire, version).cluster_id for version in (2, 9, HIGHEST)}
    assert len(ids) == 1
    assert len(ids.pop()) == 22


@pytest.mark.parametrize(
    ("version", "topics", "is_all"),
    [
        (0, (), True),
        (1, (), False),
        (HIGHEST, (), False),
        (1, None, True),
        (8, None, True),
        (HIGHEST, None, True),
    ],
)
def test_all_topics_and_none(wire, version, topics, is_all):
    topic, other = create_topic(wire), create_topic(wire)
    response = wire.call(METADATA, version, MetadataRequest(topics))
    if is_all:
        assert {topic.name, other.name} <= names_in(response)
    else:
        assert response.topics == ()
    assert len(response.brokers) == 1


@pytest.mark.parametrize("version", METADATA.versions)
def test_illegal_names(wire, version):
    response = ask(wire, version, "", "a b", "x" * 250, may_create=True)
    assert {(t.name, t.error_code) for t in response.topics} == {
        (name, ErrorCode.INVALID_TOPIC_EXCEPTION) for name in ("", "a b", "x" * 250)
    }


@pytest.mark.parametrize("version", range(CREATION_IS_OPTIONAL_SINCE, HIGHEST + 1))
def test_asking_creates_nothing_unless_the_client_says_so(wire, version):
    name, topic = fresh_name(), create_topic(wire)
    response = ask(wire, version, name, topic.name)
    assert {(t.name, t.error_code) for t in response.topics} == {
        (name, UNKNOWN),
        (topic.name, NONE),
    }
    assert not_created(wire, name).error_code == UNKNOWN


@pytest.mark.parametrize("version", METADATA.versions)
def test_asking_creates_a_topic_where_the_client_says_so(wire, version):
    """Before v4 there was no saying no."""
    name = fresh_name()
    # Apache Kafka answers the first time with an error and creates meanwhile; clients ask again.
    wait_until(
        lambda: ask(wire, version, name, may_create=True).topics[0].error_code == NONE,
        10.0,
        f"{name} to be created",
    )
    assert len(described(wire, name).partitions) == 1


@pytest.fixture(scope="module")
def without_creation(tmp_path_factory):
    settings = {"auto.create.topics.enable": "false"}
    folder = tmp_path_factory.mktemp("without-creation")
    with start_broker(folder, settings) as servers, Wire(servers) as connection:
        yield connection


@pytest.mark.parametrize("version", VERSIONS)
def test_auto_create_topics_enable(without_creation, version):
    name = fresh_name()
    response = ask(without_creation, version, name, may_create=True)
    assert [(t.name, t.error_code) for t in response.topics] == [(name, UNKNOWN)]
    assert not_created(without_creation, name).error_code == UNKNOWN


def test_num_partitions_is_what_a_created_topic_gets(tmp_path):
    settings = {"num.partitions": "4", "default.replication.factor": "1"}
    with start_broker(tmp_path, settings) as servers, Wire(servers) as wire:
        name = fresh_name()
        wait_until(
            lambda: ask(wire, HIGHEST, name, may_create=True).topics[0].error_code == NONE,
            10.0,
            f"{name} to be created",
        )
        assert len(described(wire, name).partitions) == 4


# -- by id ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [12, 13])
def test_by_id(wire, version):
    topic = create_topic(wire)
    for topic_id, name, error_code in (
        (topic.topic_id, topic.name, NONE),
        (b"\x04" * 16, None, ErrorCode.UNKNOWN_TOPIC_ID),
    ):
        asked = MetadataRequest((MetadataRequestTopic(topic_id, None),))
        (found,) = wire.call(METADATA, version, asked).topics
        assert (found.topic_id, found.name, found.error_code) == (topic_id, name, error_code)


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic_id", [b"\x04" * 16, None], ids=["unknown id", "its own id"])
@pytest.mark.parametrize("is_named", [True, False])
def test_versions_that_have_an_id_but_may_not_ask_by_it(wire, version, topic_id, is_named):
    topic = create_topic(wire)
    asked = (
        MetadataRequestTopic(topic_id or topic.topic_id, topic.name if is_named else None),
        MetadataRequestTopic(name="another"),
    )
    answered = wire.call(METADATA, version, MetadataRequest(asked)).topics
    assert [(t.error_code, t.topic_id, t.name) for t in answered] == [
        (ErrorCode.INVALID_REQUEST, one.topic_id, one.name or "") for one in asked
    ]


@pytest.mark.parametrize("version", [1, HIGHEST])
def test_internal_topics_are_told_before_they_are_there(without_creation, version):
    names = ("__transaction_state", "__share_group_state", fresh_name())
    response = ask(without_creation, version, *names)
    assert {t.name: (t.error_code, t.is_internal) for t in response.topics} == {
        name: (UNKNOWN, name.startswith("__")) for name in names
    }


# -- authorised operations (KIP-430) -------------------------------------------------------------

TOPIC_OPERATIONS = 0b1101_1111_1000  # read to describe, describe and alter configs
CLUSTER_OPERATIONS = 0b1_1111_1010_0000


@pytest.mark.parametrize("version", range(8, HIGHEST + 1))
def test_authorised_operations_are_told_if_asked_for(wire, version):
    topic = create_topic(wire)
    told = ask(
        wire,
        version,
        topic.name,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=version <= 10,
    )
    assert told.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    if version <= 10:
        assert told.cluster_authorized_operations == CLUSTER_OPERATIONS
    untold = ask(wire, version, topic.name)
    assert untold.topics[0].topic_authorized_operations == NOT_ASKED
    assert untold.cluster_authorized_operations == NOT_ASKED
