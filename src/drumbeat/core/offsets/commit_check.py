"""May this request commit offsets to this group? The rules of OffsetCommit for classic groups."""

from __future__ import annotations

from typing import Final

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.validation import member_error
from drumbeat.core.outcome import Context
from drumbeat.core.session import View
from drumbeat.protocol.apis.offset_commit import OffsetCommitRequest
from drumbeat.protocol.errors import ErrorCode

_GROUP_ID_NOT_FOUND_SINCE: Final = 9
# Every commit asks, and an enum's member takes longer to find than to compare.
_EMPTY: Final = GroupState.EMPTY
_DEAD: Final = GroupState.DEAD
_COMPLETING_REBALANCE: Final = GroupState.COMPLETING_REBALANCE


def commit_refusal(
    view: View, context: Context, group: ClassicGroupView | None, request: OffsetCommitRequest
) -> ErrorCode | None:
    """The error for the whole request, or None if it may commit. `group` may be in motion."""
    group_id, generation_id, member_id, group_instance_id, _, _ = request
    if group_id not in view.groups:
        return _unknown_group_refusal(view, context, request)
    state = _EMPTY if group is None else group.state
    if group is None or state is _EMPTY:
        # Without a generation it comes from outside: an administrator, or a consumer that
        # assigns its partitions itself. Whatever member it names is not looked at.
        is_from_outside = generation_id < 0
        return None if is_from_outside else ErrorCode.UNKNOWN_MEMBER_ID
    if state is _DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = member_error(group, member_id, group_instance_id)
    if error is not None:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    # A member of the new generation that has no assignment yet has nothing to commit.
    is_assigning = state is _COMPLETING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_assigning else None


def _unknown_group_refusal(
    view: View, context: Context, request: OffsetCommitRequest
) -> ErrorCode | None:
    if request.generation_id_or_member_epoch < 0:
        # The record itself will create a simple group.
        is_full = len(view.groups) >= context.config.groups_max
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_full else None
    # Older clients do not know the honest answer; the other one makes them join again.
    if context.api_version >= _GROUP_ID_NOT_FOUND_SINCE:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.ILLEGAL_GENERATION
