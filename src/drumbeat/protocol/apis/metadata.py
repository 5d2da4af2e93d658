"""Metadata (key 3): brokers, topics, partitions and their leaders.

v1 tells an empty list (no topics) from null (all), and adds controller and rack. v4 makes creation
optional. v5 adds offline replicas, v7 leader epochs, v8 authorised operations. v9 is flexible.
v10 adds topic ids, v12 allows asking by id, v13 adds a top-level error.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int16, Int32, Uuid, V


class MetadataRequestTopic(NamedTuple):
    topic_id: Annotated[Uuid, V(10)] = NULL_UUID
    name: Annotated[str | None, V(nullable=10)] = ""


class MetadataRequest(NamedTuple):
    topics: Annotated[tuple[MetadataRequestTopic, ...] | None, V(nullable=1)] = ()
    allow_auto_topic_creation: Annotated[bool, V(4)] = True
    include_cluster_authorized_operations: Annotated[bool, V(8, until=10)] = False
    include_topic_authorized_operations: Annotated[bool, V(8)] = False


class MetadataResponseBroker(NamedTuple):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: Annotated[str | None, V(1)] = None


class MetadataResponsePartition(NamedTuple):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Annotated[Int32, V(7)] = -1
    replica_nodes: tuple[Int32, ...] = ()
    isr_nodes: tuple[Int32, ...] = ()
    offline_replicas: Annotated[tuple[Int32, ...], V(5)] = ()


class MetadataResponseTopic(NamedTuple):
    error_code: Int16 = 0
    name: Annotated[str | None, V(nullable=12)] = ""
    topic_id: Annotated[Uuid, V(10)] = NULL_UUID
    is_internal: Annotated[bool, V(1)] = False
    partitions: tuple[MetadataResponsePartition, ...] = ()
    topic_authorized_operations: Annotated[Int32, V(8)] = -2147483648


class MetadataResponse(NamedTuple):
    throttle_time_ms: Annotated[Int32, V(3)] = 0
    brokers: tuple[MetadataResponseBroker, ...] = ()
    cluster_id: Annotated[str | None, V(2)] = None
    controller_id: Annotated[Int32, V(1)] = -1
    topics: tuple[MetadataResponseTopic, ...] = ()
    cluster_authorized_operations: Annotated[Int32, V(8, until=10)] = -2147483648
    error_code: Annotated[Int16, V(13)] = 0


API = Api(
    key=3,
    name="Metadata",
    versions=versions("0-13"),
    flexible=9,
    request=MetadataRequest,
    response=MetadataResponse,
)
