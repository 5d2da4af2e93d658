"""Where one node that keeps one copy answers otherwise than Apache Kafka, on purpose."""

import pytest

from drumbeat.protocol.apis.alter_configs import API as ALTER_CONFIGS
from drumbeat.protocol.apis.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from drumbeat.protocol.apis.create_partitions import API as CREATE_PARTITIONS
from drumbeat.protocol.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from drumbeat.protocol.apis.create_topics import API as CREATE_TOPICS
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.init_producer_id import API as INIT_PRODUCER_ID
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.apis.metadata import API as METADATA
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import BatchOptions
from drumbeat.runtime.record_validation import DECOMPRESSED_BYTES_MAX
from drumbeat.testing import Cluster
from support.data_topics import (
    FETCH,
    PRODUCE,
    batch,
    create_topic,
    fetch_from,
    fetch_request,
    fresh_name,
    produce_request,
    produce_to,
    values_in,
)
from support.topics import described
from support.unsound_batches import (
    ATTRIBUTES_AT,
    FIRST_RECORD,
    TWO_RECORDS,
    changed,
    holding,
)
from support.wire import Wire, request_frame

NONE = ErrorCode.NONE
TOPIC = 2  # a resource type
TRANSACTIONS_REFUSED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.mark.parametrize("version", CREATE_TOPICS.versions)
def test_any_replication_factor_is_accepted_and_one_copy_kept(wire, version):
    """Clients' code and tools ask for three; Kafka wants as many brokers."""
    name = fresh_name()
    request = CreateTopicsRequest((CreatableTopic(name, 1, 3),))
    (topic,) = wire.call(CREATE_TOPICS, version, request).topics
    assert (topic.error_code, topic.replication_factor) == (NONE, 3 if version >= 5 else -1)
    (partition,) = described(wire, name).partitions
    assert (partition.replica_nodes, partition.isr_nodes) == ((1,), (1,))


@pytest.mark.parametrize("version", ALTER_CONFIGS.versions)
def test_alter_configs_that_names_a_resource_twice_is_refused(wire, version):
    """Kafka never answers."""
    topic, other = create_topic(wire), create_topic(wire)
    configs = (AlterableConfig("retention.ms", "1234"),)
    resources = tuple(
        AlterConfigsResource(TOPIC, name, configs) for name in (topic.name, other.name, topic.name)
    )
    responses = wire.call(ALTER_CONFIGS, version, AlterConfigsRequest(resources)).responses
    assert [r.error_code for r in responses] == [
        ErrorCode.INVALID_REQUEST,
        NONE,
        ErrorCode.INVALID_REQUEST,
    ]


def test_a_missing_topic_is_created_before_the_answer(wire):
    """Kafka answers UNKNOWN_TOPIC_OR_PARTITION first and creates meanwhile."""
    name = fresh_name()
    asked = MetadataRequest((MetadataRequestTopic(name=name),), allow_auto_topic_creation=True)
    (topic,) = wire.call(METADATA, METADATA.versions[-1], asked).topics
    assert (topic.error_code, len(topic.partitions)) == (NONE, 1)


def test_a_partition_has_no_epoch_before_it_is_used(wire):
    name = fresh_name()
    wire.call(CREATE_TOPICS, 7, CreateTopicsRequest((CreatableTopic(name, 1, 1),)))
    assert described(wire, name).partitions[0].leader_epoch == -1


def test_there_are_no_fetch_sessions(wire):
    """Every answer carries session id 0, so clients send whole requests (KIP-227)."""
    topic = create_topic(wire)
    response = wire.call(FETCH, 12, fetch_request(topic, session_id=0, session_epoch=0))
    assert (response.error_code, response.session_id) == (NONE, 0)


def test_a_topic_grows_by_at_most_ten_thousand_partitions(wire):
    topic = create_topic(wire)
    for total, error_code in ((10_002, ErrorCode.POLICY_VIOLATION), (10_001, NONE)):
        asked = CreatePartitionsTopic(topic.name, total, None)
        request = CreatePartitionsRequest((asked,), 5000, validate_only=True)
        (result,) = wire.call(CREATE_PARTITIONS, 3, request).results
        assert result.error_code == error_code


@pytest.mark.parametrize("version", [INIT_PRODUCER_ID.versions[0], INIT_PRODUCER_ID.versions[-1]])
def test_transactional_ids_are_refused(wire, version):
    request = InitProducerIdRequest("transaction", 60_000)
    response = wire.call(INIT_PRODUCER_ID, version, request)
    assert response.error_code == TRANSACTIONS_REFUSED
    assert (response.producer_id, response.producer_epoch) == (-1, -1)
    topic = create_topic(wire)
    written = produce_request(topic, batch(b"a"))._replace(transactional_id="transaction")
    (answered,) = wire.call(PRODUCE, 9, written).responses
    assert answered.partition_responses[0].error_code == TRANSACTIONS_REFUSED


def test_a_partition_without_records_is_refused_and_others_are_not(wire):
    """Kafka does not answer a request with null records at all."""
    topic = create_topic(wire)
    assert produce_to(wire, topic, None).error_code == ErrorCode.INVALID_RECORD
    assert produce_to(wire, topic, batch(b"a")).base_offset == 0


def test_a_node_in_memory_serves_the_same(tmp_path):
    with Cluster() as cluster, Wire(cluster.bootstrap_servers) as wire:
        name = fresh_name()
        wire.call(CREATE_TOPICS, 7, CreateTopicsRequest((CreatableTopic(name, 1, 1),)))
        topic_id = described(wire, name).topic_id
        topic = type(create_topic(wire))(name, topic_id)
        wire.send_bytes(request_frame(PRODUCE, 9, produce_request(topic, batch(b"a"), acks=0)))
        assert produce_to(wire, topic, batch(b"b")).base_offset == 1
        assert values_in(fetch_from(wire, topic).records) == [b"a", b"b"]
    assert list(tmp_path.iterdir()) == []


OTHER_REFUSALS = {
    "no number": holding(b"\xff" * 40),
    "an offset twice": holding(FIRST_RECORD * 2),
    "an offset twice, compressed": holding(FIRST_RECORD * 2, Codec.GZIP),
    "a compressed record announces more than it has": holding(
        bytes([TWO_RECORDS[0] + 40]) + TWO_RECORDS[1:], Codec.LZ4
    ),
    "a compressed record announces less than it has": holding(
        bytes([TWO_RECORDS[0] - 2]) + TWO_RECORDS[1:], Codec.GZIP
    ),
    "what is not compressed": changed(batch(b"first", b"second"), ATTRIBUTES_AT, ">h", Codec.LZ4),
    "more than may be decompressed": batch(
        *[bytes(1 << 20)] * ((DECOMPRESSED_BYTES_MAX >> 20) + 1),
        options=BatchOptions(codec=Codec.LZ4),
    ),
}


@pytest.mark.parametrize("data", OTHER_REFUSALS.values(), ids=OTHER_REFUSALS.keys())
def test_what_consumers_could_not_read_is_the_producers_fault(wire, data):
    """Kafka takes some of these, and answers UNKNOWN_SERVER_ERROR to others."""
    topic = create_topic(wire)
    response = produce_to(wire, topic, data)
    assert (response.error_code, response.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert response.error_message
    assert fetch_from(wire, topic).records == b""
