"""A static member that comes back without its member id takes over from its old self (KIP-345).

In a Stable group that goes without a rebalance as long as the chosen protocol stays the same: the
member gets a new id, keeps its assignment, and the group's record is written again.
"""

from __future__ import annotations

from drumbeat.core import effects
from drumbeat.core.classic.election import in_map_order, select_protocol
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_records import generation_record
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.join import joined_member, new_member_id, park_join
from drumbeat.core.classic.members import JoinedMember
from drumbeat.core.classic.replies import (
    current_generation,
    join_error,
    member_list,
    sync_error,
)
from drumbeat.core.draft import Draft
from drumbeat.core.events import Cause, GroupEventType, Reason, member_event
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.record_codec import fits_in_batch
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.errors import ErrorCode

_SKIP_ASSIGNMENT = 9  # JoinGroup version (KIP-814)


def replace_static_member(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    request: JoinGroupRequest,
    old: JoinedMember,
) -> Outcome:
    new = joined_member(
        context, request, new_member_id(context, request), old.group_instance_id
    )._replace(client_id=old.client_id, client_host=old.client_host)
    members = in_map_order(group, [*(m for m in group.members.values() if m is not old), new])
    if group.state is GroupState.STABLE and select_protocol(members) == group.protocol_name:
        return _replace_in_place(draft, context, group, old, new, members)
    _replace(draft, context, group, old, new)
    # Even if the protocol stays: in CompletingRebalance the leader may be planning for the old id.
    cause = Cause(Reason.STATIC_REPLACED, new, request.reason)
    return park_join(draft, context, group, new.member_id, cause, frozenset({old.member_id}))


def _replace_in_place(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    old: JoinedMember,
    new: JoinedMember,
    members: list[JoinedMember],
) -> Outcome:
    is_leader = group.leader == old.member_id
    leader = new.member_id if is_leader else group.leader
    assignments = {**group.assignments, new.member_id: group.assignments.get(old.member_id, b"")}
    record = generation_record(group, leader, members, assignments)
    if not fits_in_batch((record,), context.config.offsets_batch_bytes_max):
        response = current_generation(group, "", group.leader)
        draft.reply(
            context.request_id, response._replace(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        )
        return draft.outcome()
    draft.records.append(record)
    _replace(draft, context, group, old, new)
    if context.api_version >= _SKIP_ASSIGNMENT:
        everybody = member_list(members, group.protocol_name) if is_leader else ()
        response = current_generation(group, new.member_id, leader, everybody, is_leader)
    else:
        # A client that cannot be told to skip the assignment must not take itself for the leader,
        # or it would hand in a plan that nobody waits for: it is shown the old leader's id.
        response = current_generation(group, new.member_id, group.leader)
    draft.reply(context.request_id, response)
    return draft.outcome()


def _replace(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    old: JoinedMember,
    new: JoinedMember,
) -> None:
    """The old id is fenced off at once; the new one starts with the session timeout it had."""
    join = group.joins.get(old.member_id)
    if join is not None:
        draft.reply(
            join.request_id,
            join_error(join.api_version, ErrorCode.FENCED_INSTANCE_ID, old.member_id),
        )
    sync = group.syncs.get(old.member_id)
    if sync is not None:
        draft.reply(sync.request_id, sync_error(ErrorCode.FENCED_INSTANCE_ID))
    draft.effects += (
        effects.MemberReplaced(group.group_id, old.member_id, new),
        effects.ClearDeadline(old.session_key),
        effects.SetDeadline(new.session_key, context.now_ms + old.session_timeout_ms),
    )
    draft.events.append(
        member_event(
            GroupEventType.MEMBER_REPLACED,
            group,
            context.now_ms,
            new,
            replaced_member_id=old.member_id,
        )
    )
