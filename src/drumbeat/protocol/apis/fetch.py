"""Fetch (key 1): record batches come from partitions, with a long poll.

v4 adds isolation levels, v5 the log start offset, v7 sessions (KIP-227), v9 leader epochs,
v10 zstd, v11 the rack. v12 is flexible and detects diverging epochs. v13 uses topic ids.
v15 moves the replica id into a tag, v16 names new leaders, v17 and v18 concern replicas.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int8, Int16, Int32, Int64, Records, Uuid, V


class ReplicaState(NamedTuple):
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


class FetchPartition(NamedTuple):
    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, V(9)] = -1
    fetch_offset: Int64 = 0
    last_fetched_epoch: Annotated[Int32, V(12)] = -1
    log_start_offset: Annotated[Int64, V(5)] = -1
    partition_max_bytes: Int32 = 0
    replica_directory_id: Annotated[Uuid, V(17, tag=0)] = NULL_UUID
    high_watermark: Annotated[Int64, V(18, tag=1)] = 9223372036854775807


class FetchTopic(NamedTuple):
    topic: Annotated[str, V(until=12)] = ""
    topic_id: Annotated[Uuid, V(13)] = NULL_UUID
    partitions: tuple[FetchPartition, ...] = ()


class ForgottenTopic(NamedTuple):
    topic: Annotated[str, V(until=12)] = ""
    topic_id: Annotated[Uuid, V(13)] = NULL_UUID
    partitions: tuple[Int32, ...] = ()


class FetchRequest(NamedTuple):
    cluster_id: Annotated[str | None, V(12, tag=0)] = None
    replica_id: Annotated[Int32, V(until=14)] = -1
    replica_state: Annotated[ReplicaState, V(15, tag=1)] = ReplicaState()
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = 2147483647
    isolation_level: Int8 = 0
    session_id: Annotated[Int32, V(7)] = 0
    session_epoch: Annotated[Int32, V(7)] = -1
    topics: tuple[FetchTopic, ...] = ()
    forgotten_topics_data: Annotated[tuple[ForgottenTopic, ...], V(7)] = ()
    rack_id: Annotated[str, V(11)] = ""


class EpochEndOffset(NamedTuple):
    epoch: Int32 = -1
    end_offset: Int64 = -1


class LeaderIdAndEpoch(NamedTuple):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class SnapshotId(NamedTuple):
    end_offset: Int64 = -1
    epoch: Int32 = -1


class AbortedTransaction(NamedTuple):
    producer_id: Int64 = 0
    first_offset: Int64 = 0


class PartitionData(NamedTuple):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Int64 = -1
    log_start_offset: Annotated[Int64, V(5)] = -1
    diverging_epoch: Annotated[EpochEndOffset, V(12, tag=0)] = EpochEndOffset()
    current_leader: Annotated[LeaderIdAndEpoch, V(12, tag=1)] = LeaderIdAndEpoch()
    snapshot_id: Annotated[SnapshotId, V(12, tag=2)] = SnapshotId()
    aborted_transactions: tuple[AbortedTransaction, ...] | None = ()
    preferred_read_replica: Annotated[Int32, V(11)] = -1
    records: Records = None


class FetchableTopicResponse(NamedTuple):
    topic: Annotated[str, V(until=12)] = ""
    topic_id: Annotated[Uuid, V(13)] = NULL_UUID
    partitions: tuple[PartitionData, ...] = ()


class NodeEndpoint(NamedTuple):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


class FetchResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, V(7)] = 0
    session_id: Annotated[Int32, V(7)] = 0
    responses: tuple[FetchableTopicResponse, ...] = ()
    node_endpoints: Annotated[tuple[NodeEndpoint, ...], V(16, tag=0)] = ()


API = Api(
    key=1,
    name="Fetch",
    versions=versions("4-18"),
    flexible=12,
    request=FetchRequest,
    response=FetchResponse,
)
