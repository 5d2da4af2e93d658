"""From what was set to a BrokerConfig: every value parsed, and the values held against each other.

All problems are collected, so that a file is put right in one go.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from drumbeat.runtime.config.broker import BROKER_KEYS, effective_value
from drumbeat.runtime.config.broker_config import DERIVED_ATTRIBUTES, BrokerConfig, ConfigLayers
from drumbeat.runtime.config.checks import contradictions
from drumbeat.runtime.config.definitions import ConfigValueError
from drumbeat.runtime.config.listeners import (
    Listeners,
    ListenerSettings,
    parse_security_protocol_map,
    resolve_listeners,
)


class ConfigProblem(NamedTuple):
    """One thing wrong with a configuration."""

    key: str
    message: str


class ConfigProblemsError(ValueError):
    """Everything wrong with a configuration."""

    def __init__(self, problems: list[ConfigProblem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)


class Resolved(NamedTuple):
    """A configuration, and what it says to a reader of the log."""

    config: BrokerConfig
    notes: tuple[str, ...]


def resolve(layers: ConfigLayers) -> Resolved:
    """The configuration in force, or ConfigProblemsError naming all that is wrong."""
    settings = layers.merged()
    if problems := _unparsable(settings):
        raise ConfigProblemsError(problems)
    attributes: dict[str, Any] = {
        attribute: effective_value(attribute.replace("_", "."), settings)
        for attribute in BrokerConfig._fields
        if attribute not in DERIVED_ATTRIBUTES
    }
    for derive in _DERIVATIONS:
        try:
            attributes |= derive(settings)
        except ConfigValueError as error:
            problems.append(_problem(str(error)))
    problems += [_problem(message) for message in contradictions(attributes)]
    if problems:
        raise ConfigProblemsError(problems)
    return Resolved(BrokerConfig(**attributes, layers=layers), _notes(settings))


def _unparsable(settings: Mapping[str, str]) -> list[ConfigProblem]:
    problems = []
    for key, text in settings.items():
        if key in BROKER_KEYS:
            try:
                BROKER_KEYS[key].parse(text)
            except ConfigValueError as error:
                problems.append(ConfigProblem(key, str(error)))
    return problems


def _problem(message: str) -> ConfigProblem:
    """Messages start with the key they are about."""
    return ConfigProblem(message.partition(":")[0], message)


def _derive_node_id(settings: Mapping[str, str]) -> dict[str, Any]:
    ids = {int(settings[key]) for key in ("node.id", "broker.id") if key in settings}
    if len(ids) > 1:
        raise ConfigValueError(
            f"broker.id: expected the value of node.id or none, got {settings['broker.id']!r}"
        )
    return {"node_id": ids.pop() if ids else effective_value("node.id", settings)}


def _derive_log_dir(settings: Mapping[str, str]) -> dict[str, Any]:
    key = "log.dirs" if "log.dirs" in settings else "log.dir"
    directories = effective_value(key, settings)
    assert isinstance(directories, tuple)
    if len(directories) > 1:
        raise ConfigValueError(
            f"{key}: expected one directory, which is all that is supported, got {settings[key]!r}"
        )
    return {"log_dir": directories[0]}


def _derive_retention(settings: Mapping[str, str]) -> dict[str, Any]:
    retention_ms = effective_value("log.retention.ms", settings)
    assert isinstance(retention_ms, int)
    if retention_ms == 0:
        raise ConfigValueError("log.retention.ms: expected at least 1, or -1 for no limit, got 0")
    return {"log_retention_ms": max(retention_ms, -1)}


def _derive_assignors(settings: Mapping[str, str]) -> dict[str, Any]:
    key = "group.consumer.assignors"
    assignors = effective_value(key, settings)
    assert isinstance(assignors, tuple)
    # Kafka takes a short name or the class behind it.
    names = tuple(_ASSIGNOR_CLASSES.get(assignor, assignor) for assignor in assignors)
    if unknown := [name for name in names if name not in _ASSIGNOR_CLASSES.values()]:
        known = ", ".join(_ASSIGNOR_CLASSES.values())
        raise ConfigValueError(f"{key}: expected assignors out of {known}, got {unknown[0]!r}")
    return {"group_consumer_assignors": names}


def _derive_listeners(settings: Mapping[str, str]) -> dict[str, Any]:
    listeners = _listeners(settings)
    return {"listeners": listeners.bound, "advertised_listeners": listeners.advertised}


def _listeners(settings: Mapping[str, str]) -> Listeners:
    def names(key: str) -> tuple[str, ...] | None:
        value = effective_value(key, settings)
        assert value is None or isinstance(value, tuple)
        return value

    map_key = "listener.security.protocol.map"
    return resolve_listeners(
        ListenerSettings(
            listeners=names("listeners") or (),
            advertised_listeners=names("advertised.listeners"),
            security_protocol_map=parse_security_protocol_map(
                map_key, str(effective_value(map_key, settings))
            ),
            controller_listener_names=names("controller.listener.names") or (),
        )
    )


def _notes(settings: Mapping[str, str]) -> tuple[str, ...]:
    notes = [
        f"listeners: '{endpoint}' is the controller's and stays closed: there is no controller here"
        for endpoint in _listeners(settings).left_out
    ]
    if settings.get("authorizer.class.name"):
        notes.append("authorizer.class.name: nothing is authorized here; every client may do all")
    return tuple(notes)


_ASSIGNOR_CLASSES = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}

_DERIVATIONS: tuple[Callable[[Mapping[str, str]], dict[str, Any]], ...] = (
    _derive_node_id,
    _derive_log_dir,
    _derive_retention,
    _derive_listeners,
    _derive_assignors,
)
