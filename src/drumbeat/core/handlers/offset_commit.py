"""OffsetCommit: a group's positions are stored.

A partition that does not exist costs only itself; a refusal by the group costs all the others.
A member that commits is alive, so its session deadline moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.validation import fencing_events
from drumbeat.core.effects import Effect, SetDeadline
from drumbeat.core.events import GroupEvent
from drumbeat.core.offsets.admin_events import reset_events
from drumbeat.core.offsets.commit import (
    expire_timestamp_ms,
    fits_one_batch,
    is_metadata_too_large,
)
from drumbeat.core.offsets.commit_check import commit_refusal
from drumbeat.core.offsets.topic_check import merged
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.records import NO_EXPIRE_TIMESTAMP, OffsetCommitRecord
from drumbeat.core.session import View
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID

_TOPIC_IDS_SINCE: Final = 10

_new: Final = tuple.__new__  # what a commit makes for each partition; constructors take longer

# Found when the module is loaded: in compiled code a global that is not Final is looked up again
# for every partition.
_Record: Final = OffsetCommitRecord
_Response: Final = OffsetCommitResponse
_ResponseTopic: Final = OffsetCommitResponseTopic
_SetDeadline: Final = SetDeadline
_NULL_UUID: Final = NULL_UUID
# The answer to nearly every commit, by partition; those of higher numbers are made each time.
_STORED: Final = [OffsetCommitResponsePartition(index, ErrorCode.NONE) for index in range(256)]

_Topic: TypeAlias = tuple[str, bytes]  # name and id as the request gives them; one is empty
_Answers: TypeAlias = list[OffsetCommitResponsePartition]
# A topic that exists, with those of its partitions that do: as asked for, name, id, partitions.
_Accepted: TypeAlias = tuple[
    OffsetCommitRequestTopic, str, bytes, Sequence[OffsetCommitRequestPartition]
]


def offset_commit(view: View, context: Context, request: OffsetCommitRequest) -> Outcome:
    group_id, _, member_id, group_instance_id, _, topics = request
    refused: dict[_Topic, _Answers] = {}
    accepted: list[_Accepted] = []
    for topic in topics:
        _check_topic(context, topic, accepted, refused)
    if not accepted:
        return _outcome(context, _merged(refused, ()))
    group = view.live_groups.get(group_id)
    error = commit_refusal(view, context, group, request)
    if error is not None:
        sender = (group_id, member_id, group_instance_id)
        events = fencing_events(context, error, *sender)
        return _outcome(context, _merged(refused, _refusals(accepted, error)), events=events)
    effects = _session_effects(context, group, member_id)
    answers, records = _commit(context, request, accepted)
    if not fits_one_batch(context.config, group_id, records):
        answers = _refusals(accepted, ErrorCode.UNKNOWN_SERVER_ERROR)
        return _outcome(context, _merged(refused, answers), effects=effects)
    events = () if effects else reset_events(view, context, group_id, records)
    return _outcome(context, _merged(refused, answers), records, effects, events)


def _check_topic(
    context: Context,
    topic: OffsetCommitRequestTopic,
    accepted: list[_Accepted],
    refused: dict[_Topic, _Answers],
) -> None:
    name, topic_id, partitions = topic
    topics = context.topics
    if context.api_version >= _TOPIC_IDS_SINCE:
        found = topics.topic_name(topic_id)
        if found is None:
            _refuse(refused, topic, partitions, ErrorCode.UNKNOWN_TOPIC_ID)
            return
        name = found
    count = topics.partition_count(name)
    if count is None:
        _refuse(refused, topic, partitions, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return
    known: Sequence[OffsetCommitRequestPartition] = partitions
    for partition in partitions:
        if not 0 <= partition[0] < count:
            known = _refuse_unknown(refused, topic, count)
            break
    if known:
        accepted.append((topic, name, topics.topic_id(name), known))


def _refuse_unknown(
    refused: dict[_Topic, _Answers], topic: OffsetCommitRequestTopic, count: int
) -> Sequence[OffsetCommitRequestPartition]:
    """Of partitions some of which do not exist: those that do."""
    unknown = (partition for partition in topic.partitions if not 0 <= partition[0] < count)
    _refuse(refused, topic, unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return [partition for partition in topic.partitions if 0 <= partition[0] < count]


def _refuse(
    refused: dict[_Topic, _Answers],
    topic: OffsetCommitRequestTopic,
    partitions: Iterable[OffsetCommitRequestPartition],
    error: ErrorCode,
) -> None:
    answers = (OffsetCommitResponsePartition(p.partition_index, error) for p in partitions)
    refused.setdefault((topic.name, topic.topic_id), []).extend(answers)


def _commit(
    context: Context, request: OffsetCommitRequest, accepted: Iterable[_Accepted]
) -> tuple[list[OffsetCommitResponseTopic], list[OffsetCommitRecord]]:
    group_id = request.group_id
    # Numbers that are only passed on, and that all records share, are better left as objects.
    now_ms: Any = context.now_ms
    expire_ms: Any = expire_timestamp_ms(context.now_ms, request.retention_time_ms)
    stored_count = len(_STORED)
    records: list[OffsetCommitRecord] = []
    answers: list[OffsetCommitResponseTopic] = []
    for asked, name, topic_id, partitions in accepted:
        # The only record version that holds an expiry holds no topic id.
        stored_id = topic_id if expire_ms == NO_EXPIRE_TIMESTAMP else _NULL_UUID
        answer: _Answers = []
        fields: Sequence[tuple[Any, ...]] = partitions
        for index, offset, leader_epoch, metadata in fields:
            if metadata and is_metadata_too_large(metadata, context.config):
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
                answer.append(OffsetCommitResponsePartition(index, error))
                continue
            number: int = index
            answer.append(
                _STORED[number]
                if number < stored_count
                else OffsetCommitResponsePartition(number, ErrorCode.NONE)
            )
            # fmt: off
            records.append(_new(_Record, (
                group_id, name, index, offset, leader_epoch, metadata or "",
                now_ms, expire_ms, stored_id,
            )))
            # fmt: on
        fields_of_answer = (asked.name, asked.topic_id, tuple(answer))
        answers.append(_new(_ResponseTopic, fields_of_answer))
    return answers, records


def _session_effects(
    context: Context, group: ClassicGroupView | None, member_id: str
) -> tuple[Effect, ...]:
    """Nothing for a commit from outside: an Empty group has no members."""
    member = None if group is None else group.members.get(member_id)
    if member is None:
        return ()
    at_ms = context.now_ms + member.session_timeout_ms
    return (_new(_SetDeadline, (member.session_key, at_ms)),)


def _refusals(accepted: Iterable[_Accepted], error: ErrorCode) -> list[OffsetCommitResponseTopic]:
    """The same error on every partition that the group was asked about."""
    return [
        OffsetCommitResponseTopic(
            asked.name,
            asked.topic_id,
            tuple(OffsetCommitResponsePartition(p.partition_index, error) for p in partitions),
        )
        for asked, _name, _topic_id, partitions in accepted
    ]


def _merged(
    refused: dict[_Topic, _Answers], answers: Sequence[OffsetCommitResponseTopic]
) -> Sequence[OffsetCommitResponseTopic]:
    """The answers in Kafka's order, those to partitions that do not exist among them."""
    if not refused:
        return answers
    accepted = [((name, topic_id), list(partitions)) for name, topic_id, partitions in answers]
    return [
        OffsetCommitResponseTopic(name, topic_id, tuple(partitions))
        for (name, topic_id), partitions in merged(refused, accepted)
    ]


def _outcome(
    context: Context,
    answers: Sequence[OffsetCommitResponseTopic],
    records: Sequence[OffsetCommitRecord] = (),
    effects: tuple[Effect, ...] = (),
    events: tuple[GroupEvent, ...] = (),
) -> Outcome:
    reply = Reply(context.request_id, _new(_Response, (0, tuple(answers))))
    return Outcome(tuple(records), (reply,), effects, events)
