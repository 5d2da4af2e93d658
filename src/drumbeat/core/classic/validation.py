"""Whether the sender of a request is who it says: the checks that most group APIs share."""

from __future__ import annotations

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.events import GroupEvent, GroupEventType
from drumbeat.core.outcome import Context
from drumbeat.protocol.errors import ErrorCode


def member_error(
    group: ClassicGroupView, member_id: str, group_instance_id: str | None
) -> ErrorCode | None:
    """None if this is a member, and the one its instance id stands for if it names one."""
    if group_instance_id is not None:
        mapped = group.static_members.get(group_instance_id)
        if mapped is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if mapped != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return None if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def fencing_events(
    context: Context,
    error_code: ErrorCode,
    group_id: str,
    member_id: str,
    group_instance_id: str | None,
) -> tuple[GroupEvent, ...]:
    """The event of a refusal, if it is one that tells a replaced static member to stop."""
    if error_code is not ErrorCode.FENCED_INSTANCE_ID:
        return ()
    fields = {
        "member_id": member_id,
        "group_instance_id": group_instance_id,
        "client_id": context.client_id,
        "client_host": context.client_host,
    }
    return (GroupEvent(GroupEventType.MEMBER_FENCED, group_id, context.now_ms, fields),)
