"""Members that go, whether they leave or expire: what becomes of their requests and timers."""

from __future__ import annotations

from collections.abc import Collection

from drumbeat.core import effects
from drumbeat.core.classic.election import leader_without
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.members import JoinedMember, session_key
from drumbeat.core.classic.replies import join_error, sync_error
from drumbeat.core.draft import Draft
from drumbeat.core.events import GroupEventType, Reason, member_event
from drumbeat.core.outcome import Context
from drumbeat.protocol.errors import ErrorCode


def remove_members(
    draft: Draft, group: ClassicGroupView, members: Collection[JoinedMember]
) -> str | None:
    """Remove them all at once, and return who leads the group then."""
    removed = tuple(member.member_id for member in members)
    leader = leader_without(group, frozenset(removed))
    for member in members:
        _send_away(draft, group, member)
        draft.effects.append(effects.ClearDeadline(member.session_key))
    if removed:
        draft.effects.append(effects.MembersRemoved(group.group_id, removed, leader))
    return leader


def expire_members(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    members: Collection[JoinedMember],
    reason: Reason,
) -> str | None:
    """Remove members that have not done in time what they had to."""
    draft.events.extend(
        member_event(
            GroupEventType.MEMBER_EXPIRED, group, context.now_ms, member, reason=reason.value
        )
        for member in members
    )
    return remove_members(draft, group, members)


def drop_pending_member(draft: Draft, group: ClassicGroupView, member_id: str) -> None:
    draft.effects.append(effects.PendingMemberRemoved(group.group_id, member_id))
    draft.effects.append(effects.ClearDeadline(session_key(group.group_id, member_id)))


def _send_away(draft: Draft, group: ClassicGroupView, member: JoinedMember) -> None:
    """Answer what a member that is no longer one has parked.

    Kafka forgets the SyncGroup of a member that leaves during CompletingRebalance and never
    answers it; here it hears the same as a JoinGroup does.
    """
    join = group.joins.get(member.member_id)
    if join is not None:
        draft.reply(join.request_id, join_error(join.api_version, ErrorCode.UNKNOWN_MEMBER_ID))
    sync = group.syncs.get(member.member_id)
    if sync is not None:
        draft.reply(sync.request_id, sync_error(ErrorCode.UNKNOWN_MEMBER_ID))
