"""Reading a node for a test: groups, offsets, events. Runs on the node's loop; changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TypeVar

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.members import JoinedMember
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.session import View
from drumbeat.log.port import TopicPartition
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.record_batch import iter_headers
from drumbeat.protocol.records import decode_records
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.coordinator.shard import Shard
from drumbeat.runtime.topics import GROUP_EVENTS
from drumbeat.testing.names import unknown
from drumbeat.testing.observed import Event, Group, Member, event_of

T = TypeVar("T")


def shard_of(broker: Broker, group_id: str) -> Shard | None:
    """None if its partition is not served: never used yet, loading, or given away."""
    index = broker.groups.partition_for(group_id)
    return next((s for s in broker.groups.active_shards() if s.index == index), None)


def group_now(broker: Broker, group_id: str) -> Group:
    shard = shard_of(broker, group_id)
    absent = Group(group_id=group_id, state=GroupState.DEAD)
    return absent if shard is None else look(shard, lambda view: _group(view, group_id, absent))


def committed_now(broker: Broker, group_id: str) -> dict[TopicPartition, int]:
    shard = shard_of(broker, group_id)
    if shard is None:
        return {}
    offsets = look(shard, lambda view: dict(view.offsets.get(group_id, {})))
    return {TopicPartition(*key): offset.committed_offset for key, offset in offsets.items()}


def known_groups(broker: Broker) -> list[str]:
    shards = broker.groups.active_shards()
    return sorted(
        {group for s in shards for group in look(s, lambda v: [*v.groups, *v.live_groups])}
    )


async def end_offsets_now(broker: Broker, topic_name: str) -> dict[int, int]:
    topic = broker.topics.get(topic_name)
    if topic is None:
        raise LookupError(unknown("topic", topic_name, (topic.name for topic in broker.topics)))
    ends = {}
    for index in range(topic.partition_count):
        partition = await broker.open_partition(topic, index)
        if partition is None:
            raise RuntimeError(f"{topic_name}-{index} cannot be opened; the log says why")
        ends[index] = partition.high_watermark
    return ends


async def events_now(broker: Broker) -> list[Event]:
    """All that has happened, oldest first."""
    await broker.groups.flush_events()
    partition = broker.partitions.get(GROUP_EVENTS, 0)
    if partition is None:
        topic = broker.topics.get(GROUP_EVENTS)
        partition = await broker.open_partition(topic, 0) if topic else None
    if partition is None:
        return []
    await partition.log.sync()
    chunks = partition.log.chunks_from(partition.log.start_offset)
    return [event_of(json.loads(value)) for chunk in chunks for value in _values(chunk)]


def look(shard: Shard, read: Callable[[View], T]) -> T:
    """What `read` finds in the shard's state at this moment."""
    found: list[T] = []

    def job(view: View, _context: Context) -> Iterable[Outcome]:
        found.append(read(view))
        return ()

    for _ in shard.run(job):
        pass
    return found[0]


def _values(chunk: bytes) -> Iterable[bytes]:
    for position, header in iter_headers(chunk):
        for record in decode_records(chunk[position : position + header.size]):
            if record.value is not None:
                yield record.value


def _group(view: View, group_id: str, absent: Group) -> Group:
    live = view.live_groups.get(group_id)
    if live is not None:
        return Group(
            group_id=group_id,
            state=live.state,
            generation_id=live.generation_id,
            protocol=live.protocol_name,
            leader=live.leader,
            members=tuple(_member(live, member) for member in live.members.values()),
        )
    durable = view.groups.get(group_id)
    if durable is None:
        return absent
    return Group(group_id=group_id, state=GroupState.EMPTY, generation_id=durable.generation_id)


def _member(group: ClassicGroupView, member: JoinedMember) -> Member:
    assignment = group.assignments.get(member.member_id, b"")
    is_consumer = group.protocol_type == PROTOCOL_TYPE
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        group_instance_id=member.group_instance_id,
        session_timeout_ms=member.session_timeout_ms,
        partitions=_partitions(assignment) if is_consumer else frozenset(),
    )


def _partitions(assignment: bytes) -> frozenset[TopicPartition]:
    """What a consumer was assigned; nothing if the group's leader wrote something else."""
    if not assignment:
        return frozenset()
    try:
        assigned = decode_assignment(assignment).assigned_partitions
    except ProtocolError:
        return frozenset()
    return frozenset(
        TopicPartition(topic, index) for topic, indexes in assigned for index in indexes
    )
