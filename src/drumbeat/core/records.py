"""The facts of one `__consumer_offsets` partition, as values.

Each is a record Kafka's group coordinator writes, named after Kafka's message for it. A record
whose value is null on disk is a tombstone here: a type of its own, so that nothing has to ask.
`drumbeat.core.record_codec` turns them into Kafka's bytes and back; `drumbeat.core.reducer`
applies them to the state.
"""

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from drumbeat.protocol.schema import NULL_UUID

NO_EXPIRE_TIMESTAMP: Final = -1  # the offset expires by the broker's retention
NO_LEADER_EPOCH: Final = -1
NO_STATE_TIMESTAMP: Final = -1  # records written before KIP-211 do not say when the group changed
NO_REBALANCE_TIMEOUT: Final = -1  # a rebalance waits as long as the session lasts


class RecordType(IntEnum):
    """The int16 that every key begins with. 9 and 18 were never used."""

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23


class RecordError(Exception):
    """A record that cannot be read, or cannot be written. The partition must not go on without."""


class OffsetCommitRecord(NamedTuple):
    """A group's position in one partition."""

    group_id: str
    topic: str
    partition: int
    committed_offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRE_TIMESTAMP
    topic_id: bytes = NULL_UUID


class OffsetCommitTombstone(NamedTuple):
    group_id: str
    topic: str
    partition: int


class MemberMetadata(NamedTuple):
    """One member of a completed generation, with what it sent and what it was given."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes  # metadata of the protocol that was chosen, and of no other
    assignment: bytes


class GroupMetadataRecord(NamedTuple):
    """A classic group after its last completed rebalance, or Empty."""

    group_id: str
    protocol_type: str  # "" until the group has had a member
    generation_id: int
    protocol_name: str | None
    leader: str | None
    state_timestamp_ms: int
    members: tuple[MemberMetadata, ...]


class GroupMetadataTombstone(NamedTuple):
    group_id: str


class ModernGroupRecord(NamedTuple):
    """A record of a consumer, share or streams group, as it stands in the log.

    `drumbeat.core.record_codec` has read it once, so it is known to be whole; its fields are what
    `read_modern_key` and `read_modern_value` return.
    """

    record_type: RecordType
    group_id: str
    key: bytes
    value: bytes | None  # None: a tombstone


class UnknownRecord(NamedTuple):
    """A record type that this version does not know. Kept whole, applied to nothing."""

    record_type: int
    key: bytes
    value: bytes | None


Record: TypeAlias = (
    OffsetCommitRecord
    | OffsetCommitTombstone
    | GroupMetadataRecord
    | GroupMetadataTombstone
    | ModernGroupRecord
    | UnknownRecord
)
