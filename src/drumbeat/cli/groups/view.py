"""A group as it is now: state, members, and how far each partition is behind.

What is shown follows kafka-consumer-groups: lag is the log's end less the committed offset, and is
unknown where one of the two is.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from drumbeat.client.admin import GroupDescription, MemberDescription, OffsetSpec, SomeFailedError
from drumbeat.client.errors import KafkaError
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.pipeline.history.answer import Answer
from drumbeat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from drumbeat.client import SyncAdmin

_NOT_THERE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)


class PartitionView(NamedTuple):
    topic: str
    partition: int
    committed_offset: int | None
    log_end_offset: int | None
    lag: int | None
    owner: str | None
    client_id: str | None
    host: str | None
    metadata: str | None


class GroupView(NamedTuple):
    description: GroupDescription
    partitions: tuple[PartitionView, ...]

    @property
    def lag(self) -> int | None:
        """Of all partitions where it is known."""
        known = [one.lag for one in self.partitions if one.lag is not None]
        return sum(known) if known else None

    def title(self) -> str:
        group = self.description
        parts = [group.state, f"{group.type} group"]
        parts += [group.protocol] if group.protocol else []
        parts += [] if group.epoch is None else [f"epoch {group.epoch}"]
        if group.coordinator is not None:
            node_id, host, port, _ = group.coordinator
            parts.append(f"coordinator {node_id} ({host}:{port})")
        parts.append(f"{len(group.members)} members")
        parts += [] if self.lag is None else [f"lag {self.lag:,}"]
        return f"{group.group_id}: {', '.join(parts)}"

    def answers(self) -> list[Answer]:
        """The tables: partitions, and members if there are some."""
        columns = ("topic", "partition", "committed", "log_end", "lag", "owner")
        rows = [one[: len(columns)] for one in self.partitions]
        tables = [Answer(columns, rows, title=self.title())]
        if self.description.members:
            tables.append(_members_answer(self.description.members))
        return tables

    def document(self) -> dict[str, Any]:
        group = self.description
        coordinator = group.coordinator
        return {
            "group": group.group_id,
            "state": group.state,
            "type": group.type,
            "protocol_type": group.protocol_type,
            "protocol": group.protocol,
            "epoch": group.epoch,
            "assignment_epoch": group.assignment_epoch,
            "coordinator": None if coordinator is None else coordinator._asdict(),
            "lag": self.lag,
            "members": [_member_document(member) for member in group.members],
            "partitions": [one._asdict() for one in self.partitions],
        }


def view_groups(admin: "SyncAdmin", group_ids: Sequence[str]) -> list[GroupView]:
    """In the order asked for; raises what the admin raises if one is not there."""
    described = admin.describe_groups(group_ids)
    committed = admin.list_group_offsets(group_ids)
    tps = {tp for offsets in committed.values() for tp in offsets}
    tps |= {tp for group in described.values() for m in group.members for tp in m.assignment}
    ends = end_offsets(admin, tps)
    return [_view(described[one], committed[one], ends) for one in group_ids]


def end_offsets(admin: "SyncAdmin", tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Where the log ends; a partition that is gone or has no leader is left out."""
    try:
        found = admin.list_offsets(dict.fromkeys(tps, OffsetSpec.LATEST))
    except SomeFailedError as some:
        other = next((e for e in some.errors.values() if e.code not in _NOT_THERE), None)
        if other is not None:
            raise other from None
        found = some.results
    except KafkaError as problem:
        if problem.code not in _NOT_THERE:
            raise
        found = {}
    return {tp: known.offset for tp, known in found.items()}


def _view(
    group: GroupDescription,
    committed: dict[TopicPartition, OffsetAndMetadata],
    ends: dict[TopicPartition, int],
) -> GroupView:
    owners = {tp: member for member in group.members for tp in member.assignment}
    rows = tuple(
        _partition(tp, committed.get(tp), ends.get(tp), owners.get(tp))
        for tp in sorted({*committed, *owners})
    )
    return GroupView(group, rows)


def _partition(
    tp: TopicPartition,
    committed: OffsetAndMetadata | None,
    end: int | None,
    owner: MemberDescription | None,
) -> PartitionView:
    return PartitionView(
        topic=tp.topic,
        partition=tp.partition,
        committed_offset=None if committed is None else committed.offset,
        log_end_offset=end,
        lag=None if committed is None or end is None else end - committed.offset,
        owner=None if owner is None else owner.member_id,
        client_id=None if owner is None else owner.client_id,
        host=None if owner is None else owner.host,
        metadata=None if committed is None else committed.metadata,
    )


def _members_answer(members: Sequence[MemberDescription]) -> Answer:
    columns = ("member", "instance", "client", "host", "epoch", "partitions")
    rows = [
        (
            one.member_id,
            one.group_instance_id,
            one.client_id,
            one.host,
            one.epoch,
            partitions_text(one.assignment),
        )
        for one in members
    ]
    return Answer(columns, rows)


def partitions_text(tps: Iterable[TopicPartition]) -> str:
    """orders 0-2, 5; payments 1"""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(tps):
        topics.setdefault(topic, []).append(partition)
    return "; ".join(f"{topic} {_ranges(numbers)}" for topic, numbers in topics.items()) or "none"


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _member_document(member: MemberDescription) -> dict[str, Any]:
    target = member.target_assignment
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "subscription": member.subscription,
        "assignment": [tp._asdict() for tp in sorted(member.assignment)],
        "target_assignment": None if target is None else [tp._asdict() for tp in sorted(target)],
    }
