"""Changes of consumer, share and streams groups, whose facts are spread over many records.

An epoch record says that something changed; member records say who is there; current assignment
records say how far each member has come, and in consumer groups which partitions it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from drumbeat.core.modern_records import ConsumerGroupCurrentMemberAssignmentValue
from drumbeat.core.record_codec import read_modern_key, read_modern_value
from drumbeat.core.records import ModernGroupRecord, RecordType
from drumbeat.pipeline.tables.builder import NONE
from drumbeat.pipeline.tables.group_changes import (
    Generation,
    GroupChange,
    GroupType,
    Member,
    Owner,
    OwnershipChange,
    OwnerState,
    TopicPartition,
)


@dataclass(slots=True)
class ModernGroup:
    group_type: GroupType
    log_offset: int = NONE  # of the newest record that changed it
    generation: Generation | None = None
    members: dict[str, Member] = field(default_factory=dict)
    behind: set[str] = field(default_factory=set)  # members that have not reached the epoch
    held: dict[str, dict[TopicPartition, Owner]] = field(default_factory=dict)  # by member id
    owners: dict[TopicPartition, Owner] = field(default_factory=dict)


class _Change(NamedTuple):
    """The part of a GroupChange that depends on the record."""

    joined: tuple[Member, ...] = ()
    left: tuple[Member, ...] = ()
    updated: tuple[Member, ...] = ()
    ownership: tuple[OwnershipChange, ...] = ()
    is_reconciled: bool = False


class _Role(NamedTuple):
    group_type: GroupType
    apply: Callable[[ModernGroup, str, Any], _Change]  # group, member id, value


def change_of(
    groups: dict[str, ModernGroup], record: ModernGroupRecord, log_offset: int, append_ts: int
) -> GroupChange | None:
    """Apply the record; None if it is of a kind that no table shows."""
    role = _ROLES.get(record.record_type)
    if role is None:
        return None
    group = groups.setdefault(record.group_id, ModernGroup(role.group_type))
    key = read_modern_key(record.record_type, record.key)
    value = None if record.value is None else read_modern_value(record.record_type, record.value)
    before, prev_log_offset = group.generation, group.log_offset
    change = role.apply(group, str(key[-1]), value)
    group.log_offset = log_offset
    if group.generation is None and not group.members:
        del groups[record.group_id]
    return GroupChange(
        record.group_id, group.group_type, log_offset, append_ts, prev_log_offset,
        before, group.generation, *change,
    )  # fmt: skip


def _apply_epoch(group: ModernGroup, _: str, value: Any) -> _Change:
    if value is None:
        group.generation = None
        return _Change()
    group.generation = Generation(
        generation_id=value.epoch,
        n_members=len(group.members),
        n_static=sum(member.group_instance_id is not None for member in group.members.values()),
    )
    group.behind = set(group.members)
    return _Change()


def _apply_member(group: ModernGroup, member_id: str, value: Any) -> _Change:
    known = group.members.pop(member_id, None)
    if value is None:
        return _removed(group, member_id, known)
    member = Member(
        member_id=member_id,
        group_instance_id=getattr(value, "instance_id", None),
        client_id=value.client_id,
        client_host=value.client_host,
        session_timeout_ms=None,
        rebalance_timeout_ms=getattr(value, "rebalance_timeout_ms", None),
        assignor=getattr(value, "server_assignor", None),
        topics=tuple(getattr(value, "subscribed_topic_names", ())),
    )
    group.members[member_id] = member
    if known is not None:
        return _Change(updated=(member,))
    group.behind.add(member_id)
    return _Change(joined=(member,))


def _removed(group: ModernGroup, member_id: str, known: Member | None) -> _Change:
    group.behind.discard(member_id)
    return _Change(left=() if known is None else (known,))


def _apply_progress(group: ModernGroup, member_id: str, value: Any) -> _Change:
    """How far a member has come; what it has is left out, because it shares it with others."""
    return _Change(is_reconciled=value is not None and _reached(group, member_id, value))


def _apply_assignment(group: ModernGroup, member_id: str, value: Any) -> _Change:
    held = {} if value is None else _partitions_of(group, member_id, value)
    ownership = tuple(_handed_over(group, member_id, held))
    is_reconciled = value is not None and _reached(group, member_id, value)
    return _Change(ownership=ownership, is_reconciled=is_reconciled)


def _reached(group: ModernGroup, member_id: str, value: Any) -> bool:
    generation = group.generation
    if generation is None or member_id not in group.behind:
        return False
    if value.member_epoch >= generation.generation_id:
        group.behind.discard(member_id)
    return not group.behind


def _partitions_of(
    group: ModernGroup, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue
) -> dict[TopicPartition, Owner]:
    member = group.members.get(member_id)
    client_id = "" if member is None else member.client_id
    by_state = (
        (OwnerState.OWNED, value.assigned_partitions),
        (OwnerState.PENDING_REVOKE, value.partitions_pending_revocation),
    )
    return {
        (topic.topic_id, partition): Owner(member_id, client_id, state)
        for state, topics in by_state
        for topic in topics
        for partition in topic.partitions
    }


def _handed_over(
    group: ModernGroup, member_id: str, held: dict[TopicPartition, Owner]
) -> list[OwnershipChange]:
    changes = []
    known = group.held.pop(member_id, {})
    if held:
        group.held[member_id] = held
    for partition in dict.fromkeys((*known, *held)):
        before, after = group.owners.get(partition), held.get(partition)
        is_others = before is not None and before.member_id != member_id
        if before == after or (after is None and is_others):
            continue
        if after is None:
            group.owners.pop(partition, None)
        else:
            group.owners[partition] = after
        changes.append(OwnershipChange(*partition, before, after))
    return changes


_R = RecordType
_ROLES: Final = {
    _R.CONSUMER_GROUP_METADATA: _Role(GroupType.CONSUMER, _apply_epoch),
    _R.CONSUMER_GROUP_MEMBER_METADATA: _Role(GroupType.CONSUMER, _apply_member),
    _R.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Role(GroupType.CONSUMER, _apply_assignment),
    _R.SHARE_GROUP_METADATA: _Role(GroupType.SHARE, _apply_epoch),
    _R.SHARE_GROUP_MEMBER_METADATA: _Role(GroupType.SHARE, _apply_member),
    _R.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Role(GroupType.SHARE, _apply_progress),
    _R.STREAMS_GROUP_METADATA: _Role(GroupType.STREAMS, _apply_epoch),
    _R.STREAMS_GROUP_MEMBER_METADATA: _Role(GroupType.STREAMS, _apply_member),
    _R.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Role(GroupType.STREAMS, _apply_progress),
}
