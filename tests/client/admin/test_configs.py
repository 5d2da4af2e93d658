"""Configs of topics, brokers and groups, against a running node."""

import pytest

from drumbeat.client.admin import (
    AlterConfig,
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from drumbeat.client.errors import KafkaError, UnknownTopicOrPartitionError
from drumbeat.protocol.errors import ErrorCode
from support.data_topics import fresh_name

BROKER = ConfigResource(ConfigResourceType.BROKER, "1")


@pytest.fixture
def topic(admin) -> ConfigResource:
    name = fresh_name("configs")
    admin.create_topics([name])
    return ConfigResource(ConfigResourceType.TOPIC, name)


def test_all_or_some(admin, topic):
    everything = admin.describe_configs([topic, BROKER])
    assert everything[topic]["cleanup.policy"].value == "delete"
    assert everything[topic]["cleanup.policy"].is_default
    assert "log.retention.ms" in everything[BROKER]
    some = admin.describe_configs([topic], keys=["retention.ms"])
    assert list(some[topic]) == ["retention.ms"]


def test_synonyms_and_documentation_on_request(admin, topic):
    plain = admin.describe_configs([topic])[topic]["retention.ms"]
    assert (plain.synonyms, plain.documentation) == ((), None)
    admin.incremental_alter_configs({topic: [AlterConfig("retention.ms", "5")]})
    full = admin.describe_configs([topic], include_synonyms=True, include_documentation=True)
    entry = full[topic]["retention.ms"]
    assert entry.documentation
    assert entry.synonyms[0][1:] == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)


# Changes one after the other, and what cleanup.policy is then.
CHANGES = [
    (AlterConfig("cleanup.policy", "compact"), "compact"),
    (AlterConfig("cleanup.policy", "delete", AlterConfigOp.APPEND), "compact,delete"),
    (AlterConfig("cleanup.policy", "compact", AlterConfigOp.SUBTRACT), "delete"),
    (AlterConfig("cleanup.policy", op=AlterConfigOp.DELETE), "delete"),
]


def test_changes(admin, topic):
    for change, expected in CHANGES:
        admin.incremental_alter_configs({topic: [change]})
        entry = admin.describe_configs([topic])[topic]["cleanup.policy"]
        assert entry.value == expected
        assert entry.is_default == (change.op is AlterConfigOp.DELETE)


def test_validation_changes_nothing(admin, topic):
    admin.incremental_alter_configs({topic: [AlterConfig("retention.ms", "5")]}, validate_only=True)
    assert admin.describe_configs([topic])[topic]["retention.ms"].is_default


def test_errors_name_the_resource(admin, topic):
    missing = ConfigResource(ConfigResourceType.TOPIC, "missing")
    with pytest.raises(UnknownTopicOrPartitionError, match="topic 'missing'"):
        admin.describe_configs([missing])
    nobody = ConfigResource(ConfigResourceType.BROKER, "nobody")
    with pytest.raises(KafkaError, match="broker 'nobody'"):
        admin.describe_configs([nobody])
    with pytest.raises(KafkaError, match=topic.name) as caught:
        admin.incremental_alter_configs({topic: [AlterConfig("retention.ms", "soon")]})
    assert caught.value.code is ErrorCode.INVALID_CONFIG
