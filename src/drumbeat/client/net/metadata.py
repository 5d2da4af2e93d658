"""What is known of the cluster: an immutable snapshot made from one Metadata response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID

NO_NODE = -1


class Broker(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    index: int
    leader: int = NO_NODE
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    error: int = ErrorCode.NONE


class TopicMetadata(NamedTuple):
    """`partitions` is ordered by index; `error` is why a topic has none."""

    name: str
    topic_id: bytes = NULL_UUID
    error: int = ErrorCode.NONE
    is_internal: bool = False
    partitions: tuple[PartitionMetadata, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetadata:
    """`version` grows with each refresh; 0 is the snapshot before the first."""

    version: int = 0
    cluster_id: str | None = None
    controller_id: int = NO_NODE
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)
    topic_names: Mapping[bytes, str] = field(default_factory=dict)

    def topic(self, name: str) -> TopicMetadata | None:
        """The topic, if it exists and can be used."""
        topic = self.topics.get(name)
        return topic if topic is not None and topic.error == ErrorCode.NONE else None

    def topic_id(self, name: str) -> bytes:
        topic = self.topics.get(name)
        return topic.topic_id if topic is not None else NULL_UUID

    def partition_count(self, topic: str) -> int | None:
        known = self.topic(topic)
        return len(known.partitions) if known is not None else None

    def partition(self, tp: TopicPartition) -> PartitionMetadata | None:
        topic = self.topic(tp.topic)
        if topic is None or not 0 <= tp.partition < len(topic.partitions):
            return None
        return topic.partitions[tp.partition]

    def leader(self, tp: TopicPartition) -> int | None:
        """The node that leads the partition, if there is one that can be reached."""
        partition = self.partition(tp)
        return partition.leader if partition and partition.leader in self.brokers else None

    def leader_epoch(self, tp: TopicPartition) -> int:
        partition = self.partition(tp)
        return partition.leader_epoch if partition else -1


EMPTY = ClusterMetadata()


def snapshot(response: MetadataResponse, previous: ClusterMetadata) -> ClusterMetadata:
    """What `response` says, except where `previous` has it from a newer leader epoch.

    A broker that lags behind can answer with a leader that has been replaced (KIP-320).
    """
    topics = {
        topic.name: _topic(topic, previous) for topic in response.topics if topic.name is not None
    }
    return ClusterMetadata(
        version=previous.version + 1,
        cluster_id=response.cluster_id,
        controller_id=response.controller_id,
        brokers=MappingProxyType(
            {
                broker.node_id: Broker(broker.node_id, broker.host, broker.port, broker.rack)
                for broker in response.brokers
            }
        ),
        topics=MappingProxyType(topics),
        topic_names=MappingProxyType(
            {topic.topic_id: name for name, topic in topics.items() if topic.topic_id != NULL_UUID}
        ),
    )


def _topic(topic: MetadataResponseTopic, previous: ClusterMetadata) -> TopicMetadata:
    name = topic.name or ""
    known = previous.topics.get(name)
    same = known is not None and known.topic_id == topic.topic_id
    older = {p.index: p for p in known.partitions} if known is not None and same else {}
    partitions = sorted(
        (_partition(partition, older) for partition in topic.partitions), key=lambda p: p.index
    )
    return TopicMetadata(
        name, topic.topic_id, topic.error_code, topic.is_internal, tuple(partitions)
    )


def _partition(
    partition: MetadataResponsePartition, older: Mapping[int, PartitionMetadata]
) -> PartitionMetadata:
    known = older.get(partition.partition_index)
    if known is not None and known.leader_epoch > partition.leader_epoch >= 0:
        return known
    return PartitionMetadata(
        partition.partition_index,
        partition.leader_id,
        partition.leader_epoch,
        partition.replica_nodes,
        partition.isr_nodes,
        partition.error_code,
    )
