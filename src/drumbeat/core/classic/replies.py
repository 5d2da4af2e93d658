"""JoinGroup and SyncGroup answers, in the shape that each version of them has."""

from __future__ import annotations

from collections.abc import Iterable

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.members import JoinedMember
from drumbeat.protocol.apis.join_group import JoinGroupResponse, JoinGroupResponseMember
from drumbeat.protocol.apis.sync_group import SyncGroupResponse
from drumbeat.protocol.errors import ErrorCode

_NULLABLE_PROTOCOL_NAME = 7  # JoinGroup's ProtocolName may be null from this version on


def join_error(api_version: int, error_code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error_code,
        protocol_name=None if api_version >= _NULLABLE_PROTOCOL_NAME else "",
        member_id=member_id,
    )


def current_generation(
    group: ClassicGroupView,
    member_id: str,
    leader: str | None,
    members: tuple[JoinGroupResponseMember, ...] = (),
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def member_list(
    members: Iterable[JoinedMember], protocol_name: str | None
) -> tuple[JoinGroupResponseMember, ...]:
    """What the leader gets: everybody's metadata for the chosen protocol."""
    return tuple(
        JoinGroupResponseMember(
            member.member_id, member.group_instance_id, member.metadata(protocol_name)
        )
        for member in members
    )


def sync_error(error_code: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error_code)


def sync_assignment(group: ClassicGroupView, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=assignment,
    )
