"""Every key a server.properties may hold, and which broker keys stand in for one another."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from drumbeat.runtime.config import (
    broker_accepted,
    broker_accepted_features,
    broker_accepted_security,
    broker_groups,
    broker_used,
)
from drumbeat.runtime.config.definitions import ConfigDef
from drumbeat.runtime.config.rules import ConfigValue
from drumbeat.runtime.config.table import ConfigTable

BROKER_KEYS = ConfigTable(
    used=broker_used.SECTIONS + broker_groups.SECTIONS,
    accepted=broker_accepted.SECTIONS
    + broker_accepted_features.SECTIONS
    + broker_accepted_security.SECTIONS,
)

# Read and held against each other as Kafka does, so that a file it would refuse is refused here
# too; but what they are about is not served, so they have no effect.
_WITHOUT_EFFECT = frozenset(
    {
        "offsets.commit.timeout.ms",
        "offsets.load.buffer.size",
        "producer.id.expiration.check.interval.ms",
    }
)
_WITHOUT_EFFECT_PREFIXES = ("group.consumer.", "group.coordinator.", "queued.max.", "transaction")


def has_effect(name: str) -> bool:
    """Whether the node acts on a broker key."""
    if name in _WITHOUT_EFFECT or name.startswith(_WITHOUT_EFFECT_PREFIXES):
        return False
    return name in BROKER_KEYS and BROKER_KEYS[name].is_used


# Kafka's authorizer reads these from the same file without declaring them as broker keys.
AUTHORIZER_KEYS = frozenset({"allow.everyone.if.no.acl.found", "super.users"})

# Known to Kafka 3.9 and dropped by 4.0: files that lived through an upgrade still carry them.
RETIRED_KEYS = frozenset(
    {
        "auto.include.jmx.reporter",
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "controlled.shutdown.max.retries",
        "controlled.shutdown.retry.backoff.ms",
        "delegation.token.master.key",
        "eligible.leader.replicas.enable",
        "group.coordinator.new.enable",
        "group.share.enable",
        "group.share.max.groups",
        "inter.broker.protocol.version",
        "leader.imbalance.per.broker.percentage",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "log.message.timestamp.difference.max.ms",
        "metadata.log.segment.min.bytes",
        "offsets.commit.required.acks",
        "password.encoder.cipher.algorithm",
        "password.encoder.iterations",
        "password.encoder.key.length",
        "password.encoder.keyfactory.algorithm",
        "password.encoder.old.secret",
        "password.encoder.secret",
        "reserved.broker.max.id",
    }
)

# Kafka hands whole key families to listeners, plug-ins and the ZooKeeper client of old; vendors'
# distributions add their own. Nobody but the plug-in knows which names under a prefix exist.
PASS_THROUGH_PREFIXES = (
    "config.providers.",
    "confluent.",
    "cruise.control.",
    "listener.name.",
    "metrics.context.",
    "metrics.jmx.",
    "rlmm.config.",
    "rsm.config.",
    "strimzi.",
    "zookeeper.",
)


class Synonym(NamedTuple):
    """A key that supplies another's value, and what one of its units counts for there."""

    name: str
    factor: int = 1


_MINUTE_MS, _HOUR_MS = 60_000, 3_600_000

# In order of precedence: the first that has a value wins.
SYNONYMS: dict[str, tuple[Synonym, ...]] = {
    "log.retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", _MINUTE_MS),
        Synonym("log.retention.hours", _HOUR_MS),
    ),
    "log.roll.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", _HOUR_MS)),
    "log.roll.jitter.ms": (
        Synonym("log.roll.jitter.ms"),
        Synonym("log.roll.jitter.hours", _HOUR_MS),
    ),
    "log.flush.interval.ms": (
        Synonym("log.flush.interval.ms"),
        Synonym("log.flush.scheduler.interval.ms"),
    ),
}
# DescribeConfigs shows the whole family whichever of its members is asked for. The scheduler's
# interval is only a fallback in Kafka, so it stays outside.
_FAMILIES = {
    synonym.name: family
    for name, family in SYNONYMS.items()
    for synonym in family
    if synonym.name != "log.flush.scheduler.interval.ms"
}

_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")
# Under a listener's prefix these stand behind the name of a SASL mechanism.
_MECHANISM_KEYS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def is_known(name: str) -> bool:
    """Whether Kafka, old or new, or one of its plug-ins may be expected to know `name`."""
    return (
        name in BROKER_KEYS
        or name in RETIRED_KEYS
        or name in AUTHORIZER_KEYS
        or name.startswith(PASS_THROUGH_PREFIXES)
    )


def synonyms_of(name: str) -> tuple[str, ...]:
    """The keys that decide about `name`, in order of precedence."""
    if (family := _FAMILIES.get(name)) is not None:
        return tuple(synonym.name for synonym in family)
    if (listener_key := _LISTENER_KEY.fullmatch(name)) is not None:
        base = listener_key[1]
        return name, next((key for key in _MECHANISM_KEYS if base.endswith(key)), base)
    return (name,)


def definition_of(name: str) -> ConfigDef | None:
    """The definition of `name`, or of the key that it specialises for one listener."""
    return BROKER_KEYS.get(name) or BROKER_KEYS.get(synonyms_of(name)[-1])


def effective_value(name: str, settings: Mapping[str, str]) -> ConfigValue:
    """The value in force for broker key `name` when exactly `settings` are set."""
    for synonym in SYNONYMS.get(name, (Synonym(name),)):
        definition = BROKER_KEYS[synonym.name]
        text = settings.get(synonym.name, definition.default)
        if text is not None:
            value = definition.parse(text)
            return int(text) * synonym.factor if synonym.factor != 1 else value
    return None
