"""Produce (key 0): record batches go to partitions.

v3 carries v2 batches only. v7 allows zstd. v8 adds per-record errors. v9 is flexible.
v10 names the new leader (KIP-951). v12 lets the broker add partitions to a transaction (KIP-890).
v13 uses topic ids in place of names.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int16, Int32, Int64, Records, Uuid, V


class PartitionProduceData(NamedTuple):
    partition_index: Int32 = 0
    records: Records = None


class TopicProduceData(NamedTuple):
    name: Annotated[str, V(until=12)] = ""
    topic_id: Annotated[Uuid, V(13)] = NULL_UUID
    partition_data: tuple[PartitionProduceData, ...] = ()


class ProduceRequest(NamedTuple):
    transactional_id: str | None = None
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: tuple[TopicProduceData, ...] = ()


class BatchIndexAndErrorMessage(NamedTuple):
    batch_index: Int32 = 0
    batch_index_error_message: str | None = None


class LeaderIdAndEpoch(NamedTuple):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class PartitionProduceResponse(NamedTuple):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Int64 = -1
    log_start_offset: Annotated[Int64, V(5)] = -1
    record_errors: Annotated[tuple[BatchIndexAndErrorMessage, ...], V(8)] = ()
    error_message: Annotated[str | None, V(8)] = None
    current_leader: Annotated[LeaderIdAndEpoch, V(10, tag=0)] = LeaderIdAndEpoch()


class TopicProduceResponse(NamedTuple):
    name: Annotated[str, V(until=12)] = ""
    topic_id: Annotated[Uuid, V(13)] = NULL_UUID
    partition_responses: tuple[PartitionProduceResponse, ...] = ()


class NodeEndpoint(NamedTuple):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


class ProduceResponse(NamedTuple):
    responses: tuple[TopicProduceResponse, ...] = ()
    throttle_time_ms: Int32 = 0
    node_endpoints: Annotated[tuple[NodeEndpoint, ...], V(10, tag=0)] = ()


API = Api(
    key=0,
    name="Produce",
    versions=versions("3-13"),
    flexible=9,
    request=ProduceRequest,
    response=ProduceResponse,
)
