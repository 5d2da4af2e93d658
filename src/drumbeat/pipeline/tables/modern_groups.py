"""Changes of consumer, share and streams groups, whose facts are spread over many records.

An epoch record says that something changed; member records say who is there; a target assignment
says what the epoch leads to; current assignment records say how far each member has come, and what
it has.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from drumbeat.core.modern_codec import read_modern_key, read_modern_value
from drumbeat.core.records import ModernGroupRecord, RecordType
from drumbeat.pipeline.tables.builder import NONE
from drumbeat.pipeline.tables.group_changes import (
    Generation,
    GroupChange,
    GroupType,
    Member,
    Owner,
    OwnershipChange,
)
from drumbeat.pipeline.tables.modern_owners import (
    Held,
    handed_over,
    held_in_consumer_group,
    held_in_share_group,
    held_in_streams_group,
    shared_anew,
)


@dataclass(slots=True)
class ModernGroup:
    group_type: GroupType
    log_offset: int = NONE  # of the newest record that changed it
    generation: Generation | None = None
    members: dict[str, Member] = field(default_factory=dict)
    behind: set[str] = field(default_factory=set)  # members that have not reached the epoch
    held: dict[str, Held] = field(default_factory=dict)  # by member id
    owners: Held = field(default_factory=dict)  # not of share groups
    readable: int = 0  # a hash of the partitions that a share group may read by now
    subtopologies: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of streams groups

    @property
    def is_gone(self) -> bool:
        return self.generation is None and not (self.members or self.readable or self.subtopologies)


class _Change(NamedTuple):
    """The part of a GroupChange that depends on the record."""

    joined: tuple[Member, ...] = ()
    left: tuple[Member, ...] = ()
    updated: tuple[Member, ...] = ()
    ownership: tuple[OwnershipChange, ...] = ()
    is_assigned: bool = False
    is_reconciled: bool = False


class _Role(NamedTuple):
    group_type: GroupType
    apply: Callable[[ModernGroup, str, Any], _Change]  # group, member id, value


def change_of(
    groups: dict[str, ModernGroup], record: ModernGroupRecord, log_offset: int, append_ts: int
) -> GroupChange | None:
    """Apply the record; None if that changes nothing that a table shows."""
    role = _ROLES.get(record.record_type)
    if role is None:
        return None
    group = groups.setdefault(record.group_id, ModernGroup(role.group_type))
    key = read_modern_key(record.record_type, record.key)
    value = None if record.value is None else read_modern_value(record.record_type, record.value)
    before, prev_log_offset = group.generation, group.log_offset
    change = role.apply(group, str(key[-1]), value)
    group.log_offset = log_offset
    if group.is_gone:
        del groups[record.group_id]
    if before is None and group.generation is None and change == _Change():
        return None
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
        metadata_hash=value.metadata_hash ^ group.readable,
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


def _apply_target(group: ModernGroup, _: str, value: Any) -> _Change:
    generation = group.generation
    is_assigned = (
        value is not None
        and generation is not None
        and value.assignment_epoch >= generation.generation_id
    )
    return _Change(is_assigned=is_assigned)


def _apply_assignment(group: ModernGroup, member_id: str, value: Any) -> _Change:
    known, held = _exchanged(group, member_id, value)
    is_shared = group.group_type is GroupType.SHARE
    changes = (
        shared_anew(known, held) if is_shared else handed_over(group.owners, member_id, known, held)
    )
    ownership = tuple(changes)
    is_reconciled = value is not None and _reached(group, member_id, value)
    return _Change(ownership=ownership, is_reconciled=is_reconciled)


def _exchanged(group: ModernGroup, member_id: str, value: Any) -> tuple[Held, Held]:
    """What the member had, and what it has now."""
    known = group.held.pop(member_id, {})
    if value is None:
        return known, {}
    member = group.members.get(member_id)
    owner = Owner(member_id, "" if member is None else member.client_id)
    held = _HOLDINGS[group.group_type](group, owner, value)
    if held:
        group.held[member_id] = held
    return known, held


def _reached(group: ModernGroup, member_id: str, value: Any) -> bool:
    generation = group.generation
    if generation is None or member_id not in group.behind:
        return False
    if value.member_epoch >= generation.generation_id:
        group.behind.discard(member_id)
    return not group.behind


def _apply_readable(group: ModernGroup, _: str, value: Any) -> _Change:
    """A share group reads a partition once its state is initialized, under the same metadata."""
    group.readable = 0 if value is None else zlib.crc32(repr(value.initialized_topics).encode())
    return _Change()


def _apply_topology(group: ModernGroup, _: str, value: Any) -> _Change:
    group.subtopologies = {
        part.subtopology_id: (
            *part.source_topics,
            *(topic.name for topic in part.repartition_source_topics),
        )
        for part in (() if value is None else value.subtopologies or ())
    }
    return _Change()


_HOLDINGS: Final[dict[GroupType, Callable[[ModernGroup, Owner, Any], Held]]] = {
    GroupType.CONSUMER: lambda _, owner, value: held_in_consumer_group(owner, value),
    GroupType.SHARE: lambda _, owner, value: held_in_share_group(owner, value),
    GroupType.STREAMS: lambda group, owner, value: held_in_streams_group(
        owner, value, group.subtopologies
    ),
}

_R = RecordType
_ROLES: Final = {
    _R.CONSUMER_GROUP_METADATA: _Role(GroupType.CONSUMER, _apply_epoch),
    _R.CONSUMER_GROUP_MEMBER_METADATA: _Role(GroupType.CONSUMER, _apply_member),
    _R.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: _Role(GroupType.CONSUMER, _apply_target),
    _R.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Role(GroupType.CONSUMER, _apply_assignment),
    _R.SHARE_GROUP_METADATA: _Role(GroupType.SHARE, _apply_epoch),
    _R.SHARE_GROUP_MEMBER_METADATA: _Role(GroupType.SHARE, _apply_member),
    _R.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: _Role(GroupType.SHARE, _apply_target),
    _R.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Role(GroupType.SHARE, _apply_assignment),
    _R.SHARE_GROUP_STATE_PARTITION_METADATA: _Role(GroupType.SHARE, _apply_readable),
    _R.STREAMS_GROUP_METADATA: _Role(GroupType.STREAMS, _apply_epoch),
    _R.STREAMS_GROUP_MEMBER_METADATA: _Role(GroupType.STREAMS, _apply_member),
    _R.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: _Role(GroupType.STREAMS, _apply_target),
    _R.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Role(GroupType.STREAMS, _apply_assignment),
    _R.STREAMS_GROUP_TOPOLOGY: _Role(GroupType.STREAMS, _apply_topology),
}
