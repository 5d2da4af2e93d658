"""Configs of topics, brokers and groups: read them, change single ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from drumbeat.client.admin.results import checked, named_error
from drumbeat.client.admin.routing import Route, Router
from drumbeat.client.errors import KafkaError
from drumbeat.protocol.apis import describe_configs, incremental_alter_configs
from drumbeat.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)


class ConfigResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from; ordered by which one wins only within a resource type."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class AlterConfigOp(IntEnum):
    SET = 0
    DELETE = 1  # back to what applies without it
    APPEND = 2  # to a list
    SUBTRACT = 3  # from a list


class ConfigResource(NamedTuple):
    """A broker's name is its id; "" is all brokers."""

    type: ConfigResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name.lower()} {self.name!r}"


class AlterConfig(NamedTuple):
    name: str
    value: str | None = None
    op: AlterConfigOp = AlterConfigOp.SET


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """`value` is None where it is sensitive."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


class ConfigsAdmin(Router):
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Iterable[str] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """All configs of each resource, or those named by `keys`."""
        wanted = None if keys is None else tuple(keys)

        async def request(
            node_id: int, asked: list[ConfigResource]
        ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
            body = DescribeConfigsRequest(
                resources=tuple(DescribeConfigsResource(*one, wanted) for one in asked),
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )
            response = await self._cluster.send(node_id, describe_configs.API, body)
            return dict(map(_described, response.results))

        return checked(await self._ask(resources, self._owners, request))

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfig]],
        *,
        validate_only: bool = False,
    ) -> None:
        """Change single configs and leave the others alone."""
        wanted = {resource: tuple(map(_alterable, ops)) for resource, ops in changes.items()}

        async def request(
            node_id: int, asked: list[ConfigResource]
        ) -> dict[ConfigResource, KafkaError | None]:
            body = IncrementalAlterConfigsRequest(
                resources=tuple(AlterConfigsResource(*one, wanted[one]) for one in asked),
                validate_only=validate_only,
            )
            response = await self._cluster.send(node_id, incremental_alter_configs.API, body)
            return {
                (resource := _resource(one.resource_type, one.resource_name)): (
                    named_error(resource, one.error_code, one.error_message)
                    if one.error_code
                    else None
                )
                for one in response.responses
            }

        checked(await self._ask(wanted, self._owners, request))

    @property
    def _owners(self) -> Route[ConfigResource]:
        """A broker answers for itself; any of them for everything else."""

        async def locate(resource: ConfigResource) -> int:
            kinds = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
            if resource.type in kinds and resource.name.isdecimal():
                return int(resource.name)
            return self._cluster.least_loaded()

        return Route(locate, lambda _resource: self._cluster.request_refresh(), True)


def _resource(kind: int, name: str) -> ConfigResource:
    return ConfigResource(ConfigResourceType(kind), name)


def _alterable(change: AlterConfig) -> AlterableConfig:
    return AlterableConfig(change.name, change.op, change.value)


def _described(
    result: DescribeConfigsResult,
) -> tuple[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
    resource = _resource(result.resource_type, result.resource_name)
    if result.error_code:
        return resource, named_error(resource, result.error_code, result.error_message)
    return resource, {config.name: _entry(config) for config in result.configs}


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=config.name,
        value=config.value,
        source=_source(config.config_source),
        is_read_only=config.read_only,
        is_sensitive=config.is_sensitive,
        synonyms=tuple(ConfigSynonym(s.name, s.value, _source(s.source)) for s in config.synonyms),
        documentation=config.documentation or None,
    )


def _source(code: int) -> ConfigSource:
    try:
        return ConfigSource(code)
    except ValueError:  # from a newer broker
        return ConfigSource.UNKNOWN
