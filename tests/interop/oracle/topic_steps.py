"""Steps of administrators about topics: made, grown, deleted, and what is told about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import (
    create_partitions,
    create_topics,
    delete_topics,
    describe_topic_partitions,
    metadata,
)
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
from drumbeat.protocol.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.errors import ErrorCode
from interop.oracle.vocabulary import Known, Step, Topic

Configs = tuple[tuple[str, str | None], ...]
DELETES_BY_ID_SINCE = 6
HAS_IDS_SINCE = 10  # which may be asked by only later
ALL_TOPICS_SINCE = 1


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
    timeout_ms: int = 10_000

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
        return CreateTopicsRequest(topics, self.timeout_ms, self.validate_only)

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
    also_by_id: bool = False
    timeout_ms: int = 5_000

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"responses": ("name", "topic_id")}

    def request(self, known: Known) -> DeleteTopicsRequest:
        if self.api_version < DELETES_BY_ID_SINCE:
            return DeleteTopicsRequest(
                topic_names=tuple(map(known.topic, self.topics)), timeout_ms=self.timeout_ms
            )
        by_id = tuple(DeleteTopicState(topic_id=known.topic_id(topic)) for topic in self.topics)
        by_name = tuple(DeleteTopicState(known.topic(topic)) for topic in self.topics)
        states = (by_id if self.by_id else by_name) + (by_id if self.also_by_id else ())
        return DeleteTopicsRequest(topics=states, timeout_ms=self.timeout_ms)


@dataclass(frozen=True, kw_only=True, repr=False)
class CreatePartitions(Step):
    api: ClassVar[Api] = create_partitions.API
    writes_metadata: ClassVar[bool] = True

    topics: tuple[Topic, ...] = (Topic.OWN,)
    total_count: int = 3
    brokers: tuple[tuple[int, ...], ...] | None = None
    validate_only: bool = False
    timeout_ms: int = 5_000

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
        return CreatePartitionsRequest(topics, self.timeout_ms, self.validate_only)


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
        is_by_id = self.by_id and self.api_version >= HAS_IDS_SINCE
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
