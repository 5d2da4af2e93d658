"""The GroupMetadata records of a classic group: the only moments when a rebalance gets durable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.members import JoinedMember
from drumbeat.core.records import GroupMetadataRecord, MemberMetadata


def empty_group_record(
    group_id: str, protocol_type: str, generation_id: int, state_timestamp_ms: int
) -> GroupMetadataRecord:
    return GroupMetadataRecord(
        group_id=group_id,
        protocol_type=protocol_type,
        generation_id=generation_id,
        protocol_name=None,
        leader=None,
        state_timestamp_ms=state_timestamp_ms,
        members=(),
    )


def generation_record(
    group: ClassicGroupView,
    leader: str | None,
    members: Sequence[JoinedMember],
    assignments: Mapping[str, bytes],
) -> GroupMetadataRecord:
    """A generation with its assignment. The timestamp is that of the last state change."""
    return GroupMetadataRecord(
        group_id=group.group_id,
        protocol_type=group.protocol_type,
        generation_id=group.generation_id,
        protocol_name=group.protocol_name,
        leader=leader,
        state_timestamp_ms=group.state_timestamp_ms,
        members=tuple(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in members
        ),
    )
