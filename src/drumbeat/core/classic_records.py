"""Keys and values of the records that classic groups and their offsets write.

Keys are plain; which version of a value is flexible, and which is written, is said where they are
encoded. Field names are Kafka's.
"""

from typing import Annotated, NamedTuple

from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    NO_LEADER_EPOCH,
    NO_REBALANCE_TIMEOUT,
    NO_STATE_TIMESTAMP,
)
from drumbeat.protocol.schema import NULL_UUID, Int32, Int64, Uuid, V


class OffsetKey(NamedTuple):
    group_id: str = ""
    topic: str = ""
    partition: Int32 = 0


class OffsetCommitValue(NamedTuple):
    offset: Int64 = 0
    leader_epoch: Annotated[Int32, V(3)] = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Annotated[Int64, V(1, until=1)] = NO_EXPIRE_TIMESTAMP
    topic_id: Annotated[Uuid, V(4, tag=0)] = NULL_UUID


class GroupMetadataKey(NamedTuple):
    group_id: str = ""


class MemberMetadataValue(NamedTuple):
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(3)] = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: Annotated[Int32, V(1)] = NO_REBALANCE_TIMEOUT
    session_timeout: Int32 = 0
    subscription: bytes = b""
    assignment: bytes = b""


class GroupMetadataValue(NamedTuple):
    protocol_type: str = ""
    generation: Int32 = 0
    protocol: str | None = None
    leader: str | None = None
    current_state_timestamp: Annotated[Int64, V(2)] = NO_STATE_TIMESTAMP
    members: tuple[MemberMetadataValue, ...] = ()
