"""ConsumerGroupHeartbeat (key 68): membership in the consumer protocol (KIP-848).

v1 adds regular expressions and member ids made by clients.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int16, Int32, Uuid, V


class TopicPartitions(NamedTuple):
    topic_id: Uuid = NULL_UUID
    partitions: tuple[Int32, ...] = ()


class ConsumerGroupHeartbeatRequest(NamedTuple):
    group_id: str = ""
    member_id: str = ""
    member_epoch: Int32 = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: Annotated[str | None, V(1)] = None
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None


class ConsumerGroupHeartbeatResponseTopicPartitions(NamedTuple):
    topic_id: Uuid = NULL_UUID
    partitions: tuple[Int32, ...] = ()


class Assignment(NamedTuple):
    topic_partitions: tuple[ConsumerGroupHeartbeatResponseTopicPartitions, ...] = ()


class ConsumerGroupHeartbeatResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None


API = Api(
    key=68,
    name="ConsumerGroupHeartbeat",
    versions=versions("0-1"),
    flexible=0,
    request=ConsumerGroupHeartbeatRequest,
    response=ConsumerGroupHeartbeatResponse,
)
