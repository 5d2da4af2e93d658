"""OffsetFetch: where a group has got to.

Not having an offset is no error: -1 says it. Members of classic groups are not checked; whoever
knows the group's name may read. Groups of one request may live in different partitions of the
log: the shell asks each partition about its own and puts the answers together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import TypeAlias

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.offsets.pending import pending_partitions
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.session import View
from drumbeat.core.state import CommittedOffset, TopicPartition
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID

_SEVERAL_GROUPS_SINCE = 8
_TOPIC_IDS_SINCE = 10
_NO_OFFSET = -1

_Offsets: TypeAlias = Mapping[TopicPartition, CommittedOffset]
_Partitions: TypeAlias = Set[TopicPartition]
_NONE: _Offsets = {}


def offset_fetch(view: View, context: Context, request: OffsetFetchRequest) -> Outcome:
    if context.api_version >= _SEVERAL_GROUPS_SINCE:
        groups = tuple(
            [_fetch(view, context, group, request.require_stable) for group in request.groups]
        )
        return _outcome(context, OffsetFetchResponse(groups=groups))
    asked = OffsetFetchRequestGroup(group_id=request.group_id, topics=_as_topics(request))
    answer = _fetch(view, context, asked, request.require_stable)
    return _outcome(context, OffsetFetchResponse(topics=_as_single(answer)))


def _fetch(
    view: View, context: Context, asked: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    group_id = asked.group_id
    offsets = view.offsets.get(group_id, _NONE) if _is_known(view, group_id) else _NONE
    unstable: _Partitions = pending_partitions(view, group_id) if require_stable else frozenset()
    if asked.topics is None:
        topics = _all_topics(context, offsets, unstable)
    else:
        topics = _asked_topics(context, asked.topics, offsets, unstable)
    return OffsetFetchResponseGroup(group_id, topics)


def _is_known(view: View, group_id: str) -> bool:
    group = view.live_groups.get(group_id)
    return group_id in view.groups and (group is None or group.state is not GroupState.DEAD)


def _asked_topics(
    context: Context,
    asked: Iterable[OffsetFetchRequestTopics],
    offsets: _Offsets,
    unstable: _Partitions,
) -> tuple[OffsetFetchResponseTopics, ...]:
    """Answers in the order of the request, topics of unknown id behind the others."""
    found: list[OffsetFetchResponseTopics] = []
    unknown: list[OffsetFetchResponseTopics] = []
    for name, topic_id, indexes in asked:
        actual_name: str | None = name
        if context.api_version >= _TOPIC_IDS_SINCE:
            actual_name = context.topics.topic_name(topic_id)
        if actual_name is None:
            answers = [_nothing(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in indexes]
            unknown.append(OffsetFetchResponseTopics(name, topic_id, tuple(answers)))
            continue
        answers = [_answer((actual_name, index), topic_id, offsets, unstable) for index in indexes]
        found.append(OffsetFetchResponseTopics(name, topic_id, tuple(answers)))
    return (*found, *unknown)


def _all_topics(
    context: Context, offsets: _Offsets, unstable: _Partitions
) -> tuple[OffsetFetchResponseTopics, ...]:
    """Every offset the group has committed. A topic that is gone has no id to be called by."""
    by_topic: dict[str, list[OffsetFetchResponsePartitions]] = {}
    for topic_partition in offsets:
        answer = _answer(topic_partition, NULL_UUID, offsets, unstable)
        by_topic.setdefault(topic_partition[0], []).append(answer)
    uses_ids = context.api_version >= _TOPIC_IDS_SINCE
    topics = (
        OffsetFetchResponseTopics(
            name, context.topics.topic_id(name) if uses_ids else NULL_UUID, tuple(answers)
        )
        for name, answers in by_topic.items()
    )
    return tuple(topic for topic in topics if not uses_ids or topic.topic_id != NULL_UUID)


def _answer(
    topic_partition: TopicPartition, topic_id: bytes, offsets: _Offsets, unstable: _Partitions
) -> OffsetFetchResponsePartitions:
    index = topic_partition[1]
    if topic_partition in unstable:
        return _nothing(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    known = offsets.get(topic_partition)
    if known is None or _is_of_another_topic(known, topic_id):
        return _nothing(index, ErrorCode.NONE)
    return OffsetFetchResponsePartitions(
        index, known.committed_offset, known.leader_epoch, known.metadata
    )


def _is_of_another_topic(known: CommittedOffset, topic_id: bytes) -> bool:
    """Committed to a topic of the same name that was deleted since; only ids can tell."""
    return NULL_UUID not in (known.topic_id, topic_id) and known.topic_id != topic_id


def _nothing(index: int, error: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(index, _NO_OFFSET, error_code=error)


# -- versions 1 to 7: one group, at the top level -------------------------------------------------


def _as_topics(request: OffsetFetchRequest) -> tuple[OffsetFetchRequestTopics, ...] | None:
    if request.topics is None:
        return None
    return tuple(
        [OffsetFetchRequestTopics(name, NULL_UUID, indexes) for name, indexes in request.topics]
    )


def _as_single(answer: OffsetFetchResponseGroup) -> tuple[OffsetFetchResponseTopic, ...]:
    return tuple(
        [
            OffsetFetchResponseTopic(
                topic.name, tuple([OffsetFetchResponsePartition(*p) for p in topic.partitions])
            )
            for topic in answer.topics
        ]
    )


def _outcome(context: Context, response: OffsetFetchResponse) -> Outcome:
    return Outcome(replies=(Reply(context.request_id, response),))
