"""Events that tell who moved or removed a group's offsets from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drumbeat.core.events import EventField, GroupEvent, GroupEventType
from drumbeat.core.outcome import Context
from drumbeat.core.records import OffsetCommitRecord, OffsetCommitTombstone
from drumbeat.core.session import View


def reset_events(
    view: View, context: Context, group_id: str, records: Sequence[OffsetCommitRecord]
) -> tuple[GroupEvent, ...]:
    """For a commit that no member sent.

    In a group that has never had members that is daily business; in one that has had some, it is
    an administrator who resets offsets.
    """
    group = view.groups.get(group_id)
    if group is None or not group.protocol_type:
        return ()
    return tuple(
        _event(GroupEventType.OFFSETS_RESET, view, context, record, record.committed_offset)
        for record in records
    )


def deleted_events(
    view: View, context: Context, tombstones: Iterable[OffsetCommitTombstone]
) -> tuple[GroupEvent, ...]:
    return tuple(
        _event(GroupEventType.OFFSETS_DELETED, view, context, tombstone, None)
        for tombstone in tombstones
    )


def _event(
    event_type: GroupEventType,
    view: View,
    context: Context,
    record: OffsetCommitRecord | OffsetCommitTombstone,
    committed_offset: int | None,
) -> GroupEvent:
    group_id, topic, partition = record[:3]
    known = view.offsets.get(group_id, {}).get((topic, partition))
    fields: dict[str, EventField] = {
        "topic": topic,
        "partition": partition,
        "committed_offset": committed_offset,
        "previous_offset": None if known is None else known.committed_offset,
        "client_id": context.client_id,
        "client_host": context.client_host,
    }
    return GroupEvent(event_type, group_id, context.now_ms, fields)
