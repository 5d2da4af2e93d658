"""Tombstones for all that a group has in the log: when it is deleted, or has expired."""

from __future__ import annotations

from drumbeat.core.classic.members import session_key
from drumbeat.core.effects import ClearDeadline, Effect, GroupForgotten
from drumbeat.core.offsets.pending import pending_partitions
from drumbeat.core.records import GroupMetadataTombstone, OffsetCommitTombstone, Record
from drumbeat.core.session import View


def group_tombstones(view: View, group_id: str) -> list[Record]:
    """Every offset, committed or pending, and then the group.

    A simple group gets its group tombstone too, though it never had a record to bury.
    """
    committed = view.offsets.get(group_id, {})
    pending = pending_partitions(view, group_id)
    partitions = [*committed, *sorted(pending - committed.keys())]
    return [
        *(OffsetCommitTombstone(group_id, topic, partition) for topic, partition in partitions),
        GroupMetadataTombstone(group_id),
    ]


def forget_group(view: View, group_id: str) -> list[Effect]:
    """What a group that is gone leaves in the session: ids that were handed out for it."""
    group = view.live_groups.get(group_id)
    if group is None:
        return []
    pending = sorted(group.pending_members)
    return [
        *(ClearDeadline(session_key(group_id, member_id)) for member_id in pending),
        GroupForgotten(group_id),
    ]
