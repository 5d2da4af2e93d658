"""Topics: create, delete, list, describe, more partitions, fewer records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drumbeat.client.admin.results import checked, named_error
from drumbeat.client.admin.routing import Router
from drumbeat.client.errors import KafkaError, error_for
from drumbeat.client.net.metadata import EMPTY, TopicMetadata, snapshot
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import (
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    metadata,
)
from drumbeat.protocol.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from drumbeat.protocol.apis.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from drumbeat.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID

BROKER_DEFAULT = -1
_STATES_SINCE = 6  # DeleteTopics names topics in another field from here on


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """-1 is the broker's default. `replica_assignments` (broker ids by partition) replaces both."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    replica_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic:
    """What the broker made of a NewTopic; -1 and None where it is too old to say."""

    name: str
    topic_id: bytes = NULL_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str | None] | None = None


class TopicsAdmin(Router):
    async def create_topics(
        self, topics: Iterable[NewTopic | str], *, validate_only: bool = False
    ) -> dict[str, CreatedTopic]:
        """Create them, or (`validate_only`) see whether they could be."""
        named = [NewTopic(name=topic) if isinstance(topic, str) else topic for topic in topics]
        new = {topic.name: topic for topic in named}

        async def request(node_id: int, names: list[str]) -> dict[str, CreatedTopic | KafkaError]:
            body = CreateTopicsRequest(
                topics=tuple(_creatable(new[name]) for name in names),
                timeout_ms=self._config.request_timeout_ms,
                validate_only=validate_only,
            )
            response = await self._cluster.send(node_id, create_topics.API, body)
            return {
                topic.name: _error(topic.name, topic)
                or CreatedTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    num_partitions=topic.num_partitions,
                    replication_factor=topic.replication_factor,
                    configs=None
                    if topic.configs is None
                    else {config.name: config.value for config in topic.configs},
                )
                for topic in response.topics
            }

        return checked(await self._ask(new, self._controller, request))

    async def delete_topics(self, names: Iterable[str]) -> None:
        """Delete them with all their records."""

        def build(asked: list[str]) -> Callable[[int], DeleteTopicsRequest]:
            timeout_ms = self._config.request_timeout_ms
            states = tuple(DeleteTopicState(name=name) for name in asked)
            return lambda version: (
                DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)
                if version >= _STATES_SINCE
                else DeleteTopicsRequest(topic_names=tuple(asked), timeout_ms=timeout_ms)
            )

        async def request(node_id: int, asked: list[str]) -> dict[str, KafkaError | None]:
            response = await self._cluster.send(node_id, delete_topics.API, build(asked))
            return {one.name: _error(one.name, one) for one in response.responses}

        checked(await self._ask(names, self._controller, request))

    async def list_topics(self, *, include_internal: bool = False) -> tuple[str, ...]:
        """Names of all topics, sorted."""
        topics = await self._topics(None)
        return tuple(
            sorted(t.name for t in topics.values() if include_internal or not t.is_internal)
        )

    async def describe_topics(self, names: Iterable[str] | None = None) -> dict[str, TopicMetadata]:
        """Ids and partitions with leaders and replicas; None asks for all topics."""
        if names is None:
            return await self._topics(None)

        async def request(_node_id: int, asked: list[str]) -> dict[str, TopicMetadata | KafkaError]:
            found = await self._topics(asked)
            return {
                name: named_error(name, topic.error) if topic.error else topic
                for name, topic in found.items()
            }

        route = self._any_broker._replace(retries_unknown_topics=True)
        return checked(await self._ask(names, route, request))

    async def create_partitions(
        self, total_counts: Mapping[str, int], *, validate_only: bool = False
    ) -> None:
        """Have topics grow to this many partitions each. Keys go elsewhere from then on."""

        async def request(node_id: int, names: list[str]) -> dict[str, KafkaError | None]:
            body = CreatePartitionsRequest(
                topics=tuple(
                    CreatePartitionsTopic(name, total_counts[name], None) for name in names
                ),
                timeout_ms=self._config.request_timeout_ms,
                validate_only=validate_only,
            )
            response = await self._cluster.send(node_id, create_partitions.API, body)
            return {one.name: _error(one.name, one) for one in response.results}

        checked(await self._ask(total_counts, self._controller, request))

    async def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Remove everything before these offsets (-1: all); the new first offsets."""

        async def request(
            node_id: int, asked: list[TopicPartition]
        ) -> dict[TopicPartition, int | KafkaError]:
            body = DeleteRecordsRequest(
                topics=tuple(
                    DeleteRecordsTopic(
                        topic, tuple(DeleteRecordsPartition(tp.partition, before[tp]) for tp in tps)
                    )
                    for topic, tps in by_topic(asked).items()
                ),
                timeout_ms=self._config.request_timeout_ms,
            )
            response = await self._cluster.send(node_id, delete_records.API, body)
            return {
                (tp := TopicPartition(topic.name, one.partition_index)): (
                    named_error(tp, one.error_code) if one.error_code else one.low_watermark
                )
                for topic in response.topics
                for one in topic.partitions
            }

        return checked(await self._ask(before, self._leaders, request))

    async def _topics(self, names: Iterable[str] | None) -> dict[str, TopicMetadata]:
        """As any broker knows them, without creating what is missing."""
        asked = None if names is None else tuple(MetadataRequestTopic(name=n) for n in names)
        body = MetadataRequest(topics=asked, allow_auto_topic_creation=False)

        async def attempt() -> dict[str, TopicMetadata]:
            cluster = self._cluster
            response = await cluster.send(
                cluster.least_loaded(), metadata.API, body, versions=_METADATA_VERSIONS
            )
            if response.error_code != ErrorCode.NONE:
                raise error_for(response.error_code)
            return dict(snapshot(response, EMPTY).topics)

        return await self._cluster.retry(attempt)


# Version 0 cannot tell all topics from none, and versions before 4 create what is missing.
_METADATA_VERSIONS = range(4, metadata.API.versions.stop)


def by_topic(tps: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Partitions by their topic, as most requests want them."""
    topics: dict[str, list[TopicPartition]] = {}
    for tp in tps:
        topics.setdefault(tp.topic, []).append(tp)
    return topics


def _creatable(topic: NewTopic) -> CreatableTopic:
    is_assigned = bool(topic.replica_assignments)
    return CreatableTopic(
        name=topic.name,
        num_partitions=BROKER_DEFAULT if is_assigned else topic.num_partitions,
        replication_factor=BROKER_DEFAULT if is_assigned else topic.replication_factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition, tuple(brokers))
            for partition, brokers in topic.replica_assignments.items()
        ),
        configs=tuple(CreatableTopicConfig(name, str(v)) for name, v in topic.configs.items()),
    )


def _error(name: str, answer: Any) -> KafkaError | None:
    if answer.error_code == ErrorCode.NONE:
        return None
    return named_error(name, answer.error_code, getattr(answer, "error_message", None))
