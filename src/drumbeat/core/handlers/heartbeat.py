"""Heartbeat: the member's session goes on, and it learns whether to join again.

By far the most frequent request, so the way of a valid one is short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.validation import fencing_events, member_error
from drumbeat.core.effects import SetDeadline
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.session import View
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from drumbeat.protocol.errors import ErrorCode

_new: Final = tuple.__new__  # nothing is asked more often

# CompletingRebalance answers NONE, although the comments in Kafka's ClassicGroupState say
# otherwise: members heartbeat between JoinGroup and SyncGroup.
_ANSWERS: Final[Mapping[GroupState, HeartbeatResponse]] = {
    GroupState.PREPARING_REBALANCE: HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS),
    GroupState.COMPLETING_REBALANCE: HeartbeatResponse(),
    GroupState.STABLE: HeartbeatResponse(),
}


def heartbeat(view: View, context: Context, request: HeartbeatRequest) -> Outcome:
    group_id, generation_id, member_id, group_instance_id = request
    group = view.live_groups.get(group_id)
    if group is not None:
        member = group.members.get(member_id)
        if (
            member is not None
            and generation_id == group.generation_id
            and (
                group_instance_id is None
                or group.static_members.get(group_instance_id) == member_id
            )
        ):
            reply = Reply(context.request_id, _ANSWERS[group.state])
            at_ms = context.now_ms + member.session_timeout_ms
            alive = _new(SetDeadline, (member.session_key, at_ms))
            return Outcome(replies=(reply,), effects=(alive,))
    return _refuse(view, context, request)


def _refuse(view: View, context: Context, request: HeartbeatRequest) -> Outcome:
    error_code = _error(view, request)
    return Outcome(
        replies=(Reply(context.request_id, HeartbeatResponse(error_code=error_code)),),
        events=fencing_events(
            context, error_code, request.group_id, request.member_id, request.group_instance_id
        ),
    )


def _error(view: View, request: HeartbeatRequest) -> ErrorCode:
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    group = view.live_groups.get(request.group_id)
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error_code = member_error(group, request.member_id, request.group_instance_id)
    return ErrorCode.ILLEGAL_GENERATION if error_code is None else error_code
