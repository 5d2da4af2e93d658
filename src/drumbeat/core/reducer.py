"""`apply`: the only writer of durable state. It never refuses, because the fact has happened.

The same function runs live, at load and wherever history is replayed. Four laws, each a property
test: the same records give the same state; every record can be applied to every state; groups do
not touch each other; nothing but the order of log offsets matters.
"""

from typing import Any, Final, assert_never

from drumbeat.core.records import (
    NO_REBALANCE_TIMEOUT,
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
    RecordType,
    UnknownRecord,
)
from drumbeat.core.state import CommittedOffset, Group, Offsets, State, TopicPartition
from drumbeat.protocol.record_batch import NO_PRODUCER_ID

_SIMPLE_GROUP: Final = Group()
_new: Final = tuple.__new__

# Share groups keep their positions elsewhere, so they are nothing to this log's readers.
_SHARE_GROUP_TYPES = frozenset(
    {
        RecordType.SHARE_GROUP_MEMBER_METADATA,
        RecordType.SHARE_GROUP_METADATA,
        RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA,
        RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER,
        RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        RecordType.SHARE_GROUP_STATE_PARTITION_METADATA,
    }
)
_GROUP_EPOCH_TYPES = frozenset(
    {RecordType.CONSUMER_GROUP_METADATA, RecordType.STREAMS_GROUP_METADATA}
)


def apply(state: State, record: Record, log_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
    """Make `record`, which stands at `log_offset`, part of the state.

    With a producer id it belongs to an open transaction: its offsets wait for the end marker.
    """
    if not isinstance(record, OffsetCommitRecord):
        _apply_other(state, record)
        return
    # Nearly every record of a log comes this way, so nothing is called that need not be.
    fields: tuple[Any, ...] = record  # compiled code would unpack typed numbers to pack them again
    group_id, topic, partition, offset, leader_epoch, metadata, at_ms, expire_ms, topic_id = fields
    if group_id not in state.groups:
        state.groups[group_id] = _SIMPLE_GROUP
    by_group = state.offsets
    if producer_id != NO_PRODUCER_ID:
        by_group = state.pending_offsets.setdefault(producer_id, {})
    offsets = by_group.get(group_id)
    if offsets is None:
        offsets = by_group[group_id] = {}
    offsets[topic, partition] = _new(
        CommittedOffset, (offset, leader_epoch, metadata, at_ms, expire_ms, topic_id, log_offset)
    )


def apply_offsets(
    state: State, group_id: str, offsets: Offsets, producer_id: int = NO_PRODUCER_ID
) -> None:
    """The same for many offset commits of one group, in order; `offsets` is the state's from now.

    This is how a load, which reads runs of such commits at a time, applies them.
    """
    if group_id not in state.groups:
        state.groups[group_id] = _SIMPLE_GROUP
    by_group = state.offsets
    if producer_id != NO_PRODUCER_ID:
        by_group = state.pending_offsets.setdefault(producer_id, {})
    known = by_group.setdefault(group_id, offsets)
    if known is not offsets:
        known.update(offsets)


def end_transaction(state: State, producer_id: int, is_committed: bool) -> None:
    """An end marker: the producer's pending offsets become committed ones, or are dropped."""
    pending = state.pending_offsets.pop(producer_id, None)
    if pending is None or not is_committed:
        return
    for group_id, offsets in pending.items():
        committed = state.offsets.setdefault(group_id, {})
        for topic_partition, offset in offsets.items():
            known = committed.get(topic_partition)
            # A commit that came later in the log, by anybody, outlives this one: compaction may
            # have dropped what stood between, so the marker's own position proves nothing.
            if known is None or known.log_offset < offset.log_offset:
                committed[topic_partition] = offset


def _apply_other(
    state: State,
    record: OffsetCommitTombstone
    | GroupMetadataRecord
    | GroupMetadataTombstone
    | ModernGroupRecord
    | UnknownRecord,
) -> None:
    match record:
        case OffsetCommitTombstone():
            _apply_offset_tombstone(state, record)
        case GroupMetadataRecord():
            members = {member.member_id: _member(member) for member in record.members}
            state.groups[record.group_id] = Group(*record[1:-1], members)
        case GroupMetadataTombstone():
            # The offsets stay, out of sight, until a record of their own removes them.
            state.groups.pop(record.group_id, None)
        case ModernGroupRecord():
            _apply_modern(state, record)
        case UnknownRecord():
            pass
        case _:
            assert_never(record)


def _member(member: MemberMetadata) -> MemberMetadata:
    if member.rebalance_timeout_ms != NO_REBALANCE_TIMEOUT:
        return member
    return member._replace(rebalance_timeout_ms=member.session_timeout_ms)


def _apply_offset_tombstone(state: State, record: OffsetCommitTombstone) -> None:
    group_id, topic, partition = record
    topic_partition = (topic, partition)
    _remove(state.offsets, group_id, topic_partition)
    for producer_id, by_group in list(state.pending_offsets.items()):
        _remove(by_group, group_id, topic_partition)
        if not by_group:
            del state.pending_offsets[producer_id]


def _remove(by_group: dict[str, Offsets], group_id: str, topic_partition: TopicPartition) -> None:
    offsets = by_group.get(group_id)
    if offsets is None:
        return
    offsets.pop(topic_partition, None)
    if not offsets:
        del by_group[group_id]


def _apply_modern(state: State, record: ModernGroupRecord) -> None:
    """A group whose protocol we do not serve is to us a simple one.

    Its members cannot reach us, so it is as good as Empty; its offsets can be read, written and
    expire by their own age, as they would for Kafka once the members had timed out, and a
    classic member may take the id over.
    """
    if record.record_type in _SHARE_GROUP_TYPES:
        return
    if record.value is not None:
        state.groups.setdefault(record.group_id, _SIMPLE_GROUP)
        return
    is_simple = state.groups.get(record.group_id) == _SIMPLE_GROUP
    if is_simple and record.record_type in _GROUP_EPOCH_TYPES:
        del state.groups[record.group_id]
