"""OffsetFetch: where a group has got to.

Not having an offset is no error: -1 says it. Members of classic groups are not checked; whoever
knows the group's name may read. Groups of one request may live in different partitions of the
log: the shell asks each partition about its own and puts the answers together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import repeat
from typing import Final, TypeAlias

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.offsets.pending import pending_partitions
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.session import View
from drumbeat.core.state import CommittedOffset, TopicPartition
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
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

_new: Final = tuple.__new__  # an answer per partition; their constructors take longer

_Offsets: TypeAlias = Mapping[TopicPartition, CommittedOffset]
_Partitions: TypeAlias = Set[TopicPartition]
_Answers: TypeAlias = tuple[OffsetFetchResponseTopics, ...]
_NONE: _Offsets = {}
_NOWHERE: _Partitions = frozenset()
_SINGLE = repeat(OffsetFetchResponsePartition)  # the same fields under another name
_DEAD = GroupState.DEAD  # an enum's member takes longer to find than to compare


def offset_fetch(view: View, context: Context, request: OffsetFetchRequest) -> Outcome:
    group_id, single, several, require_stable = request
    if context.api_version >= _SEVERAL_GROUPS_SINCE:
        groups = tuple(
            [
                _new(
                    OffsetFetchResponseGroup,
                    (group[0], _fetch(view, context, group, require_stable), 0),
                )
                for group in several
            ]
        )
        return _outcome(context, (0, (), 0, groups))
    topics = _fetch_single(view, context, group_id, single, require_stable)
    return _outcome(context, (0, topics, 0, ()))


def _fetch(
    view: View, context: Context, asked: OffsetFetchRequestGroup, require_stable: bool
) -> _Answers:
    group_id, _, _, topics = asked
    offsets, unstable = _offsets(view, group_id, require_stable)
    if topics is None:
        return _all_topics(context, offsets, unstable)
    return _asked_topics(context, topics, offsets, unstable)


def _offsets(view: View, group_id: str, require_stable: bool) -> tuple[_Offsets, _Partitions]:
    """Where the group has got to, and where a transaction may move it any moment."""
    offsets = view.offsets.get(group_id, _NONE) if _is_known(view, group_id) else _NONE
    return offsets, pending_partitions(view, group_id) if require_stable else _NOWHERE


def _is_known(view: View, group_id: str) -> bool:
    if group_id not in view.groups:
        return False
    group = view.live_groups.get(group_id)
    return group is None or group.state is not _DEAD


def _asked_topics(
    context: Context,
    asked: Iterable[OffsetFetchRequestTopics],
    offsets: _Offsets,
    unstable: _Partitions,
) -> _Answers:
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
        partitions = _answers(actual_name, topic_id, indexes, offsets, unstable)
        found.append(_new(OffsetFetchResponseTopics, (name, topic_id, partitions)))
    return (*found, *unknown)


def _answers(
    name: str, topic_id: bytes, indexes: Iterable[int], offsets: _Offsets, unstable: _Partitions
) -> tuple[OffsetFetchResponsePartitions, ...]:
    """What `_answer` says of each partition, which is nearly always where the group has got to."""
    is_plain = topic_id == NULL_UUID and not unstable
    answers = []
    for index in indexes:
        topic_partition = (name, index)
        known = offsets.get(topic_partition) if is_plain else None
        if known is None:
            answers.append(_answer(topic_partition, topic_id, offsets, unstable))
        else:
            offset, leader_epoch, metadata, _, _, _, _ = known
            answer = (index, offset, leader_epoch, metadata, 0)
            answers.append(_new(OffsetFetchResponsePartitions, answer))
    return tuple(answers)


def _all_topics(context: Context, offsets: _Offsets, unstable: _Partitions) -> _Answers:
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
    if unstable and topic_partition in unstable:
        return _nothing(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    known = offsets.get(topic_partition)
    if known is None or _is_of_another_topic(known, topic_id):
        return _nothing(index, ErrorCode.NONE)
    return _new(OffsetFetchResponsePartitions, (index, *known[:3], 0))


def _is_of_another_topic(known: CommittedOffset, topic_id: bytes) -> bool:
    """Committed to a topic of the same name that was deleted since; only ids can tell."""
    if topic_id == NULL_UUID:
        return False
    return known.topic_id not in (NULL_UUID, topic_id)


def _nothing(index: int, error: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(index, _NO_OFFSET, error_code=error)


# -- versions 1 to 7: one group, at the top level -------------------------------------------------


def _fetch_single(
    view: View,
    context: Context,
    group_id: str,
    asked: Iterable[OffsetFetchRequestTopic] | None,
    require_stable: bool,
) -> tuple[OffsetFetchResponseTopic, ...]:
    offsets, unstable = _offsets(view, group_id, require_stable)
    if asked is None:
        found = _all_topics(context, offsets, unstable)
        return tuple([_as_single(name, partitions) for name, _, partitions in found])
    return tuple(
        [
            _as_single(name, _answers(name, NULL_UUID, indexes, offsets, unstable))
            for name, indexes in asked
        ]
    )


def _as_single(
    name: str, partitions: Iterable[OffsetFetchResponsePartitions]
) -> OffsetFetchResponseTopic:
    return _new(OffsetFetchResponseTopic, (name, tuple(map(_new, _SINGLE, partitions))))


def _outcome(context: Context, fields: tuple[object, ...]) -> Outcome:
    return Outcome(replies=(Reply(context.request_id, _new(OffsetFetchResponse, fields)),))
