"""LeaveGroup: members go at once instead of being timed out, one or (from v3) several."""

from __future__ import annotations

from collections.abc import Set

from drumbeat.core.classic import rebalance
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.members import JoinedMember
from drumbeat.core.classic.removal import drop_pending_member, remove_members
from drumbeat.core.classic.validation import member_error
from drumbeat.core.draft import Draft
from drumbeat.core.events import (
    Cause,
    GroupEvent,
    GroupEventType,
    Reason,
    client_reason,
    member_event,
)
from drumbeat.core.outcome import Context, Outcome, Reply, Settle
from drumbeat.core.session import View
from drumbeat.protocol.apis.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from drumbeat.protocol.errors import ErrorCode

_SEVERAL_MEMBERS = 3  # first version that names more than one


def leave_group(view: View, context: Context, request: LeaveGroupRequest) -> Outcome:
    if not request.group_id:
        return _answer(context, ErrorCode.INVALID_GROUP_ID)
    identities = _identities(context, request)
    group = view.live_groups.get(request.group_id)
    if group is None:
        return _answer_members(
            context, [(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in identities]
        )
    if group.state is GroupState.DEAD:
        return _answer(context, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return _leave(context, group, identities)


def _identities(context: Context, request: LeaveGroupRequest) -> tuple[MemberIdentity, ...]:
    if context.api_version >= _SEVERAL_MEMBERS:
        return request.members
    return (MemberIdentity(request.member_id),)


def _leave(
    context: Context, group: ClassicGroupView, identities: tuple[MemberIdentity, ...]
) -> Outcome:
    results: list[tuple[MemberIdentity, ErrorCode]] = []
    leaving: dict[str, MemberIdentity] = {}  # by member id, as named for the first time
    for identity in identities:
        member_id = _resolve(group, identity)
        error_code = _error(group, identity, member_id, leaving.keys())
        if error_code is None:
            leaving[member_id] = identity
        results.append((identity, error_code or ErrorCode.NONE))
    return _remove(context, group, leaving, _answer_members(context, results).replies)


def _resolve(group: ClassicGroupView, identity: MemberIdentity) -> str:
    """An administrator removes a static member by its instance id alone."""
    if identity.member_id or identity.group_instance_id is None:
        return identity.member_id
    return group.static_members.get(identity.group_instance_id, "")


def _error(
    group: ClassicGroupView, identity: MemberIdentity, member_id: str, leaving: Set[str]
) -> ErrorCode | None:
    """Members leave one after the other: who is named twice is gone, and so is its instance."""
    if identity.member_id in group.pending_members and identity.member_id not in leaving:
        return None
    instance_id = identity.group_instance_id
    if instance_id is not None and group.static_members.get(instance_id) in leaving:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error_code = member_error(group, member_id, instance_id)
    if error_code is None and member_id in leaving:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return error_code


def _remove(
    context: Context,
    group: ClassicGroupView,
    leaving: dict[str, MemberIdentity],
    replies: tuple[Reply, ...],
) -> Outcome:
    if not leaving:
        return Outcome(replies=replies)
    draft = Draft()
    draft.replies.extend(replies)
    for member_id in leaving.keys() & group.pending_members:
        drop_pending_member(draft, group, member_id)
    members = [group.members[member_id] for member_id in leaving if member_id in group.members]
    remove_members(draft, group, members)
    draft.events.extend(
        _left(context, group, member, leaving[member.member_id]) for member in members
    )
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        # Even if only an id that never joined has left: Kafka rebalances then too.
        first = next(iter(leaving))
        cause = Cause(Reason.MEMBER_LEFT, group.members.get(first), leaving[first].reason)
        rebalance.begin(draft, context, group, cause, leaving.keys())
    return draft.outcome(Settle(group.group_id))


def _left(
    context: Context, group: ClassicGroupView, member: JoinedMember, identity: MemberIdentity
) -> GroupEvent:
    """Who asked is told apart from who left: an administrator may remove somebody else."""
    return member_event(
        GroupEventType.MEMBER_LEFT,
        group,
        context.now_ms,
        member,
        client_reason=client_reason(identity.reason),
        requested_by_client_id=context.client_id,
        requested_by_client_host=context.client_host,
    )


def _answer(context: Context, error_code: ErrorCode) -> Outcome:
    return Outcome(replies=(Reply(context.request_id, LeaveGroupResponse(error_code=error_code)),))


def _answer_members(context: Context, results: list[tuple[MemberIdentity, ErrorCode]]) -> Outcome:
    """Before v3 the one member's error is the answer's."""
    if context.api_version < _SEVERAL_MEMBERS:
        return _answer(context, results[0][1])
    members = tuple(
        MemberResponse(identity.member_id, identity.group_instance_id, error_code)
        for identity, error_code in results
    )
    return Outcome(replies=(Reply(context.request_id, LeaveGroupResponse(members=members)),))
