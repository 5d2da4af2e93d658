"""Offsets that nobody needs any more: the retention job, and topics that were deleted.

Both walk over all groups, so they are generators. Each Outcome is made from the state of its own
moment and is small, or empty: a pause. Before the next one the shell carries it out, and may
serve others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.subscription import is_subscribed
from drumbeat.core.draft import Draft
from drumbeat.core.events import EventField, GroupEvent, GroupEventType
from drumbeat.core.offsets.pending import pending_partitions
from drumbeat.core.offsets.removal import forget_group
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    NO_STATE_TIMESTAMP,
    GroupMetadataTombstone,
    OffsetCommitTombstone,
)
from drumbeat.core.session import View
from drumbeat.core.state import CommittedOffset, Group, TopicPartition
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE
from drumbeat.protocol.schema import NULL_UUID

# A step of a walk ends with this many tombstones, which keeps it far below one batch, or after
# looking at this many groups and offsets, which keeps others waiting for milliseconds at most.
TOMBSTONES_MAX = 1_000
LOOKS_MAX = 10_000

_BaseTimestamp: TypeAlias = Callable[[CommittedOffset], int]


class _Found(NamedTuple):
    """What one look at a group has turned up."""

    partitions: list[TopicPartition]  # their offsets can go
    is_group_removed: bool
    looks: int


_Find: TypeAlias = Callable[[str], _Found]


def sweep(view: View, context: Context) -> Iterator[Outcome]:
    """Remove every offset past its retention, and every Empty group that has no offset left."""
    return _walk(view, context, tuple(view.groups), lambda group: _expired(view, context, group))


def on_topics_deleted(
    view: View, context: Context, topics: Mapping[str, bytes]
) -> Iterator[Outcome]:
    """Remove all offsets of topics, given by name and id, that are no more.

    An offset that was committed to another topic of that name stays. One without a topic id is
    old and may belong to either: it goes.
    """
    pending = (group_id for by_group in view.pending_offsets.values() for group_id in by_group)
    group_ids = tuple(dict.fromkeys((*view.offsets, *pending)))
    return _walk(view, context, group_ids, lambda group: _of_topics(view, group, topics))


def _walk(
    view: View, context: Context, group_ids: tuple[str, ...], find: _Find
) -> Iterator[Outcome]:
    draft, looks = Draft(), 0
    for group_id in group_ids:
        is_done = False
        while not is_done:
            found = find(group_id)
            looks += found.looks
            room = TOMBSTONES_MAX - len(draft.records)
            for topic, partition in found.partitions[:room]:
                draft.records.append(OffsetCommitTombstone(group_id, topic, partition))
            is_done = len(found.partitions) <= room
            if is_done and found.is_group_removed:
                _remove_group(view, context, group_id, draft, len(found.partitions))
            if len(draft.records) >= TOMBSTONES_MAX or looks >= LOOKS_MAX:
                yield draft.outcome()
                draft, looks = Draft(), 0
    if draft.records:
        yield draft.outcome()


def _remove_group(view: View, context: Context, group_id: str, draft: Draft, offsets: int) -> None:
    draft.records.append(GroupMetadataTombstone(group_id))
    draft.effects.extend(forget_group(view, group_id))
    # Nobody asked for it: that is how this event differs from an administrator's deletion.
    fields: dict[str, EventField] = {"offsets": offsets, "client_id": None, "client_host": None}
    draft.events.append(GroupEvent(GroupEventType.GROUP_DELETED, group_id, context.now_ms, fields))


# -- retention ------------------------------------------------------------------------------------


def _expired(view: View, context: Context, group_id: str) -> _Found:
    durable = view.groups.get(group_id)
    if durable is None:  # deleted since the walk began
        return _Found([], False, 1)
    group = view.live_groups.get(group_id)
    in_motion = None if group is None or group.state is GroupState.EMPTY else group
    offsets = view.offsets.get(group_id, {})
    base_timestamp = _base_timestamp(durable, in_motion)
    if base_timestamp is None:
        return _Found([], False, 1)
    pending = pending_partitions(view, group_id)
    expired = [
        topic_partition
        for topic_partition, offset in offsets.items()
        if _is_expired(context, offset, base_timestamp(offset))
        and topic_partition not in pending
        and not is_subscribed(in_motion, topic_partition[0])
    ]
    is_removed = in_motion is None and len(expired) == len(offsets) and not pending
    return _Found(expired, is_removed, 1 + len(offsets))


def _base_timestamp(durable: Group, in_motion: ClassicGroupView | None) -> _BaseTimestamp | None:
    """From when on the offsets of a group age; None while they do not."""
    if in_motion is not None:
        # Never while it rebalances, nor if it is unknown what the members read (KAFKA-13636).
        is_known = in_motion.subscribed_topics is not None
        is_stable = in_motion.state is GroupState.STABLE
        is_consumer = in_motion.protocol_type == PROTOCOL_TYPE
        return _commit_timestamp if is_known and is_stable and is_consumer else None
    empty_since_ms = durable.state_timestamp_ms
    if not durable.protocol_type or empty_since_ms == NO_STATE_TIMESTAMP:
        return _commit_timestamp
    return lambda offset: empty_since_ms


def _commit_timestamp(offset: CommittedOffset) -> int:
    return offset.commit_timestamp_ms


def _is_expired(context: Context, offset: CommittedOffset, base_timestamp_ms: int) -> bool:
    if offset.expire_timestamp_ms != NO_EXPIRE_TIMESTAMP:
        return context.now_ms >= offset.expire_timestamp_ms
    return context.now_ms - base_timestamp_ms >= context.config.offsets_retention_ms


# -- deleted topics -------------------------------------------------------------------------------


def _of_topics(view: View, group_id: str, topics: Mapping[str, bytes]) -> _Found:
    stored = [view.offsets, *view.pending_offsets.values()]
    offsets = [by_group[group_id] for by_group in stored if group_id in by_group]
    gone = dict.fromkeys(
        topic_partition
        for partitions in offsets
        for topic_partition, offset in partitions.items()
        if topic_partition[0] in topics
        and offset.topic_id in (NULL_UUID, topics[topic_partition[0]])
    )
    return _Found(list(gone), False, 1 + sum(map(len, offsets)))
