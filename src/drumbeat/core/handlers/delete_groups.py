"""DeleteGroups: groups without members are removed, and their offsets with them."""

from __future__ import annotations

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.draft import Draft
from drumbeat.core.events import EventField, GroupEvent, GroupEventType
from drumbeat.core.offsets.removal import forget_group, group_tombstones
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.record_codec import BATCH_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES, encode
from drumbeat.core.records import Record
from drumbeat.core.session import View
from drumbeat.protocol.apis.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from drumbeat.protocol.errors import ErrorCode


def delete_groups(view: View, context: Context, request: DeleteGroupsRequest) -> Outcome:
    """A group named twice is answered once. What does not fit the batch any more stays."""
    draft = Draft()
    room = context.config.offsets_batch_bytes_max - BATCH_OVERHEAD_BYTES
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        error_code = _error(view, group_id)
        tombstones = [] if error_code else group_tombstones(view, group_id)
        room_left = _room_left(room, tombstones)
        if room_left is None:
            error_code = ErrorCode.UNKNOWN_SERVER_ERROR
        elif tombstones:
            room = room_left
            draft.records.extend(tombstones)
            draft.effects.extend(forget_group(view, group_id))
            draft.events.append(_deleted(context, group_id, len(tombstones) - 1))
        results.append(DeletableGroupResult(group_id, error_code))
    draft.reply(context.request_id, DeleteGroupsResponse(results=tuple(results)))
    return draft.outcome()


def _room_left(room: int, tombstones: list[Record]) -> int | None:
    """What the batch can still take after these; None as soon as they turn out not to fit."""
    for tombstone in tombstones:
        key, _ = encode(tombstone)
        room -= RECORD_OVERHEAD_BYTES + len(key)
        if room < 0:
            return None
    return room


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
