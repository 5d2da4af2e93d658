"""A broker's configuration from server.properties, ``--set key=value`` and the command line.

The later of the three wins. Every key is looked up: one that Kafka knows and Drumbeat has no use
for is listed as ignored, one that nobody knows is an error that names the nearest known key.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from drumbeat.runtime.config.broker import BROKER_KEYS, RETIRED_KEYS, has_effect, is_known
from drumbeat.runtime.config.broker_config import BrokerConfig, ConfigLayers
from drumbeat.runtime.config.properties import PropertiesError, parse_properties
from drumbeat.runtime.config.resolve import ConfigProblem, ConfigProblemsError, resolve


class ConfigError(ValueError):
    """A configuration that cannot be used; one line per problem, each saying where it is."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class LoadedConfig(NamedTuple):
    """A configuration that can be used."""

    config: BrokerConfig
    ignored: list[str]
    """Keys that were set and have no effect here."""
    notes: list[str]
    """What else the log should say."""


class Setting(NamedTuple):
    """One key's text and where it was written."""

    key: str
    value: str
    origin: str


def load_config(
    properties_text: str | None,
    overrides: Sequence[str] = (),
    cli: Mapping[str, str] | None = None,
    *,
    properties_name: str = "server.properties",
) -> LoadedConfig:
    """Read all three sources, or raise ConfigError with everything that is wrong in them.

    `cli` is what the command line's own options say: Kafka's keys, and ``port``, which moves the
    one client listener to another port and leaves its host as it is.
    """
    problems: list[str] = []
    settings: dict[str, Setting] = {}
    for setting in (
        *_read_properties(properties_text or "", properties_name, problems),
        *_read_overrides(overrides, problems),
        *(Setting(key, value, "command line") for key, value in (cli or {}).items()),
    ):
        settings[setting.key] = setting
    port = settings.pop("port", None) if cli and "port" in cli else None
    problems += [_unknown_key(s) for s in settings.values() if not is_known(s.key)]
    if port is not None:
        problems += _move_port(settings, port)
    return _resolve(settings, problems)


def _read_properties(text: str, name: str, problems: list[str]) -> Iterator[Setting]:
    try:
        for entry in parse_properties(text):
            yield Setting(entry.key, entry.value, f"{name}:{entry.line_number}")
    except PropertiesError as error:
        problems.append(f"{name}:{error.line_number}: {error}")


def _read_overrides(overrides: Sequence[str], problems: list[str]) -> Iterator[Setting]:
    for override in overrides:
        key, equals, value = override.partition("=")
        if equals and key.strip():
            yield Setting(key.strip(), value.strip(), "--set")
        else:
            problems.append(f"--set: expected key=value, got {override!r}")


def _unknown_key(setting: Setting) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - the node does not start anyway

    message = f"{setting.origin}: unknown key {setting.key!r}"
    nearest = get_close_matches(setting.key, [*BROKER_KEYS, *RETIRED_KEYS], n=1, cutoff=0.7)
    return f"{message}; did you mean {nearest[0]!r}?" if nearest else message


def _move_port(settings: dict[str, Setting], port: Setting) -> list[str]:
    """Put another port into the listener that clients use, and into what it advertises."""
    if not port.value.isascii() or not port.value.isdigit():
        return [f"--port: expected a port number, got {port.value!r}"]
    controllers = _texts(settings, "controller.listener.names")
    for key in ("listeners", "advertised.listeners"):
        uris = _texts(settings, key)
        clients = [uri for uri in uris if uri.partition("://")[0] not in controllers]
        if len(clients) > 1:
            return [f"--port: {key} names {len(clients)} listeners; set their ports there"]
        moved = [
            f"{uri.rpartition(':')[0]}:{port.value}" if uri in clients else uri for uri in uris
        ]
        if moved:
            settings[key] = Setting(key, ",".join(moved), "--port")
    return []


def _texts(settings: Mapping[str, Setting], key: str) -> list[str]:
    text = settings[key].value if key in settings else BROKER_KEYS[key].default or ""
    return [element.strip() for element in text.split(",") if element.strip()]


def _resolve(settings: Mapping[str, Setting], problems: list[str]) -> LoadedConfig:
    static = {key: setting.value for key, setting in settings.items()}
    try:
        resolved = resolve(ConfigLayers(static=_with_both_ids(static)))
    except ConfigProblemsError as error:
        problems += [_located(problem, settings) for problem in error.problems]
        raise ConfigError(problems) from None
    if problems:
        raise ConfigError(problems)
    ignored = [key for key in static if not has_effect(key)]
    return LoadedConfig(resolved.config, ignored, list(resolved.notes))


def _with_both_ids(static: Mapping[str, str]) -> dict[str, str]:
    """node.id and broker.id are one key with two names; both are described."""
    both = dict(static)
    for key, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if key in static:
            both.setdefault(other, static[key])
    return both


def _located(problem: ConfigProblem, settings: Mapping[str, Setting]) -> str:
    setting = settings.get(problem.key)
    return f"{setting.origin}: {problem.message}" if setting is not None else problem.message
