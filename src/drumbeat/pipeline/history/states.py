"""A group as it was at a moment: members, who owned what, and where each partition stood.

Offsets and classic groups come from the replay. Members of the newer group types are not part of
the coordinator's state here; the tables know them.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

from drumbeat.core.state import CommittedOffset, Group, State, TopicPartition
from drumbeat.pipeline.history.answer import Answer
from drumbeat.pipeline.history.replay import GroupReplay
from drumbeat.pipeline.history.store import History
from drumbeat.pipeline.history.times import END_OF_TIME_MS, time_text
from drumbeat.pipeline.schemas import ASSIGNMENTS, GROUP_GENERATIONS, MEMBERS
from drumbeat.pipeline.tables.classic_groups import generation_of

CLASSIC: Final = "classic"
SIMPLE: Final = "simple"
DEAD: Final = "Dead"

_GENERATION: Final = """
SELECT group_type, state_after, generation FROM group_generations
WHERE cluster_id = $cluster AND group_id = $group AND group_type <> 'classic'
    AND append_ts <= $at AND (ended_ts IS NULL OR ended_ts > $at)
ORDER BY log_offset DESC LIMIT 1
"""
_MEMBERS: Final = """
SELECT member_id, client_id, client_host, group_instance_id FROM members
WHERE cluster_id = $cluster AND group_id = $group
    AND joined_at <= $at AND (left_at IS NULL OR left_at > $at)
ORDER BY member_id
"""
_OWNERS: Final = """
SELECT coalesce(topic, lower(hex(topic_id))), partition, member_id FROM assignments
WHERE cluster_id = $cluster AND group_id = $group
    AND valid_from <= $at AND (valid_to IS NULL OR valid_to > $at)
"""


class GroupMember(NamedTuple):
    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None


class PartitionState(NamedTuple):
    topic: str
    partition: int
    committed_offset: int | None
    committed_at: int | None
    metadata: str | None
    member_id: str | None
    client_id: str | None


class GroupState(NamedTuple):
    group_id: str
    cluster_id: str
    log_partition: int
    at_ms: int  # END_OF_TIME_MS: as of the end of the log
    is_complete: bool | None
    group_type: str | None  # None: there was no such group then
    state: str
    generation: int | None
    protocol: str | None
    leader: str | None
    members: tuple[GroupMember, ...]
    partitions: tuple[PartitionState, ...]

    def members_answer(self) -> Answer:
        return Answer(GroupMember._fields, self.members)

    def partitions_answer(self) -> Answer:
        return Answer(PartitionState._fields, self.partitions, ("committed_at",))

    def document(self) -> dict[str, Any]:
        is_at_end = self.at_ms >= END_OF_TIME_MS
        return {
            **self._asdict(),
            "at_ms": None if is_at_end else self.at_ms,
            "at": None if is_at_end else time_text(self.at_ms),
            "members": self.members_answer().documents(),
            "partitions": self.partitions_answer().documents(),
        }


class _Membership(NamedTuple):
    group_type: str | None = None
    state: str = DEAD
    generation: int | None = None
    protocol: str | None = None
    leader: str | None = None
    members: tuple[GroupMember, ...] = ()
    owners: dict[TopicPartition, str] = {}  # noqa: RUF012 - never written


def group_state(history: History, replay: GroupReplay, at_ms: int) -> GroupState:
    assert replay.group_id is not None
    state = replay.state_at(at_ms)
    group = state.groups.get(replay.group_id)
    membership = _from_tables(history, replay, at_ms) or _from_replay(group)
    offsets = state.offsets.get(replay.group_id, {})
    return GroupState(
        group_id=replay.group_id,
        cluster_id=replay.source.cluster_id,
        log_partition=replay.source.log_partition,
        at_ms=at_ms,
        is_complete=replay.is_complete_at(at_ms),
        partitions=tuple(_partitions(membership, offsets)),
        **{name: getattr(membership, name) for name in _Membership._fields if name != "owners"},
    )


def all_states(history: History, at_ms: int, cluster_id: str | None = None) -> Answer:
    """A row for each group that there was, but those that never stored an offset if their type
    is not classic."""
    rows: list[tuple[Any, ...]] = []
    for source in history.sources(cluster_id):
        state = GroupReplay(history, source).state_at(at_ms)
        rows += ((source.cluster_id, *row) for row in _summaries(state))
    columns = ("cluster_id", "group_id", "generation", "protocol", "members", "partitions")
    return Answer((*columns, "last_commit"), sorted(rows, key=itemgetter(0, 1)), ("last_commit",))


def _summaries(state: State) -> Iterator[tuple[Any, ...]]:
    for group_id, group in state.groups.items():
        offsets = state.offsets.get(group_id, {}).values()
        last_commit = max((offset.commit_timestamp_ms for offset in offsets), default=None)
        members = len(group.members)
        yield (
            group_id,
            group.generation_id,
            group.protocol_name,
            members,
            len(offsets),
            last_commit,
        )


def _from_replay(group: Group | None) -> _Membership:
    if group is None:
        return _Membership()
    generation = generation_of(group)
    return _Membership(
        group_type=CLASSIC if group.protocol_type else SIMPLE,
        state="Stable" if group.members else "Empty",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader,
        members=tuple(
            GroupMember(m.member_id, m.client_id, m.client_host, m.group_instance_id)
            for m in generation.members.values()
        ),
        owners={
            (topic, partition): owner.member_id
            for (topic, partition), owner in generation.owners.items()
            if isinstance(topic, str)  # classic groups know topics by name
        },
    )


def _from_tables(history: History, replay: GroupReplay, at_ms: int) -> _Membership | None:
    """None for classic groups, and if there are no tables yet."""
    if not all(map(history.is_derived, (GROUP_GENERATIONS, MEMBERS, ASSIGNMENTS))):
        return None
    where = {"cluster": replay.source.cluster_id, "group": replay.group_id, "at": at_ms}
    generations = history.query(_GENERATION, where).rows
    if not generations:
        return None
    group_type, state, generation = generations[0]
    owners = history.query(_OWNERS, where).rows
    return _Membership(
        group_type=group_type,
        state=state,
        generation=generation,
        members=tuple(GroupMember(*row) for row in history.query(_MEMBERS, where).rows),
        owners={(topic, partition): member_id for topic, partition, member_id in owners},
    )


def _partitions(
    membership: _Membership, offsets: dict[TopicPartition, CommittedOffset]
) -> Iterator[PartitionState]:
    """All that are owned or have an offset."""
    client_ids = {member.member_id: member.client_id for member in membership.members}
    for place in sorted({*membership.owners, *offsets}):
        offset, owner = offsets.get(place), membership.owners.get(place)
        yield PartitionState(
            *place,
            committed_offset=None if offset is None else offset.committed_offset,
            committed_at=None if offset is None else offset.commit_timestamp_ms,
            metadata=None if offset is None else offset.metadata or None,
            member_id=owner,
            client_id=None if owner is None else client_ids.get(owner),
        )
