"""Keys and values of the records that consumer, share and streams groups write.

Drumbeat serves none of these groups yet, but their records stand in the same log: they are read
in full at load, so that damage is noticed, and by whoever wants to show them. All values are
version 0 and flexible; all keys are plain. Field names are Kafka's.
"""

from typing import Annotated, NamedTuple

from drumbeat.core.records import RecordType
from drumbeat.protocol.schema import NULL_UUID, Int8, Int16, Int32, Int64, Uint16, Uuid, V


class GroupKey(NamedTuple):
    group_id: str = ""


class GroupMemberKey(NamedTuple):
    group_id: str = ""
    member_id: str = ""


class GroupRegularExpressionKey(NamedTuple):
    group_id: str = ""
    regular_expression: str = ""


# -- shared by several values ---------------------------------------------------------------------


class TopicPartitions(NamedTuple):
    topic_id: Uuid = NULL_UUID
    partitions: tuple[Int32, ...] = ()


class TopicPartitionsWithEpochs(NamedTuple):
    topic_id: Uuid = NULL_UUID
    partitions: tuple[Int32, ...] = ()
    assignment_epochs: Annotated[tuple[Int32, ...] | None, V(tag=0)] = None  # KIP-1251


class TaskIds(NamedTuple):
    subtopology_id: str = ""
    partitions: tuple[Int32, ...] = ()


class TaskIdsWithEpochs(NamedTuple):
    subtopology_id: str = ""
    partitions: tuple[Int32, ...] = ()
    assignment_epochs: Annotated[tuple[Int32, ...] | None, V(tag=0)] = None


class KeyValue(NamedTuple):
    key: str = ""
    value: str = ""


class TargetAssignmentMetadataValue(NamedTuple):
    assignment_epoch: Int32 = 0
    assignment_timestamp: Annotated[Int64, V(tag=0)] = 0  # KIP-1263


class TargetAssignmentMemberValue(NamedTuple):
    topic_partitions: tuple[TopicPartitions, ...] = ()


# -- consumer groups (KIP-848) --------------------------------------------------------------------


class ConsumerGroupMetadataValue(NamedTuple):
    epoch: Int32 = 0
    metadata_hash: Annotated[Int64, V(tag=0)] = 0  # KIP-1101


class PartitionMetadata(NamedTuple):
    partition: Int32 = 0
    racks: tuple[str, ...] = ()


class TopicMetadata(NamedTuple):
    topic_id: Uuid = NULL_UUID
    topic_name: str = ""
    num_partitions: Int32 = 0
    partition_metadata: tuple[PartitionMetadata, ...] = ()


class ConsumerGroupPartitionMetadataValue(NamedTuple):
    """Unused since Kafka 4.1, which only writes its tombstone."""

    topics: tuple[TopicMetadata, ...] = ()


class ClassicProtocol(NamedTuple):
    name: str = ""
    metadata: bytes = b""


class ClassicMemberMetadata(NamedTuple):
    session_timeout_ms: Int32 = 0
    supported_protocols: tuple[ClassicProtocol, ...] = ()


class ConsumerGroupMemberMetadataValue(NamedTuple):
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    rebalance_timeout_ms: Int32 = -1
    server_assignor: str | None = None
    classic_member_metadata: Annotated[ClassicMemberMetadata | None, V(tag=0)] = None


class NativeMemberMetadataValue(NamedTuple):
    """The same value of a member that speaks the consumer protocol itself.

    Kafka writes "no classic metadata" as a tagged field of one zero byte: unlike null in any
    other struct, which is -1. It stands here as the number it is.
    """

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    rebalance_timeout_ms: Int32 = -1
    server_assignor: str | None = None
    no_classic_member_metadata: Annotated[Int8, V(tag=0)] = 0


class ConsumerGroupCurrentMemberAssignmentValue(NamedTuple):
    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: tuple[TopicPartitionsWithEpochs, ...] = ()
    partitions_pending_revocation: tuple[TopicPartitionsWithEpochs, ...] = ()


class ConsumerGroupRegularExpressionValue(NamedTuple):
    topics: tuple[str, ...] = ()
    version: Int64 = 0
    timestamp: Int64 = 0


# -- share groups (KIP-932) -----------------------------------------------------------------------


class ShareGroupMemberMetadataValue(NamedTuple):
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()


class GroupEpochAndHashValue(NamedTuple):
    epoch: Int32 = 0
    metadata_hash: Int64 = 0


class ShareGroupCurrentMemberAssignmentValue(NamedTuple):
    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: tuple[TopicPartitions, ...] = ()


class TopicPartitionsInfo(NamedTuple):
    topic_id: Uuid = NULL_UUID
    topic_name: str = ""
    partitions: tuple[Int32, ...] = ()


class TopicIdAndName(NamedTuple):
    topic_id: Uuid = NULL_UUID
    topic_name: str = ""


class ShareGroupStatePartitionMetadataValue(NamedTuple):
    initializing_topics: tuple[TopicPartitionsInfo, ...] = ()
    initialized_topics: tuple[TopicPartitionsInfo, ...] = ()
    deleting_topics: tuple[TopicIdAndName, ...] = ()


# -- streams groups (KIP-1071) --------------------------------------------------------------------


class StreamsGroupMetadataValue(NamedTuple):
    epoch: Int32 = 0
    metadata_hash: Int64 = 0
    validated_topology_epoch: Annotated[Int32, V(tag=0)] = -1
    last_assignment_configs: Annotated[tuple[KeyValue, ...] | None, V(tag=1)] = None


class Endpoint(NamedTuple):
    host: str = ""
    port: Uint16 = 0


class StreamsGroupMemberMetadataValue(NamedTuple):
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: Int32 = -1
    topology_epoch: Int32 = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...] = ()


class StreamsGroupTargetAssignmentMemberValue(NamedTuple):
    active_tasks: tuple[TaskIds, ...] = ()
    standby_tasks: tuple[TaskIds, ...] = ()
    warmup_tasks: tuple[TaskIds, ...] = ()


class StreamsGroupCurrentMemberAssignmentValue(NamedTuple):
    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    active_tasks: tuple[TaskIdsWithEpochs, ...] = ()
    standby_tasks: tuple[TaskIdsWithEpochs, ...] = ()
    warmup_tasks: tuple[TaskIdsWithEpochs, ...] = ()
    active_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...] = ()
    standby_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...] = ()
    warmup_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...] = ()


class TopicInfo(NamedTuple):
    name: str = ""
    partitions: Int32 = 0
    replication_factor: Int16 = 0
    topic_configs: tuple[KeyValue, ...] = ()


class CopartitionGroup(NamedTuple):
    source_topics: tuple[Int16, ...] = ()
    source_topic_regex: tuple[Int16, ...] = ()
    repartition_source_topics: tuple[Int16, ...] = ()


class Subtopology(NamedTuple):
    subtopology_id: str = ""
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


class StreamsGroupTopologyValue(NamedTuple):
    epoch: Int32 = 0
    subtopologies: tuple[Subtopology, ...] = ()


class Layout(NamedTuple):
    """The messages that a record type's key and value are."""

    key: type[GroupKey | GroupMemberKey | GroupRegularExpressionKey]
    value: type[tuple[object, ...]]


_R = RecordType

LAYOUTS: dict[RecordType, Layout] = {
    _R.CONSUMER_GROUP_METADATA: Layout(GroupKey, ConsumerGroupMetadataValue),
    _R.CONSUMER_GROUP_PARTITION_METADATA: Layout(GroupKey, ConsumerGroupPartitionMetadataValue),
    _R.CONSUMER_GROUP_MEMBER_METADATA: Layout(GroupMemberKey, ConsumerGroupMemberMetadataValue),
    _R.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: Layout(GroupKey, TargetAssignmentMetadataValue),
    _R.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: Layout(GroupMemberKey, TargetAssignmentMemberValue),
    _R.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: Layout(
        GroupMemberKey, ConsumerGroupCurrentMemberAssignmentValue
    ),
    _R.SHARE_GROUP_MEMBER_METADATA: Layout(GroupMemberKey, ShareGroupMemberMetadataValue),
    _R.SHARE_GROUP_METADATA: Layout(GroupKey, GroupEpochAndHashValue),
    _R.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: Layout(GroupKey, TargetAssignmentMetadataValue),
    _R.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: Layout(GroupMemberKey, TargetAssignmentMemberValue),
    _R.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: Layout(
        GroupMemberKey, ShareGroupCurrentMemberAssignmentValue
    ),
    _R.SHARE_GROUP_STATE_PARTITION_METADATA: Layout(
        GroupKey, ShareGroupStatePartitionMetadataValue
    ),
    _R.CONSUMER_GROUP_REGULAR_EXPRESSION: Layout(
        GroupRegularExpressionKey, ConsumerGroupRegularExpressionValue
    ),
    _R.STREAMS_GROUP_METADATA: Layout(GroupKey, StreamsGroupMetadataValue),
    _R.STREAMS_GROUP_MEMBER_METADATA: Layout(GroupMemberKey, StreamsGroupMemberMetadataValue),
    _R.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: Layout(GroupKey, TargetAssignmentMetadataValue),
    _R.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: Layout(
        GroupMemberKey, StreamsGroupTargetAssignmentMemberValue
    ),
    _R.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: Layout(
        GroupMemberKey, StreamsGroupCurrentMemberAssignmentValue
    ),
    _R.STREAMS_GROUP_TOPOLOGY: Layout(GroupKey, StreamsGroupTopologyValue),
}
