"""OffsetDelete: an administrator removes offsets of single partitions from a group.

Only where nobody may be reading: any partition of an Empty group; of a group of consumers, topics
that no member subscribes to; nothing of other groups that have members.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.subscription import is_subscribed
from drumbeat.core.offsets.admin_events import deleted_events
from drumbeat.core.offsets.pending import pending_partitions
from drumbeat.core.offsets.topic_check import merged
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.record_codec import fits_in_batch
from drumbeat.core.records import OffsetCommitTombstone
from drumbeat.core.session import View
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE
from drumbeat.protocol.errors import ErrorCode

_Answers = list[OffsetDeleteResponsePartition]


def offset_delete(view: View, context: Context, request: OffsetDeleteRequest) -> Outcome:
    error = _refusal(view, request.group_id)
    if error is not None:
        return _outcome(context, OffsetDeleteResponse(error_code=error))
    refused: dict[str, _Answers] = {}
    accepted: list[tuple[str, _Answers]] = []
    tombstones: dict[OffsetCommitTombstone, None] = {}  # a set that keeps its order
    for name, partitions in request.topics:
        known = _check_topic(context, name, partitions, refused)
        if known:
            answers = _delete(view, request.group_id, name, known, tombstones)
            accepted.append((name, answers))
    if not fits_in_batch(tombstones, context.config.offsets_batch_bytes_max):
        response = OffsetDeleteResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        return _outcome(context, response)
    topics = tuple(
        OffsetDeleteResponseTopic(name, tuple(answers))
        for name, answers in merged(refused, accepted)
    )
    response = OffsetDeleteResponse(topics=topics)
    events = deleted_events(view, context, tombstones)
    return Outcome(tuple(tombstones), (Reply(context.request_id, response),), events=events)


def _refusal(view: View, group_id: str) -> ErrorCode | None:
    if not group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group_id not in view.groups:
        return ErrorCode.GROUP_ID_NOT_FOUND
    group = view.live_groups.get(group_id)
    if group is None or group.state is GroupState.EMPTY:
        return None
    if group.state is GroupState.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return None if group.protocol_type == PROTOCOL_TYPE else ErrorCode.NON_EMPTY_GROUP


def _check_topic(
    context: Context,
    name: str,
    partitions: Sequence[OffsetDeleteRequestPartition],
    refused: dict[str, _Answers],
) -> list[int]:
    """The partitions that exist; the others go to `refused`."""
    count = context.topics.partition_count(name)
    if count is None:
        refused.setdefault(name, [])
    known: list[int] = []
    for (index,) in partitions:
        if 0 <= index < (count or 0):
            known.append(index)
        else:
            answer = OffsetDeleteResponsePartition(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            refused.setdefault(name, []).append(answer)
    return known


def _delete(
    view: View,
    group_id: str,
    topic: str,
    partitions: Sequence[int],
    tombstones: dict[OffsetCommitTombstone, None],
) -> _Answers:
    group = view.live_groups.get(group_id)
    in_motion = None if group is None or group.state is GroupState.EMPTY else group
    if is_subscribed(in_motion, topic):
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        return [OffsetDeleteResponsePartition(index, error) for index in partitions]
    offsets = view.offsets.get(group_id, {})
    pending = pending_partitions(view, group_id)
    for index in partitions:
        if (topic, index) in offsets or (topic, index) in pending:
            tombstones[OffsetCommitTombstone(group_id, topic, index)] = None
    return [OffsetDeleteResponsePartition(index) for index in partitions]


def _outcome(context: Context, response: OffsetDeleteResponse) -> Outcome:
    return Outcome(replies=(Reply(context.request_id, response),))
