"""The broker tables say what Kafka 4.3 says, and every key in use reaches a typed attribute."""

import re
from typing import get_type_hints

import pytest

from drumbeat.runtime.config import load_config
from drumbeat.runtime.config.broker import (
    BROKER_KEYS,
    RETIRED_KEYS,
    definition_of,
    effective_value,
    is_known,
    synonyms_of,
)
from drumbeat.runtime.config.broker_config import FOLDED_KEYS, BrokerConfig, ConfigLayers
from drumbeat.runtime.config.definitions import ConfigType

# Read from a Kafka 4.3.1 broker: key, type, default, used here.
FACTS = """
advertised.listeners                      LIST     null                    used
auto.create.topics.enable                 BOOLEAN  true                    used
background.threads                        INT      10                      accepted
compression.type                          STRING   producer                used
connections.max.idle.ms                   LONG     600000                  used
controller.quorum.voters                  LIST     ""                      accepted
delegation.token.secret.key               PASSWORD null                    accepted
fetch.max.bytes                           INT      57671680                used
group.consumer.assignors                  LIST     uniform,range           used
group.consumer.session.timeout.ms         INT      45000                   used
group.coordinator.append.linger.ms        INT      -1                      used
group.initial.rebalance.delay.ms          INT      3000                    used
group.max.session.timeout.ms              INT      1800000                 used
group.min.session.timeout.ms              INT      6000                    used
group.share.max.size                      INT      200                     accepted
log.cleaner.io.max.bytes.per.second       DOUBLE   1.7976931348623157E308  used
log.retention.hours                       INT      168                     used
log.retention.ms                          LONG     null                    used
log.segment.bytes                         INT      1073741824              used
message.max.bytes                         INT      1048588                 used
num.io.threads                            INT      8                       accepted
offset.metadata.max.bytes                 INT      4096                    used
offsets.retention.minutes                 INT      10080                   used
offsets.topic.num.partitions              INT      50                      used
offsets.topic.replication.factor          SHORT    3                       accepted
producer.id.expiration.ms                 INT      86400000                used
sasl.jaas.config                          PASSWORD null                    accepted
socket.request.max.bytes                  INT      104857600               used
socket.send.buffer.bytes                  INT      102400                  used
transaction.max.timeout.ms                INT      900000                  used
transactional.id.expiration.ms            INT      604800000               used
"""

# 360 keys of a broker, 3 quotas that exist only while it runs.
KAFKA_KEYS = 363
OUR_KEYS = {
    "logging.format",
    "logging.level",
    "metrics.host",
    "metrics.port",
    "offsets.history.retention.ms",
}


@pytest.mark.parametrize("row", FACTS.strip().splitlines())
def test_a_key_is_as_in_kafka(row):
    name, type_name, default, use = row.split()
    definition = BROKER_KEYS[name]

    assert definition.type is ConfigType[type_name]
    assert definition.default == {"null": None, '""': ""}.get(default, default)
    assert definition.is_used == (use == "used")


def test_every_key_of_kafka_is_there():
    assert len(set(BROKER_KEYS) - OUR_KEYS) == KAFKA_KEYS
    assert not RETIRED_KEYS & set(BROKER_KEYS)


def test_every_default_satisfies_its_own_rule():
    for definition in BROKER_KEYS.values():
        if definition.default is not None:
            definition.parse(definition.default)


def test_every_key_in_use_is_documented_and_reaches_an_attribute():
    for definition in BROKER_KEYS.values():
        if not definition.is_used:
            continue
        attribute = FOLDED_KEYS.get(definition.name, definition.name.replace(".", "_"))
        assert attribute in BrokerConfig._fields
        assert re.match(r"[A-Z].*\.$", definition.documentation), definition.name


def test_every_attribute_has_its_key_and_its_type():
    config = load_config(None).config
    hints = get_type_hints(BrokerConfig)
    for attribute in BrokerConfig._fields:
        expected = hints[attribute]
        value = getattr(config, attribute)
        assert isinstance(value, getattr(expected, "__origin__", expected)), attribute
        assert attribute == "layers" or BROKER_KEYS[attribute.replace("_", ".")].is_used


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("num.partitions", True),
        ("super.users", True),
        ("zookeeper.connect", True),
        ("inter.broker.protocol.version", True),
        ("listener.name.external.ssl.keystore.location", True),
        ("config.providers.file.class", True),
        ("rlmm.config.remote.log.metadata.topic.min.isr", True),
        ("confluent.license", True),
        ("num.partition", False),
        ("retention.ms", False),
        ("", False),
    ],
)
def test_known_is_what_kafka_or_a_plug_in_may_read(name, known):
    assert is_known(name) == known


@pytest.mark.parametrize(
    ("settings", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -3_600_000),
    ],
)
def test_the_finest_retention_wins(settings, retention_ms):
    assert effective_value("log.retention.ms", settings) == retention_ms


def test_synonyms_are_in_order_of_precedence():
    family = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert synonyms_of("log.retention.hours") == family
    assert synonyms_of("num.partitions") == ("num.partitions",)
    assert synonyms_of("log.flush.scheduler.interval.ms") == ("log.flush.scheduler.interval.ms",)
    jaas = "listener.name.internal.plain.sasl.jaas.config"
    assert synonyms_of(jaas) == (jaas, "sasl.jaas.config")
    assert definition_of(jaas) is BROKER_KEYS["sasl.jaas.config"]
    assert definition_of("log.retention.hours") is BROKER_KEYS["log.retention.hours"]
    assert definition_of("super.users") is None


def test_a_change_wins_over_all_names_of_a_value():
    layers = ConfigLayers(
        static={"log.retention.ms": "1", "log.retention.hours": "2", "num.partitions": "3"},
        dynamic_default={"log.retention.ms": "5", "message.max.bytes": "6"},
        dynamic_broker={"message.max.bytes": "7"},
    )
    expected = {"num.partitions": "3", "log.retention.ms": "5", "message.max.bytes": "7"}
    assert layers.merged() == expected


def test_the_text_of_layers_names_keys_and_hides_values():
    text = repr(ConfigLayers(static={"ssl.key.password": "hunter2"}))
    assert "ssl.key.password" in text
    assert "hunter2" not in text
