"""How each effect changes a classic group. Nothing is decided here and nothing is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drumbeat.core import effects
from drumbeat.core.classic.group import NOBODY, ClassicGroup, with_member, without_member
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.members import JoinedMember, restored_member
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE


def opened(effect: effects.GroupOpened) -> ClassicGroup:
    """The log may be another writer's: protocol and leader can be missing even with members."""
    durable = effect.group
    group = ClassicGroup(effect.group_id)
    group.generation_id = durable.generation_id
    group.protocol_type = durable.protocol_type
    group.protocol_name = (durable.protocol_name or "") if durable.members else None
    group.leader = durable.leader or next(iter(durable.members), None)
    group.subscribed_topics = effect.subscribed_topics
    group.state = GroupState.STABLE if durable.members else GroupState.EMPTY
    group.state_timestamp_ms = durable.state_timestamp_ms
    for metadata in durable.members.values():
        # Only the chosen protocol was written, so it is the only one known until the member joins.
        _add(group, restored_member(effect.group_id, metadata, durable.protocol_name or ""))
        group.assignments[metadata.member_id] = metadata.assignment
    return group


def _add(group: ClassicGroup, member: JoinedMember) -> None:
    group.members[member.member_id] = member
    group.members_peak = max(group.members_peak, len(group.members))
    if member.group_instance_id is not None:
        group.static_members[member.group_instance_id] = member.member_id
    _count_protocols(group, member, 1)


def _count_protocols(group: ClassicGroup, member: JoinedMember, step: int) -> None:
    support = group.protocol_support
    for protocol in member.protocols:
        count = support.get(protocol.name, 0) + step
        if count:
            support[protocol.name] = count
        else:
            del support[protocol.name]


def _pending_member_added(group: ClassicGroup, effect: effects.PendingMemberAdded) -> None:
    group.pending_members = with_member(group.pending_members, effect.member_id)


def _pending_member_removed(group: ClassicGroup, effect: effects.PendingMemberRemoved) -> None:
    group.pending_members = without_member(group.pending_members, effect.member_id)


def _member_joined(group: ClassicGroup, effect: effects.MemberJoined) -> None:
    member_id = effect.member.member_id
    if not group.members:
        group.protocol_type = effect.protocol_type
    if group.leader is None:
        group.leader = member_id
    if group.is_initial:
        group.new_member_added = True
    _add(group, effect.member)
    group.new_members = with_member(group.new_members, member_id)
    group.pending_members = without_member(group.pending_members, member_id)


def _member_updated(group: ClassicGroup, effect: effects.MemberUpdated) -> None:
    _count_protocols(group, group.members[effect.member.member_id], -1)
    _count_protocols(group, effect.member, 1)
    group.members[effect.member.member_id] = effect.member


def _member_replaced(group: ClassicGroup, effect: effects.MemberReplaced) -> None:
    old_id, new_id = effect.replaced_member_id, effect.member.member_id
    _count_protocols(group, group.members.pop(old_id), -1)
    _add(group, effect.member)
    if old_id in group.assignments:
        group.assignments[new_id] = group.assignments.pop(old_id)
    if old_id in group.pending_sync:
        group.pending_sync = with_member(without_member(group.pending_sync, old_id), new_id)
    if group.leader == old_id:
        group.leader = new_id
    group.new_members = without_member(group.new_members, old_id)
    group.joins.pop(old_id, None)
    group.syncs.pop(old_id, None)


def _members_removed(group: ClassicGroup, effect: effects.MembersRemoved) -> None:
    for member_id in effect.member_ids:
        member = group.members.pop(member_id)
        _count_protocols(group, member, -1)
        instance_id = member.group_instance_id
        if instance_id is not None and group.static_members.get(instance_id) == member_id:
            del group.static_members[instance_id]
        group.assignments.pop(member_id, None)
        group.new_members = without_member(group.new_members, member_id)
        group.pending_sync = without_member(group.pending_sync, member_id)
        group.joins.pop(member_id, None)
        group.syncs.pop(member_id, None)
    group.leader = effect.leader


def _join_parked(group: ClassicGroup, effect: effects.JoinParked) -> None:
    group.joins[effect.member_id] = effect.request


def _sync_parked(group: ClassicGroup, effect: effects.SyncParked) -> None:
    group.syncs[effect.member_id] = effect.request
    group.pending_sync = without_member(group.pending_sync, effect.member_id)


def _sync_received(group: ClassicGroup, effect: effects.SyncReceived) -> None:
    group.pending_sync = without_member(group.pending_sync, effect.member_id)


def _rebalance_begun(group: ClassicGroup, effect: effects.RebalanceBegun) -> None:
    group.is_initial = group.state is GroupState.EMPTY
    if group.state is GroupState.COMPLETING_REBALANCE:
        group.assignments.clear()
    group.syncs.clear()
    group.pending_sync = NOBODY
    group.new_member_added = False
    group.is_join_armed = False
    group.rebalance_began_ms = effect.at_ms
    group.transition_to(GroupState.PREPARING_REBALANCE, effect.at_ms)


def _join_phase_armed(group: ClassicGroup, effect: effects.JoinPhaseArmed) -> None:
    group.is_join_armed = True
    group.new_member_added = False
    group.delay_ms = effect.delay_ms
    group.remaining_ms = effect.remaining_ms


def _join_phase_completed(group: ClassicGroup, effect: effects.JoinPhaseCompleted) -> None:
    group.generation_id = effect.generation_id
    group.protocol_name = effect.protocol_name
    group.leader = effect.leader
    group.subscribed_topics = effect.subscribed_topics
    group.joins.clear()
    group.new_members = NOBODY
    group.pending_sync = set(group.members)
    _end_join_phase(group)
    group.transition_to(GroupState.COMPLETING_REBALANCE, effect.at_ms)


def _group_emptied(group: ClassicGroup, effect: effects.GroupEmptied) -> None:
    group.generation_id = effect.generation_id
    group.protocol_name = None
    group.leader = None
    is_consumer = group.protocol_type == PROTOCOL_TYPE
    group.subscribed_topics = frozenset() if is_consumer else None
    _end_join_phase(group)
    group.transition_to(GroupState.EMPTY, effect.at_ms)


def _end_join_phase(group: ClassicGroup) -> None:
    group.is_initial = False
    group.is_join_armed = False


def _sync_phase_completed(group: ClassicGroup, effect: effects.SyncPhaseCompleted) -> None:
    group.assignments = dict(effect.assignments)
    group.syncs.clear()
    group.transition_to(GroupState.STABLE, effect.at_ms)


def _group_died(group: ClassicGroup, effect: effects.GroupDied) -> None:
    group.members.clear()
    group.joins.clear()
    group.syncs.clear()
    group.transition_to(GroupState.DEAD, effect.at_ms)


CHANGES: Mapping[type, Callable[[ClassicGroup, Any], None]] = {
    effects.PendingMemberAdded: _pending_member_added,
    effects.PendingMemberRemoved: _pending_member_removed,
    effects.MemberJoined: _member_joined,
    effects.MemberUpdated: _member_updated,
    effects.MemberReplaced: _member_replaced,
    effects.MembersRemoved: _members_removed,
    effects.JoinParked: _join_parked,
    effects.SyncParked: _sync_parked,
    effects.SyncReceived: _sync_received,
    effects.RebalanceBegun: _rebalance_begun,
    effects.JoinPhaseArmed: _join_phase_armed,
    effects.JoinPhaseCompleted: _join_phase_completed,
    effects.SyncPhaseCompleted: _sync_phase_completed,
    effects.GroupEmptied: _group_emptied,
    effects.GroupDied: _group_died,
}
