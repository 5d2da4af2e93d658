"""Steps of administrators about configurations, and about the broker itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import (
    alter_configs,
    api_versions,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    incremental_alter_configs,
)
from drumbeat.protocol.apis.alter_configs import AlterConfigsRequest
from drumbeat.protocol.apis.api_versions import ApiVersionsRequest
from drumbeat.protocol.apis.describe_cluster import DescribeClusterRequest
from drumbeat.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from drumbeat.protocol.apis.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from drumbeat.protocol.apis.incremental_alter_configs import IncrementalAlterConfigsRequest
from drumbeat.runtime.handlers import HANDLERS
from interop.oracle.topic_steps import Configs
from interop.oracle.vocabulary import Known, Step, Topic, Word

TOPIC = 2  # a resource type
# Where the listeners are, and who votes, is each broker's own business.
BROKER_KEYS = ("log.retention.ms", "num.partitions", "log.cleanup.policy", "group.max.size")


class Operation(Word):
    SET, DELETE, APPEND, SUBTRACT = range(4)
    UNKNOWN = 9


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribeConfigs(Step):
    """Of a topic, or of another resource by type and name."""

    api: ClassVar[Api] = describe_configs.API

    topic: Topic = Topic.OWN
    resource: tuple[int, str] | None = None
    keys: tuple[str, ...] | None = None
    include_synonyms: bool = False
    include_documentation: bool = False
    with_type: int | None = None  # of one more resource

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"configs": ("name",)}

    def request(self, known: Known) -> DescribeConfigsRequest:
        resource = self.resource or (TOPIC, known.topic(self.topic))
        keys = (self.keys or BROKER_KEYS) if self.resource else self.keys
        resources = [DescribeConfigsResource(*resource, keys)]
        if self.with_type is not None:
            resources.append(DescribeConfigsResource(self.with_type, "another"))
        return DescribeConfigsRequest(
            tuple(resources), self.include_synonyms, self.include_documentation
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class AlterConfigs(Step):
    api: ClassVar[Api] = alter_configs.API
    writes_metadata: ClassVar[bool] = True

    topic: Topic = Topic.OWN
    configs: Configs = (("retention.ms", "100000000"),)
    validate_only: bool = False

    def request(self, known: Known) -> AlterConfigsRequest:
        resource = alter_configs.AlterConfigsResource(
            TOPIC,
            known.topic(self.topic),
            tuple(alter_configs.AlterableConfig(*config) for config in self.configs),
        )
        return AlterConfigsRequest((resource,), self.validate_only)


@dataclass(frozen=True, kw_only=True, repr=False)
class IncrementalAlterConfigs(Step):
    api: ClassVar[Api] = incremental_alter_configs.API
    writes_metadata: ClassVar[bool] = True

    topic: Topic = Topic.OWN
    operation: Operation = Operation.SET
    configs: Configs = (("retention.ms", "200000000"),)
    validate_only: bool = False

    def request(self, known: Known) -> IncrementalAlterConfigsRequest:
        resource = incremental_alter_configs.AlterConfigsResource(
            TOPIC,
            known.topic(self.topic),
            tuple(
                incremental_alter_configs.AlterableConfig(name, self.operation.value, value)
                for name, value in self.configs
            ),
        )
        return IncrementalAlterConfigsRequest((resource,), self.validate_only)


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribeLogDirs(Step):
    """`partitions` None asks for all."""

    api: ClassVar[Api] = describe_log_dirs.API

    topic: Topic = Topic.OWN
    partitions: tuple[int, ...] | None = (0, 1)

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"topics": ("name",), "partitions": ("partition_index",)}

    def shows(self, known: Known, field_name: str, item: Any) -> bool:
        return field_name != "topics" or item["name"].startswith(known.prefix)

    def request(self, known: Known) -> DescribeLogDirsRequest:
        if self.partitions is None:
            return DescribeLogDirsRequest(None)
        topic = DescribableLogDirTopic(known.topic(self.topic), self.partitions)
        return DescribeLogDirsRequest((topic,))


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribeCluster(Step):
    api: ClassVar[Api] = describe_cluster.API

    include_authorized_operations: bool = False
    endpoint_type: int = 1

    def request(self, known: Known) -> DescribeClusterRequest:
        return DescribeClusterRequest(self.include_authorized_operations, self.endpoint_type)


@dataclass(frozen=True, kw_only=True, repr=False)
class ApiVersions(Step):
    api: ClassVar[Api] = api_versions.API

    software: tuple[str, str] = ("oracle", "1.0")

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"api_keys": ("api_key",)}

    def shows(self, known: Known, field_name: str, item: Any) -> bool:
        return field_name != "api_keys" or item["api_key"] in HANDLERS

    def request(self, known: Known) -> ApiVersionsRequest:
        return ApiVersionsRequest(*self.software)
