"""Changes that clients make to one topic at the same time: none is lost."""

from contextlib import ExitStack

import pytest

from drumbeat.protocol.apis.create_partitions import API as CREATE_PARTITIONS
from drumbeat.protocol.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from drumbeat.protocol.apis.create_topics import API as CREATE_TOPICS
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.delete_topics import API as DELETE_TOPICS
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest
from drumbeat.protocol.apis.describe_configs import API as DESCRIBE_CONFIGS
from drumbeat.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from drumbeat.protocol.apis.incremental_alter_configs import API as INCREMENTAL_ALTER_CONFIGS
from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from drumbeat.protocol.errors import ErrorCode
from support.brokers import start_broker
from support.data_topics import (
    PRODUCE,
    batch,
    create_topic,
    fresh_name,
    produce_request,
    produce_to,
)
from support.topics import await_gone, partition_count
from support.waiting import wait_until
from support.wire import Wire

NONE = ErrorCode.NONE
TOPIC, BROKER, SET = 2, 4, 0
CLIENTS = 8


@pytest.fixture
def wires(bootstrap_servers):
    """Connections whose requests are on their way at the same time."""
    with ExitStack() as stack:
        yield [stack.enter_context(Wire(bootstrap_servers)) for _ in range(CLIENTS)]


def call_all(wires, api, version, requests):
    for wire, request in zip(wires, requests, strict=True):
        wire.send(api, version, request)
    return [wire.receive() for wire in wires]


def setting(kind, name, key, value):
    resource = AlterConfigsResource(kind, name, (AlterableConfig(key, SET, value),))
    return IncrementalAlterConfigsRequest((resource,))


def set_configs(wire, kind, name, keys):
    asked = DescribeConfigsRequest((DescribeConfigsResource(kind, name, tuple(keys)),))
    (result,) = wire.call(DESCRIBE_CONFIGS, 4, asked).results
    return {config.name: config.value for config in result.configs}


TOPIC_CONFIGS = {
    "retention.ms": "1001",
    "retention.bytes": "1002",
    "segment.bytes": "2000000",
    "segment.ms": "1004",
    "max.message.bytes": "1005",
    "index.interval.bytes": "1006",
    "delete.retention.ms": "1007",
    "flush.messages": "1008",
}
BROKER_CONFIGS = {
    "log.retention.ms": "700001",
    "log.retention.bytes": "1002",
    "log.segment.bytes": "2000000",
    "log.roll.ms": "1004",
    "log.cleaner.delete.retention.ms": "1007",
    "log.index.interval.bytes": "1006",
    "log.flush.interval.messages": "1008",
    "log.cleaner.min.compaction.lag.ms": "9",
}


def test_every_config_of_a_topic_is_set(wire, wires):
    topic = create_topic(wire)
    requests = [setting(TOPIC, topic.name, key, value) for key, value in TOPIC_CONFIGS.items()]
    call_all(wires, INCREMENTAL_ALTER_CONFIGS, 1, requests)
    wait_until(
        lambda: set_configs(wire, TOPIC, topic.name, TOPIC_CONFIGS) == TOPIC_CONFIGS,
        5.0,
        "all configs",
    )


def test_every_config_of_a_broker_is_set(tmp_path):
    with start_broker(tmp_path) as servers, ExitStack() as stack:
        wires = [stack.enter_context(Wire(servers)) for _ in range(CLIENTS)]
        requests = [setting(BROKER, "1", key, value) for key, value in BROKER_CONFIGS.items()]
        call_all(wires, INCREMENTAL_ALTER_CONFIGS, 1, requests)
        wait_until(
            lambda: set_configs(wires[0], BROKER, "1", BROKER_CONFIGS) == BROKER_CONFIGS,
            5.0,
            "all configs",
        )


def test_a_topic_that_many_grow_never_shrinks(wire, wires):
    topic = create_topic(wire)
    totals = (9, 2, 8, 3, 7, 4, 6, 5)
    requests = [
        CreatePartitionsRequest((CreatePartitionsTopic(topic.name, total, None),), 5000)
        for total in totals
    ]
    responses = call_all(wires, CREATE_PARTITIONS, 3, requests)
    grown_to = [
        total
        for total, response in zip(totals, responses, strict=True)
        if response.results[0].error_code == NONE
    ]
    assert 9 in grown_to
    wait_until(lambda: partition_count(wire, topic.name) == 9, 5.0, "nine partitions")


def test_a_name_is_given_once(wires):
    name = fresh_name()
    requests = [CreateTopicsRequest((CreatableTopic(name, n + 1, 1),)) for n in range(CLIENTS)]
    responses = call_all(wires, CREATE_TOPICS, 7, requests)
    codes = sorted(response.topics[0].error_code for response in responses)
    assert codes == [NONE] + [ErrorCode.TOPIC_ALREADY_EXISTS] * (CLIENTS - 1)


def test_a_topic_is_deleted_once_whatever_else_is_asked_of_it(wire, wires):
    """Producers and changes that come too late do not bring it back."""
    for _ in range(10):
        topic = create_topic(wire, partitions=4)
        deleting, growing, configuring, *producers = wires
        deletion = DeleteTopicsRequest(topic_names=(topic.name,), timeout_ms=5000)
        growth = CreatePartitionsRequest((CreatePartitionsTopic(topic.name, 6, None),), 5000)
        deleting.send(DELETE_TOPICS, 4, deletion)
        growing.send(CREATE_PARTITIONS, 3, growth)
        configuring.send(
            INCREMENTAL_ALTER_CONFIGS, 1, setting(TOPIC, topic.name, "segment.ms", "9")
        )
        for partition, producer in enumerate(producers[:4]):
            producer.send(PRODUCE, 9, produce_request(topic, batch(b"v"), partition=partition))
        for connection in (deleting, growing, configuring, *producers[:4]):
            connection.receive()
        await_gone(wire, topic.name)
        again = create_topic(wire, topic.name, partitions=4)
        assert again.topic_id != topic.topic_id
        for partition in range(4):
            assert produce_to(wire, again, batch(b"v"), partition=partition).base_offset == 0
