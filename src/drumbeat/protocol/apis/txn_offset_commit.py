"""TxnOffsetCommit (key 28): offsets are committed as part of a transaction.

v2 adds leader epochs. v3 is flexible and adds the member (KIP-447). v5 adds the group's partition
to the transaction by itself (KIP-890).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64, V


class TxnOffsetCommitRequestPartition(NamedTuple):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, V(2)] = -1
    committed_metadata: str | None = ""


class TxnOffsetCommitRequestTopic(NamedTuple):
    name: str = ""
    partitions: tuple[TxnOffsetCommitRequestPartition, ...] = ()


class TxnOffsetCommitRequest(NamedTuple):
    transactional_id: str = ""
    group_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    generation_id: Annotated[Int32, V(3)] = -1
    member_id: Annotated[str, V(3)] = ""
    group_instance_id: Annotated[str | None, V(3)] = None
    topics: tuple[TxnOffsetCommitRequestTopic, ...] = ()


class TxnOffsetCommitResponsePartition(NamedTuple):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class TxnOffsetCommitResponseTopic(NamedTuple):
    name: str = ""
    partitions: tuple[TxnOffsetCommitResponsePartition, ...] = ()


class TxnOffsetCommitResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    topics: tuple[TxnOffsetCommitResponseTopic, ...] = ()


API = Api(
    key=28,
    name="TxnOffsetCommit",
    versions=versions("0-5"),
    flexible=3,
    request=TxnOffsetCommitRequest,
    response=TxnOffsetCommitResponse,
)
