"""DescribeConfigs says what a Kafka 4.3.1 broker said for the same settings."""

import pytest

from drumbeat.runtime.config import load_config
from drumbeat.runtime.config.alter import AlterOperation, OpType, alter_broker
from drumbeat.runtime.config.describe import (
    ConfigSource,
    describe_broker,
    describe_broker_defaults,
    describe_topic,
)

SETTINGS = """
listeners=PLAINTEXT://127.0.0.1:39092
log.retention.minutes=600
log.retention.hours=3
log.roll.ms=1000000
log.cleaner.min.cleanable.ratio=0.0001
log.cleanup.policy=delete, compact
log.flush.scheduler.interval.ms=77777
ssl.key.password=secret
super.users=User:a
listener.name.plaintext.sasl.jaas.config=x
listener.name.plaintext.ssl.keystore.type=PKCS12
"""


def _broker():
    config = load_config(SETTINGS).config
    for name, value, all_brokers in (
        ("log.retention.ms", "123456", False),
        ("message.max.bytes", "2000000", True),
    ):
        operation = AlterOperation(name, OpType.SET, value)
        config = alter_broker(config, [operation], all_brokers=all_brokers)
    return config


BROKER = _broker()
OVERRIDES = {"retention.ms": "5000", "min.cleanable.dirty.ratio": "0.00001"}
SHORT_NAMES = {
    ConfigSource.TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "dynamic",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "dynamic-default",
    ConfigSource.STATIC_BROKER_CONFIG: "static",
    ConfigSource.DEFAULT_CONFIG: "default",
}

# key | value | source | type, and under it the synonyms in order
TOPIC = """
cleanup.policy | delete,compact | static | LIST
    log.cleanup.policy=delete, compact@static
    log.cleanup.policy=delete@default
flush.ms | 77777 | default | LONG
max.message.bytes | 2000000 | dynamic-default | INT
    message.max.bytes=2000000@dynamic-default
    message.max.bytes=1048588@default
min.cleanable.dirty.ratio | 1.0E-5 | topic | DOUBLE
    min.cleanable.dirty.ratio=1.0E-5@topic
    log.cleaner.min.cleanable.ratio=0.0001@static
    log.cleaner.min.cleanable.ratio=0.5@default
preallocate | false | default | BOOLEAN
    log.preallocate=false@default
remote.storage.enable | false | default | BOOLEAN
retention.ms | 5000 | topic | LONG
    retention.ms=5000@topic
    log.retention.ms=123456@dynamic
    log.retention.minutes=600@static
    log.retention.hours=3@static
    log.retention.hours=168@default
segment.jitter.ms | 0 | default | LONG
segment.ms | 1000000 | static | LONG
    log.roll.ms=1000000@static
    log.roll.hours=168@default
"""

# The same, and whether it is read-only (R) and sensitive (S)
BROKER_ENTRIES = """
compression.type | producer | default | STRING | -
    compression.type=producer@default
log.cleaner.min.cleanable.ratio | 1.0E-4 | static | DOUBLE | -
    log.cleaner.min.cleanable.ratio=0.0001@static
    log.cleaner.min.cleanable.ratio=0.5@default
log.flush.interval.ms | null | default | LONG | -
log.retention.hours | 168 | static | INT | R
    log.retention.hours=3@static
    log.retention.hours=168@default
log.retention.minutes | null | static | INT | R
    log.retention.minutes=600@static
    log.retention.hours=3@static
    log.retention.hours=168@default
log.retention.ms | 123456 | dynamic | LONG | -
    log.retention.ms=123456@dynamic
    log.retention.minutes=600@static
    log.retention.hours=3@static
    log.retention.hours=168@default
message.max.bytes | 2000000 | dynamic-default | INT | -
    message.max.bytes=2000000@dynamic-default
    message.max.bytes=1048588@default
num.partitions | 1 | default | INT | R
    num.partitions=1@default
advertised.listeners | null | default | LIST | R
ssl.key.password | null | static | PASSWORD | S
    ssl.key.password=null@static
super.users | null | static | UNKNOWN | RS
    super.users=null@static
listener.name.plaintext.sasl.jaas.config | null | static | PASSWORD | RS
    listener.name.plaintext.sasl.jaas.config=null@static
listener.name.plaintext.ssl.keystore.type | PKCS12 | static | STRING | R
    listener.name.plaintext.ssl.keystore.type=PKCS12@static
    ssl.keystore.type=JKS@default
"""


def entries(text):
    """Each row's cells, the last of them its synonyms."""
    rows = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            rows[-1][-1].append(line.strip())
        else:
            rows.append([*(cell.strip() for cell in line.split("|")), []])
    return rows


def synonyms_of(entry):
    return [f"{s.name}={shown(s.value)}@{SHORT_NAMES[s.source]}" for s in entry.synonyms]


def shown(value):
    return "null" if value is None else value


@pytest.mark.parametrize(("name", "value", "source", "type_name", "synonyms"), entries(TOPIC))
def test_a_topic_key_is_described_as_in_kafka(name, value, source, type_name, synonyms):
    (entry,) = describe_topic(OVERRIDES, BROKER, [name])

    assert [shown(entry.value), SHORT_NAMES[entry.source]] == [value, source]
    assert entry.type.name == type_name
    assert synonyms_of(entry) == synonyms
    assert not entry.is_read_only
    assert not entry.is_sensitive


@pytest.mark.parametrize(
    ("name", "value", "source", "type_name", "flags", "synonyms"), entries(BROKER_ENTRIES)
)
def test_a_broker_key_is_described_as_in_kafka(name, value, source, type_name, flags, synonyms):
    (entry,) = describe_broker(BROKER, [name])

    assert [shown(entry.value), SHORT_NAMES[entry.source]] == [value, source]
    assert entry.type.name == type_name
    assert synonyms_of(entry) == synonyms
    assert (entry.is_read_only, entry.is_sensitive) == ("R" in flags, "S" in flags)


def test_all_keys_are_described_but_internal_ones_only_when_set():
    names = {entry.name for entry in describe_topic({}, BROKER)}
    assert len(names) == 33
    assert "internal.segment.bytes" not in names
    overridden = describe_topic({"internal.segment.bytes": "5"}, BROKER)
    assert "internal.segment.bytes" in {entry.name for entry in overridden}
    broker_names = {entry.name for entry in describe_broker(BROKER)}
    assert {"node.id", "num.io.threads", "super.users"} <= broker_names
    assert not {"unstable.api.versions.enable", "leader.replication.throttled.rate"} & broker_names


def test_the_default_resource_holds_what_was_set_for_all_brokers():
    (entry,) = describe_broker_defaults(BROKER)
    assert (entry.name, entry.value) == ("message.max.bytes", "2000000")
    assert synonyms_of(entry) == ["message.max.bytes=2000000@dynamic-default"]
    assert describe_broker_defaults(BROKER, ["num.partitions"]) == []


def test_no_secret_is_described():
    described = [*describe_broker(BROKER), *describe_topic(OVERRIDES, BROKER)]
    assert "secret" not in str([(e.value, e.synonyms) for e in described])


def test_keys_in_use_come_with_documentation():
    (entry,) = describe_topic({}, BROKER, ["retention.ms"])
    assert entry.documentation == "How long records are kept; -1 is for ever."
    (entry,) = describe_topic({}, BROKER, ["preallocate"])
    assert entry.documentation is None


def test_the_sources_have_their_numbers_on_the_wire():
    assert [source.value for source in SHORT_NAMES] == [1, 2, 3, 4, 5]
