"""What the coordinator answers about a group, in the shape in which history is compared to it."""

from __future__ import annotations

from typing import NamedTuple

from drumbeat.client import SyncAdmin
from drumbeat.client.admin import OffsetSpec
from drumbeat.client.values import TopicPartition


class LiveGroup(NamedTuple):
    group_id: str
    state: str
    owners: dict[tuple[str, int], str]  # partition -> member id
    committed: dict[tuple[str, int], int]


def live_group(servers: str, group_id: str) -> LiveGroup:
    with SyncAdmin(bootstrap_servers=servers) as admin:
        described = admin.describe_groups([group_id])[group_id]
        committed = admin.list_group_offsets([group_id])[group_id]
    return LiveGroup(
        group_id,
        described.state,
        {
            (tp.topic, tp.partition): member.member_id
            for member in described.members
            for tp in member.assignment
        },
        {(tp.topic, tp.partition): offset.offset for tp, offset in committed.items()},
    )


def has_caught_up(servers: str, group_id: str, topic: str, partitions: int) -> bool:
    """Whether all that the topic has is consumed and committed."""
    wanted = {TopicPartition(topic, number): OffsetSpec.LATEST for number in range(partitions)}
    with SyncAdmin(bootstrap_servers=servers) as admin:
        ends = admin.list_offsets(wanted)
        committed = admin.list_group_offsets([group_id])[group_id]
    return all(tp in committed and committed[tp].offset >= end.offset for tp, end in ends.items())
