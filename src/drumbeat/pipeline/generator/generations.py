"""Records that say what a group looked like after a rebalance, for every type of group."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from drumbeat.core import modern_records as modern
from drumbeat.core.record_codec import encode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    OffsetCommitTombstone,
    RecordType,
)
from drumbeat.pipeline.generator.members import (
    REBALANCE_TIMEOUT_MS,
    SESSION_TIMEOUT_MS,
    Crowd,
    Member,
)
from drumbeat.pipeline.generator.plan import GroupPlan, GroupType
from drumbeat.protocol.compiler import encoder

KeyValue: TypeAlias = tuple[bytes, bytes | None]

_INT16: Final = struct.Struct(">h")
_SYNC_MS: Final = 180  # from the end of the join phase to the leader's SyncGroup
_STABLE: Final = 0  # a member's state in a consumer group
_SUBTOPOLOGY: Final = "0"
_R = RecordType


def rows_of(group: GroupPlan, crowd: Crowd, epoch: int, at_ms: int) -> list[KeyValue]:
    """What the coordinator writes when a generation or epoch is complete."""
    return list(_WRITERS[group.type](group, crowd, epoch, at_ms))


def empty_rows(group: GroupPlan, epoch: int, at_ms: int) -> list[KeyValue]:
    """A classic group that its last member has left."""
    empty = GroupMetadataRecord(group.group_id, "consumer", epoch, None, None, at_ms, ())
    return [encode(empty)]


def deletion_rows(group: GroupPlan) -> list[KeyValue]:
    """Tombstones of every offset, and then of the group."""
    places = [place for slot in group.slots for place in slot]
    offsets = [
        encode(OffsetCommitTombstone(group.group_id, group.topics[topic].name, partition))
        for topic, partition in places
    ]
    return [*offsets, encode(GroupMetadataTombstone(group.group_id))]


def _classic(group: GroupPlan, crowd: Crowd, epoch: int, at_ms: int) -> Iterator[KeyValue]:
    members = tuple(
        MemberMetadata(
            member_id=member.id_in(group),
            group_instance_id=member.instance_id(group),
            client_id=member.client_id(group),
            client_host=member.host(),
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            subscription=crowd.subscription,
            assignment=crowd.assignment(at),
        )
        for at, member in enumerate(crowd.members)
    )
    leader, state_ms = members[0].member_id, at_ms - _SYNC_MS
    name = "range"
    yield encode(
        GroupMetadataRecord(group.group_id, "consumer", epoch, name, leader, state_ms, members)
    )


def _consumer(group: GroupPlan, crowd: Crowd, epoch: int, at_ms: int) -> Iterator[KeyValue]:
    yield _row(_R.CONSUMER_GROUP_METADATA, group, None, modern.ConsumerGroupMetadataValue(epoch))
    target = modern.TargetAssignmentMetadataValue(epoch, at_ms)
    yield _row(_R.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, group, None, target)
    names = tuple(topic.name for topic in group.topics)
    for at, member in enumerate(crowd.members):
        owned = tuple((group.topics[index].topic_id, ids) for index, ids in crowd.owned(at).items())
        about = modern.NativeMemberMetadataValue(
            client_id=member.client_id(group),
            client_host=member.host(),
            subscribed_topic_names=names,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            server_assignor="uniform",
        )
        given = tuple(modern.TopicPartitions(*each) for each in owned)
        current = modern.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=epoch,
            previous_member_epoch=epoch - 1,
            state=_STABLE,
            assigned_partitions=tuple(modern.TopicPartitionsWithEpochs(*each) for each in owned),
        )
        plan = modern.TargetAssignmentMemberValue(given)
        yield _row(_R.CONSUMER_GROUP_MEMBER_METADATA, group, member, about)
        yield _row(_R.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, group, member, plan)
        yield _row(_R.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, group, member, current)


def _share(group: GroupPlan, crowd: Crowd, epoch: int, _at_ms: int) -> Iterator[KeyValue]:
    yield _row(_R.SHARE_GROUP_METADATA, group, None, modern.GroupEpochAndHashValue(epoch))
    names = tuple(topic.name for topic in group.topics)
    for member in crowd.members:
        about = modern.ShareGroupMemberMetadataValue(
            client_id=member.client_id(group),
            client_host=member.host(),
            subscribed_topic_names=names,
        )
        yield _row(_R.SHARE_GROUP_MEMBER_METADATA, group, member, about)


def _streams(group: GroupPlan, crowd: Crowd, epoch: int, _at_ms: int) -> Iterator[KeyValue]:
    yield _row(_R.STREAMS_GROUP_METADATA, group, None, modern.StreamsGroupMetadataValue(epoch))
    for at, member in enumerate(crowd.members):
        about = modern.StreamsGroupMemberMetadataValue(
            client_id=member.client_id(group),
            client_host=member.host(),
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            process_id=member.id_in(group),
        )
        partitions = tuple(sorted({p for ids in crowd.owned(at).values() for p in ids}))
        current = modern.StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=epoch,
            previous_member_epoch=epoch - 1,
            active_tasks=(modern.TaskIdsWithEpochs(_SUBTOPOLOGY, partitions),),
        )
        yield _row(_R.STREAMS_GROUP_MEMBER_METADATA, group, member, about)
        yield _row(_R.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, group, member, current)


def _row(
    record_type: RecordType, group: GroupPlan, member: Member | None, value: tuple[Any, ...]
) -> KeyValue:
    names = (group.group_id,) if member is None else (group.group_id, member.id_in(group))
    layout = modern.LAYOUTS[record_type]
    key = encoder(layout.key, 0, False)(layout.key(*names))
    body = encoder(type(value), 0, True)(value)
    return _INT16.pack(record_type) + key, _INT16.pack(0) + body


_Writer: TypeAlias = Callable[[GroupPlan, Crowd, int, int], Iterator[KeyValue]]
_WRITERS: Final[dict[GroupType, _Writer]] = {
    GroupType.CLASSIC: _classic,
    GroupType.CONSUMER: _consumer,
    GroupType.SHARE: _share,
    GroupType.STREAMS: _streams,
}
