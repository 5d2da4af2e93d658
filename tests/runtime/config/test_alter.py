"""AlterConfigs and IncrementalAlterConfigs: taken whole or refused with Kafka's error."""

import pytest

from drumbeat.runtime.config import load_config
from drumbeat.runtime.config.alter import (
    AlterOperation,
    OpType,
    Refusal,
    alter_broker,
    alter_topic,
    replace_broker,
    replace_topic,
    validate_topic,
)

BROKER = load_config(None).config
SET, DELETE, APPEND, SUBTRACT = OpType

# overrides before; operations; overrides after. Observed from Kafka 4.3.1.
TAKEN = [
    ({}, [("retention.ms", SET, "5")], {"retention.ms": "5"}),
    ({}, [("retention.ms", SET, "+5")], {"retention.ms": "+5"}),
    ({}, [("preallocate", SET, " TRUE ")], {"preallocate": " TRUE "}),
    ({"retention.ms": "5"}, [("retention.ms", DELETE, None)], {}),
    ({}, [("retention.ms", DELETE, "ignored")], {}),
    ({}, [("nope", DELETE, "")], {}),
    ({}, [("cleanup.policy", APPEND, "compact")], {"cleanup.policy": "delete,compact"}),
    ({}, [("cleanup.policy", APPEND, "delete")], {"cleanup.policy": "delete"}),
    ({}, [("cleanup.policy", APPEND, "compact,,")], {"cleanup.policy": "delete,compact"}),
    ({}, [("cleanup.policy", APPEND, ",")], {"cleanup.policy": "delete"}),
    ({}, [("cleanup.policy", APPEND, " delete")], {"cleanup.policy": "delete, delete"}),
    (
        {"cleanup.policy": "compact, delete"},
        [("cleanup.policy", SUBTRACT, "delete")],
        {"cleanup.policy": "compact, delete"},
    ),
    (
        {"cleanup.policy": "compact"},
        [("cleanup.policy", SUBTRACT, "compact")],
        {"cleanup.policy": ""},
    ),
    ({}, [("cleanup.policy", SUBTRACT, "compact,delete")], {"cleanup.policy": ""}),
    ({}, [("cleanup.policy", SET, "")], {"cleanup.policy": ""}),
    (
        {},
        [("leader.replication.throttled.replicas", SET, "*")],
        {"leader.replication.throttled.replicas": "*"},
    ),
    (
        {"segment.ms": "7"},
        [
            ("retention.ms", SET, "5"),
            ("segment.ms", DELETE, None),
            ("min.insync.replicas", SET, "2"),
        ],
        {"retention.ms": "5", "min.insync.replicas": "2"},
    ),
]

# operations; error; a part of the message. Observed from Kafka 4.3.1, the words are ours.
REFUSED = [
    ([("retention.ms", APPEND, "1")], "INVALID_CONFIG", "APPEND needs a key whose value is a list"),
    ([("nope", SUBTRACT, "1")], "INVALID_CONFIG", "SUBTRACT needs a key whose value is a list"),
    ([("nope", SET, "1")], "INVALID_CONFIG", "unknown topic config nope"),
    ([("num.partitions", SET, "1")], "INVALID_CONFIG", "unknown topic config num.partitions"),
    ([("retention.ms", SET, "x")], "INVALID_CONFIG", "retention.ms: expected a whole number of"),
    ([("retention.ms", SET, "-2")], "INVALID_CONFIG", "at least -1, got '-2'"),
    ([("segment.bytes", SET, "1000")], "INVALID_CONFIG", "at least 1048576, got '1000'"),
    ([("cleanup.policy", SET, "x")], "INVALID_CONFIG", "one of compact, delete, got 'x'"),
    ([("cleanup.policy", APPEND, "x")], "INVALID_CONFIG", "one of compact, delete, got 'delete,x'"),
    ([("min.insync.replicas", SET, "0")], "INVALID_CONFIG", "at least 1, got '0'"),
    ([("compression.type", SET, "none")], "INVALID_CONFIG", "one of uncompressed, zstd"),
    ([("remote.storage.enable", SET, "true")], "INVALID_CONFIG", "no tiered storage here"),
    (
        [("min.compaction.lag.ms", SET, "5"), ("max.compaction.lag.ms", SET, "4")],
        "INVALID_CONFIG",
        "min.compaction.lag.ms: expected at most max.compaction.lag.ms (4), got 5",
    ),
    (
        [("retention.ms", SET, "1" * 32_768)],
        "INVALID_CONFIG",
        "at most 32767 characters, got 32768",
    ),
    (
        [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
        "INVALID_REQUEST",
        "more than once: retention.ms",
    ),
    ([("retention.ms", SET, None)], "INVALID_REQUEST", "no value given for retention.ms"),
    ([("retention.ms", 4, "1")], "INVALID_REQUEST", "retention.ms: unknown operation 4"),
]


def operations(rows):
    return [AlterOperation(*row) for row in rows]


def validated(altered):
    return altered if isinstance(altered, Refusal) else validate_topic(altered, BROKER) or altered


@pytest.mark.parametrize(("before", "rows", "after"), TAKEN)
def test_a_topics_overrides_change(before, rows, after):
    frozen = dict(before)
    assert validated(alter_topic(before, operations(rows))) == after
    assert before == frozen


@pytest.mark.parametrize(("rows", "error", "message"), REFUSED)
def test_a_change_that_kafka_refuses_is_refused(rows, error, message):
    refusal = validated(alter_topic({}, operations(rows)))

    assert isinstance(refusal, Refusal)
    assert refusal.error == error
    assert message in refusal.message


def test_alter_configs_replaces_all_overrides():
    assert validated(replace_topic({"retention.ms": "5"})) == {"retention.ms": "5"}
    assert validated(replace_topic({})) == {}
    assert validated(replace_topic({"nope": "1"})) == Refusal(
        "INVALID_CONFIG", "unknown topic config nope"
    )
    refusal = Refusal("INVALID_REQUEST", "no value given for retention.ms")
    assert replace_topic({"retention.ms": None}) == refusal


def test_a_new_topics_configs_are_validated():
    assert validate_topic({"cleanup.policy": "compact"}, BROKER) is None
    refusal = Refusal("INVALID_CONFIG", "no value given for retention.ms")
    assert validate_topic({"retention.ms": None}, BROKER) == refusal


def test_validation_sees_the_brokers_values():
    broker = load_config("log.cleaner.max.compaction.lag.ms=10").config
    refusal = validate_topic({"min.compaction.lag.ms": "11"}, broker)
    assert refusal is not None
    assert "max.compaction.lag.ms (10)" in refusal.message


def test_a_dynamic_broker_key_changes_for_one_broker_or_for_all():
    for_all = alter_broker(BROKER, operations([("message.max.bytes", SET, "7")]), all_brokers=True)
    assert for_all.message_max_bytes == 7
    own = alter_broker(for_all, operations([("message.max.bytes", SET, "8")]), all_brokers=False)
    assert own.message_max_bytes == 8
    undone = alter_broker(own, operations([("message.max.bytes", DELETE, None)]), all_brokers=False)
    assert undone.message_max_bytes == 7
    assert (
        replace_broker(undone, {}, all_brokers=True).message_max_bytes == BROKER.message_max_bytes
    )
    replaced = replace_broker(own, {"log.retention.bytes": "5"}, all_brokers=False)
    assert (replaced.message_max_bytes, replaced.log_retention_bytes) == (7, 5)
    assert BROKER.layers.dynamic_default == {}


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([("num.partitions", SET, "3")], "INVALID_REQUEST", "cannot be changed while running"),
        ([("nope.key", SET, "3")], "INVALID_REQUEST", "cannot be changed while running: nope.key"),
        ([("log.segment.bytes", SET, "5")], "INVALID_REQUEST", "at least 1048576, got '5'"),
        ([("message.max.bytes", APPEND, "1")], "INVALID_CONFIG", "APPEND needs a key"),
        ([("message.max.bytes", SET, None)], "INVALID_REQUEST", "no value given"),
    ],
)
def test_a_broker_change_that_kafka_refuses_is_refused(rows, error, message):
    refusal = alter_broker(BROKER, operations(rows), all_brokers=False)

    assert isinstance(refusal, Refusal)
    assert refusal.error == error
    assert message in refusal.message


def test_replacing_a_brokers_fixed_key_is_refused():
    refusal = replace_broker(BROKER, {"num.partitions": "3"}, all_brokers=False)
    assert refusal == Refusal("INVALID_REQUEST", "cannot be changed while running: num.partitions")
    assert replace_broker(BROKER, {"log.retention.ms": None}, all_brokers=True) == Refusal(
        "INVALID_REQUEST", "no value given for log.retention.ms"
    )
