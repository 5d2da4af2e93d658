"""DeleteGroups: groups without members are removed, and their offsets with them."""

from __future__ import annotations

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.draft import Draft
from drumbeat.core.events import EventField, GroupEvent, GroupEventType
from drumbeat.core.offsets.removal import forget_group, group_tombstones
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.record_codec import fits_in_batch
from drumbeat.core.session import View
from drumbeat.protocol.apis.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from drumbeat.protocol.errors import ErrorCode


def delete_groups(view: View, context: Context, request: DeleteGroupsRequest) -> Outcome:
    """A group named twice is answered once."""
    draft = Draft()
    results = tuple(
        DeletableGroupResult(group_id, _delete(draft, view, context, group_id))
        for group_id in dict.fromkeys(request.groups_names)
    )
    draft.reply(context.request_id, DeleteGroupsResponse(results=results))
    return draft.outcome()


def _delete(draft: Draft, view: View, context: Context, group_id: str) -> ErrorCode:
    error_code = _error(view, group_id)
    if error_code is not ErrorCode.NONE:
        return error_code
    tombstones = group_tombstones(view, group_id)
    batch_bytes_max = context.config.offsets_batch_bytes_max
    if not fits_in_batch((*draft.records, *tombstones), batch_bytes_max):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    draft.records.extend(tombstones)
    draft.effects.extend(forget_group(view, group_id))
    draft.events.append(_deleted(context, group_id, len(tombstones) - 1))
    return ErrorCode.NONE


def _error(view: View, group_id: str) -> ErrorCode:
    if group_id not in view.groups:
        return ErrorCode.GROUP_ID_NOT_FOUND
    group = view.live_groups.get(group_id)
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if group.state is GroupState.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NON_EMPTY_GROUP


def _deleted(context: Context, group_id: str, offsets: int) -> GroupEvent:
    fields: dict[str, EventField] = {
        "offsets": offsets,
        "client_id": context.client_id,
        "client_host": context.client_host,
    }
    return GroupEvent(GroupEventType.GROUP_DELETED, group_id, context.now_ms, fields)
