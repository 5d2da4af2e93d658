"""DescribeTopicPartitions (key 75): topics and partitions, page by page (KIP-966)."""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int16, Int32, Uuid


class TopicRequest(NamedTuple):
    name: str = ""


class Cursor(NamedTuple):
    topic_name: str = ""
    partition_index: Int32 = 0


class DescribeTopicPartitionsRequest(NamedTuple):
    topics: tuple[TopicRequest, ...] = ()
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None


class DescribeTopicPartitionsResponsePartition(NamedTuple):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = -1
    replica_nodes: tuple[Int32, ...] = ()
    isr_nodes: tuple[Int32, ...] = ()
    eligible_leader_replicas: tuple[Int32, ...] | None = None
    last_known_elr: tuple[Int32, ...] | None = None
    offline_replicas: tuple[Int32, ...] = ()


class DescribeTopicPartitionsResponseTopic(NamedTuple):
    error_code: Int16 = 0
    name: str | None = ""
    topic_id: Uuid = NULL_UUID
    is_internal: bool = False
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...] = ()
    topic_authorized_operations: Int32 = -2147483648


class DescribeTopicPartitionsResponseCursor(NamedTuple):
    topic_name: str = ""
    partition_index: Int32 = 0


class DescribeTopicPartitionsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...] = ()
    next_cursor: DescribeTopicPartitionsResponseCursor | None = None


API = Api(
    key=75,
    name="DescribeTopicPartitions",
    versions=versions("0"),
    flexible=0,
    request=DescribeTopicPartitionsRequest,
    response=DescribeTopicPartitionsResponse,
)
