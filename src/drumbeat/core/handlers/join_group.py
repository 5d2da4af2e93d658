"""JoinGroup: a member asks to be in the next generation.

The order of the checks is Kafka's; every refusal but the first two comes after the group, if it
is a new one, has been written to the log.
"""

from __future__ import annotations

from drumbeat.core import effects
from drumbeat.core.classic.changes import opened
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_records import empty_group_record
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.join import add_member, hand_out_id, new_member_id, rejoin
from drumbeat.core.classic.removal import drop_pending_member, expire_members
from drumbeat.core.classic.replies import join_error
from drumbeat.core.classic.static_members import replace_static_member
from drumbeat.core.classic.subscription import topics_of_durable
from drumbeat.core.classic.validation import fencing_events, member_error
from drumbeat.core.draft import Draft
from drumbeat.core.events import Reason
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.record_codec import is_writable
from drumbeat.core.session import View
from drumbeat.core.state import Group
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.errors import ErrorCode

_MEMBER_ID_REQUIRED = 4  # from this version on a new dynamic member is first given its id


def join_group(view: View, context: Context, request: JoinGroupRequest) -> Outcome:
    error_code = _request_error(view, context, request)
    if error_code is not None:
        return _refuse(Draft(), context, request, error_code)
    draft = Draft()
    group = view.live_groups.get(request.group_id)
    if group is None:
        group = _open(draft, view, context, request.group_id)
    if not _has_room(context, group, request.member_id):
        return _turn_away(draft, context, group, request)
    error_code = _member_error(context, group, request)
    if error_code is not None:
        return _refuse(draft, context, request, error_code)
    return _join(draft, context, group, request)


def _request_error(view: View, context: Context, request: JoinGroupRequest) -> ErrorCode | None:
    """Refusals that leave no trace: not even a new group."""
    config = context.config
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    timeouts = (config.group_min_session_timeout_ms, config.group_max_session_timeout_ms)
    if not timeouts[0] <= request.session_timeout_ms <= timeouts[1]:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    is_new_group = request.group_id not in view.groups
    if is_new_group and request.member_id:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not _can_be_stored(context, request):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    is_full = is_new_group and len(view.groups) >= config.groups_max
    if is_full or view.counts.parked_count >= config.parked_requests_max:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return None


def _can_be_stored(context: Context, request: JoinGroupRequest) -> bool:
    """Kafka lets such a member in, and then fails to write its group over and over.

    An id that is made here begins with what the client calls itself, or its instance.
    """
    member_id = request.member_id or new_member_id(context, request)
    for text in (request.group_id, request.protocol_type, member_id):
        if not is_writable(text):
            return False
    bytes_max = context.config.offsets_batch_bytes_max
    for name, metadata in request.protocols:
        if not is_writable(name) or len(metadata) > bytes_max:
            return False
    return True


def _open(draft: Draft, view: View, context: Context, group_id: str) -> ClassicGroupView:
    """An Empty group as it will be in memory; one that does not exist yet is also written."""
    durable = view.groups.get(group_id)
    if durable is None:
        durable = Group(state_timestamp_ms=context.now_ms)
        draft.records.append(empty_group_record(group_id, "", 0, context.now_ms))
    opening = effects.GroupOpened(group_id, durable, topics_of_durable(durable))
    draft.effects.append(opening)
    return opened(opening)


def _has_room(context: Context, group: ClassicGroupView, member_id: str) -> bool:
    """`group.max.size`. Ids that were only handed out do not count."""
    size_max = context.config.group_max_size
    if group.state is GroupState.PREPARING_REBALANCE:
        # Counting who has joined, not who was a member, lets an oversized group shed its slowest.
        return member_id in group.joins or len(group.joins) < size_max
    if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return member_id in group.members or len(group.members) < size_max
    return True


def _turn_away(
    draft: Draft, context: Context, group: ClassicGroupView, request: JoinGroupRequest
) -> Outcome:
    """GROUP_MAX_SIZE_REACHED. An id that was known until now is not any more."""
    member = group.members.get(request.member_id)
    if member is not None:
        expire_members(draft, context, group, [member], Reason.GROUP_FULL)
    elif request.member_id in group.pending_members:
        drop_pending_member(draft, group, request.member_id)
    response = join_error(context.api_version, ErrorCode.GROUP_MAX_SIZE_REACHED)
    draft.reply(context.request_id, response)
    return draft.outcome()


def _member_error(
    context: Context, group: ClassicGroupView, request: JoinGroupRequest
) -> ErrorCode | None:
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if len(request.protocols) > context.config.member_protocols_max:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not _supports_protocols(group, request):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not request.member_id:
        is_full = len(group.pending_members) >= context.config.group_pending_members_max
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_full else None
    if request.member_id in group.pending_members:
        # Ids are only handed out to dynamic members. Kafka stumbles over this one.
        is_static = request.group_instance_id is not None
        return ErrorCode.UNKNOWN_SERVER_ERROR if is_static else None
    return member_error(group, request.member_id, request.group_instance_id)


def _supports_protocols(group: ClassicGroupView, request: JoinGroupRequest) -> bool:
    names = {protocol.name for protocol in request.protocols}
    if len(names) < len(request.protocols):
        return False  # a name listed twice: Kafka never answers this
    if group.state is GroupState.EMPTY:
        return bool(request.protocol_type and names)
    if request.protocol_type != group.protocol_type:
        return False
    support, everybody = group.protocol_support, len(group.members)
    return any(support.get(name, 0) == everybody for name in names)


def _join(
    draft: Draft, context: Context, group: ClassicGroupView, request: JoinGroupRequest
) -> Outcome:
    member_id = request.member_id
    if member_id in group.pending_members:
        return add_member(draft, context, group, request, member_id)
    if member_id:
        return rejoin(draft, context, group, request)
    if request.group_instance_id is not None:
        mapped = group.static_members.get(request.group_instance_id)
        if mapped is not None:
            return replace_static_member(draft, context, group, request, group.members[mapped])
    elif context.api_version >= _MEMBER_ID_REQUIRED:
        return hand_out_id(draft, context, group, request)
    return add_member(draft, context, group, request, new_member_id(context, request))


def _refuse(
    draft: Draft, context: Context, request: JoinGroupRequest, error_code: ErrorCode
) -> Outcome:
    """Records of the draft stand, effects do not: nothing has come to life."""
    is_server_error = error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    member_id = "" if is_server_error else request.member_id
    return Outcome(
        records=tuple(draft.records),
        replies=(
            Reply(context.request_id, join_error(context.api_version, error_code, member_id)),
        ),
        events=fencing_events(
            context, error_code, request.group_id, request.member_id, request.group_instance_id
        ),
    )
