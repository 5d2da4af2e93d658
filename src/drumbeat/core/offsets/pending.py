"""Offsets of open transactions: not committed yet, but in the way of others."""

from __future__ import annotations

from collections.abc import Set

from drumbeat.core.session import View
from drumbeat.core.state import TopicPartition

_NONE: Set[TopicPartition] = frozenset()


def pending_partitions(view: View, group_id: str) -> Set[TopicPartition]:
    """Partitions in which a transaction that is still open has an offset of this group."""
    if not view.pending_offsets:
        return _NONE
    return {
        topic_partition
        for by_group in view.pending_offsets.values()
        for topic_partition in by_group.get(group_id, ())
    }
