"""DescribeConfigs: each key's value, where it comes from, and all that could have said it."""

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from drumbeat.runtime.config.broker import BROKER_KEYS, definition_of, synonyms_of
from drumbeat.runtime.config.broker_config import BrokerConfig, ConfigLayers
from drumbeat.runtime.config.definitions import ConfigDef, ConfigType, format_value
from drumbeat.runtime.config.topic import TOPIC_KEYS, topic_value


class ConfigSource(IntEnum):
    """Where a value was set; the numbers DescribeConfigs v1+ puts on the wire."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class ConfigSynonym(NamedTuple):
    """One place that could say a key's value."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One key of a DescribeConfigs response."""

    name: str
    value: str | None
    is_read_only: bool
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: ConfigType
    documentation: str | None


def describe_topic(
    overrides: Mapping[str, str], broker: BrokerConfig, names: Collection[str] = ()
) -> list[ConfigEntry]:
    """A topic's keys, or those of them that are in `names`."""
    settings = broker.layers.merged()
    wanted = _wanted(_described(TOPIC_KEYS.values(), overrides), names)
    return [_topic_entry(TOPIC_KEYS[name], overrides, settings, broker.layers) for name in wanted]


def describe_broker(broker: BrokerConfig, names: Collection[str] = ()) -> list[ConfigEntry]:
    """This broker's keys, or those of them that are in `names`."""
    settings = broker.layers.merged()
    # Keys without a definition were set for a plug-in; Kafka lists them and hides their values.
    extra = [name for name in settings if name not in BROKER_KEYS]
    wanted = _wanted([*_described(BROKER_KEYS.values(), settings), *extra], names)
    return [_broker_entry(name, settings, _chain(name, broker.layers)) for name in wanted]


def describe_broker_defaults(
    broker: BrokerConfig, names: Collection[str] = ()
) -> list[ConfigEntry]:
    """The keys set for all brokers while running, or those of them that are in `names`."""
    defaults = broker.layers.dynamic_default
    layers = ConfigLayers(dynamic_default=defaults)
    return [
        _broker_entry(name, defaults, _chain(name, layers, with_defaults=False))
        for name in _wanted(defaults, names)
    ]


def _described(definitions: Iterable[ConfigDef], settings: Collection[str]) -> list[str]:
    return [d.name for d in definitions if not d.is_internal or d.name in settings]


def _wanted(described: Iterable[str], names: Collection[str]) -> list[str]:
    return [name for name in described if not names or name in names]


def _topic_entry(
    definition: ConfigDef,
    overrides: Mapping[str, str],
    settings: Mapping[str, str],
    layers: ConfigLayers,
) -> ConfigEntry:
    value = format_value(topic_value(definition.name, overrides, settings))
    server = definition.server_default
    synonyms = () if server is None else _chain(server, layers)
    if definition.name in overrides:
        own = ConfigSynonym(definition.name, value, ConfigSource.TOPIC_CONFIG)
        synonyms = (own, *synonyms)
    return ConfigEntry(
        name=definition.name,
        value=value,
        is_read_only=False,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        is_sensitive=definition.is_sensitive,
        synonyms=synonyms,
        type=definition.type,
        documentation=definition.documentation or None,
    )


def _broker_entry(
    name: str, settings: Mapping[str, str], synonyms: tuple[ConfigSynonym, ...]
) -> ConfigEntry:
    definition = definition_of(name)
    is_sensitive = definition is None or definition.is_sensitive
    return ConfigEntry(
        name=name,
        value=None if is_sensitive else _own_value(name, settings),
        is_read_only=name not in BROKER_KEYS or not BROKER_KEYS[name].is_dynamic,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        is_sensitive=is_sensitive,
        synonyms=synonyms,
        type=ConfigType.UNKNOWN if definition is None else definition.type,
        documentation=None if definition is None else definition.documentation or None,
    )


def _own_value(name: str, settings: Mapping[str, str]) -> str | None:
    """The value under a key's own name: log.retention.ms is null while only the hours are set."""
    if name not in BROKER_KEYS:
        return settings[name]
    definition = BROKER_KEYS[name]
    text = settings.get(name, definition.default)
    return None if text is None else format_value(definition.parse(text))


def _chain(
    name: str, layers: ConfigLayers, *, with_defaults: bool = True
) -> tuple[ConfigSynonym, ...]:
    """Every place that could say broker key `name`, the one that does first."""
    names = synonyms_of(name)
    defaults = {
        n: d.default for n in names if with_defaults and (d := BROKER_KEYS.get(n)) is not None
    }
    chain = [
        ConfigSynonym(synonym, _shown(synonym, text), source)
        for source, layer in (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, layers.dynamic_broker),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, layers.dynamic_default),
            (ConfigSource.STATIC_BROKER_CONFIG, layers.static),
            (ConfigSource.DEFAULT_CONFIG, defaults),
        )
        for synonym in names
        if (text := layer.get(synonym)) is not None
    ]
    # Kafka drops what precedes the first entry under the key's own name.
    first = next((i for i, synonym in enumerate(chain) if synonym.name == name), len(chain))
    return tuple(chain[first:])


def _shown(name: str, text: str) -> str | None:
    definition = definition_of(name)
    return None if definition is None or definition.is_sensitive else text
