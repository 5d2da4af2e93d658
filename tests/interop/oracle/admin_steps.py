"""Steps of administrators: topics, partitions, configurations, and what brokers tell about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_topic_partitions,
    incremental_alter_configs,
    metadata,
)
from drumbeat.protocol.apis.alter_configs import AlterConfigsRequest
from drumbeat.protocol.apis.api_versions import ApiVersionsRequest
from drumbeat.protocol.apis.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from drumbeat.protocol.apis.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from drumbeat.protocol.apis.describe_cluster import DescribeClusterRequest
from drumbeat.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from drumbeat.protocol.apis.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from drumbeat.protocol.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from drumbeat.protocol.apis.incremental_alter_configs import IncrementalAlterConfigsRequest
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.handlers import HANDLERS
from interop.oracle.vocabulary import Known, Step, Topic, Word

Configs = tuple[tuple[str, str | None], ...]
TOPICS_BY_ID_SINCE = {create_topics.API.key: 7, delete_topics.API.key: 6, metadata.API.key: 12}
ALL_TOPICS_SINCE = 1


class Operation(Word):
    SET, DELETE, APPEND, SUBTRACT = range(4)
    UNKNOWN = 9


@dataclass(frozen=True, kw_only=True, repr=False)
class CreateTopics(Step):
    api: ClassVar[Api] = create_topics.API
    writes_metadata: ClassVar[bool] = True

    topics: tuple[Topic, ...] = (Topic.OWN,)
    partitions: int = 2
    replication_factor: int = 1
    brokers: tuple[tuple[int, ...], ...] = ()  # replicas of each partition
    configs: Configs = ()
    validate_only: bool = False

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"topics": ("name",), "configs": ("name",)}

    def request(self, known: Known) -> CreateTopicsRequest:
        topics = tuple(
            CreatableTopic(
                known.topic(topic),
                self.partitions,
                self.replication_factor,
                tuple(
                    CreatableReplicaAssignment(partition, replicas)
                    for partition, replicas in enumerate(self.brokers)
                ),
                tuple(CreatableTopicConfig(*config) for config in self.configs),
            )
            for topic in self.topics
        )
        return CreateTopicsRequest(topics, 10_000, self.validate_only)

    def learn(self, known: Known, response: Any) -> None:
        for created in response.topics:
            if created.error_code == ErrorCode.NONE and not self.validate_only:
                known.learn_topic(created.name, created.topic_id)


@dataclass(frozen=True, kw_only=True, repr=False)
class DeleteTopics(Step):
    api: ClassVar[Api] = delete_topics.API
    writes_metadata: ClassVar[bool] = True

    topics: tuple[Topic, ...] = (Topic.OWN,)
    by_id: bool = False

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"responses": ("name", "topic_id")}

    def request(self, known: Known) -> DeleteTopicsRequest:
        if self.api_version < TOPICS_BY_ID_SINCE[self.api.key]:
            return DeleteTopicsRequest(
                topic_names=tuple(map(known.topic, self.topics)), timeout_ms=5_000
            )
        states = (
            DeleteTopicState(topic_id=known.topic_id(topic))
            if self.by_id
            else DeleteTopicState(known.topic(topic))
            for topic in self.topics
        )
        return DeleteTopicsRequest(topics=tuple(states), timeout_ms=5_000)


@dataclass(frozen=True, kw_only=True, repr=False)
class CreatePartitions(Step):
    api: ClassVar[Api] = create_partitions.API
    writes_metadata: ClassVar[bool] = True

    topics: tuple[Topic, ...] = (Topic.OWN,)
    total_count: int = 3
    brokers: tuple[tuple[int, ...], ...] | None = None
    validate_only: bool = False

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"results": ("name",)}

    def request(self, known: Known) -> CreatePartitionsRequest:
        assignments = (
            None
            if self.brokers is None
            else tuple(CreatePartitionsAssignment(replicas) for replicas in self.brokers)
        )
        topics = tuple(
            CreatePartitionsTopic(known.topic(topic), self.total_count, assignments)
            for topic in self.topics
        )
        return CreatePartitionsRequest(topics, 5_000, self.validate_only)


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribeConfigs(Step):
    """Of a topic, or of another resource by type and name."""

    api: ClassVar[Api] = describe_configs.API

    topic: Topic = Topic.OWN
    resource: tuple[int, str] | None = None
    keys: tuple[str, ...] | None = None
    include_synonyms: bool = False
    include_documentation: bool = False

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"configs": ("name",)}

    def request(self, known: Known) -> DescribeConfigsRequest:
        resource = self.resource or (TOPIC, known.topic(self.topic))
        keys = (self.keys or BROKER_KEYS) if self.resource else self.keys
        return DescribeConfigsRequest(
            (DescribeConfigsResource(*resource, keys),),
            self.include_synonyms,
            self.include_documentation,
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
class Metadata(Step):
    """`topics` None asks for all of them."""

    api: ClassVar[Api] = metadata.API

    topics: tuple[Topic, ...] | None = (Topic.OWN,)
    by_id: bool = False
    allow_auto_topic_creation: bool = False
    include_topic_authorized_operations: bool = False
    include_cluster_authorized_operations: bool = False

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"topics": ("name", "topic_id"), "partitions": ("partition_index",)}

    def shows(self, known: Known, field_name: str, item: Any) -> bool:
        asks_for_all = self._topics(known) is None or not (self.topics or self.api_version)
        is_own = field_name != "topics" or str(item["name"]).startswith(known.prefix)
        return is_own or not asks_for_all

    def request(self, known: Known) -> MetadataRequest:
        return MetadataRequest(
            self._topics(known),
            self.allow_auto_topic_creation,
            self.include_cluster_authorized_operations,
            self.include_topic_authorized_operations,
        )

    def _topics(self, known: Known) -> tuple[MetadataRequestTopic, ...] | None:
        if self.topics is None:
            return None if self.api_version >= ALL_TOPICS_SINCE else ()
        is_by_id = self.by_id and self.api_version >= TOPICS_BY_ID_SINCE[self.api.key]
        return tuple(
            MetadataRequestTopic(known.topic_id(topic), None)
            if is_by_id
            else MetadataRequestTopic(name=known.topic(topic))
            for topic in self.topics
        )

    def learn(self, known: Known, response: Any) -> None:
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE and any(topic.topic_id):
                known.learn_topic(topic.name, topic.topic_id)


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribeTopicPartitions(Step):
    api: ClassVar[Api] = describe_topic_partitions.API

    topics: tuple[Topic, ...] = (Topic.OWN,)
    limit: int = 2000
    cursor: tuple[Topic, int] | None = None

    def request(self, known: Known) -> DescribeTopicPartitionsRequest:
        cursor = self.cursor and Cursor(known.topic(self.cursor[0]), self.cursor[1])
        topics = tuple(TopicRequest(known.topic(topic)) for topic in self.topics)
        return DescribeTopicPartitionsRequest(topics, self.limit, cursor)


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


TOPIC = 2  # a resource type
# Where the listeners are, and who votes, is each broker's own business.
BROKER_KEYS = ("log.retention.ms", "num.partitions", "log.cleanup.policy", "group.max.size")
