"""What a test may ask of its cluster: configuration, topics, where the data are, which port."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from drumbeat.runtime.config import BrokerConfig, ConfigError, load_config

ConfigValue: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; `config` has Kafka's topic keys."""

    partitions: int = 1
    config: Mapping[str, ConfigValue] = field(default_factory=dict)


# Names alone have one partition each; a number is how many.
Topics: TypeAlias = Mapping[str, int | NewTopic] | Iterable[str]

# What a test wants different from a server: no wait for more members before the first rebalance.
TEST_CONFIG: Mapping[str, ConfigValue] = {"group.initial.rebalance.delay.ms": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    config: Mapping[str, str]
    topics: Mapping[str, NewTopic]
    data: str | None  # None: in memory
    port: int  # 0: a free one

    def broker_config(self, port: int | None = None) -> BrokerConfig:
        """Raises ConfigError, which names every wrong key."""
        chosen = [f"{key}={value}" for key, value in self.config.items()]
        own = {"port": str(self.port if port is None else port)}
        if self.data is not None:
            own["log.dirs"] = self.data
        try:
            return load_config(None, chosen, own).config
        except ConfigError as problem:
            told = [each.replace("--set:", "config:") for each in problem.problems]
            raise ConfigError(told) from None


def make_options(
    config: Mapping[str, ConfigValue] | None = None,
    *,
    topics: Topics = (),
    data: str | os.PathLike[str] | None = None,
    port: int = 0,
    auto_create_topics: bool | None = None,
) -> Options:
    """The options of a cluster; see `Cluster`."""
    chosen = {**TEST_CONFIG, **(config or {})}
    if auto_create_topics is not None:
        chosen["auto.create.topics.enable"] = auto_create_topics
    return Options(
        config=config_texts(chosen),
        topics=new_topics(topics),
        data=None if data is None else os.fspath(data),
        port=port,
    )


def config_texts(config: Mapping[str, ConfigValue]) -> dict[str, str]:
    """As a server.properties would have them."""
    return {key: _text(value) for key, value in config.items()}


def _text(value: ConfigValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def new_topics(topics: Topics) -> dict[str, NewTopic]:
    if isinstance(topics, str):
        raise TypeError(f"topics={topics!r}: a mapping of names to partitions, or a list of names")
    if not isinstance(topics, Mapping):
        return {name: NewTopic() for name in topics}
    return {name: _new_topic(asked) for name, asked in topics.items()}


def _new_topic(asked: int | NewTopic) -> NewTopic:
    return asked if isinstance(asked, NewTopic) else NewTopic(asked)
