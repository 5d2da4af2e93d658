"""DescribeGroups: what a classic group looks like right now."""

from __future__ import annotations

from drumbeat.core.classic.election import in_map_order
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.session import View
from drumbeat.core.state import Group
from drumbeat.protocol.apis.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from drumbeat.protocol.errors import ErrorCode

_REPORTS_ABSENT_GROUPS = 6  # first version that says GROUP_ID_NOT_FOUND (KIP-1043)
_SHOWN_MAX = 1_000  # characters of a group id in a message

# READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS, each a bit: all that exist for a group
ALL_GROUP_OPERATIONS = 3400


def describe_groups(view: View, context: Context, request: DescribeGroupsRequest) -> Outcome:
    groups = tuple(_describe(view, context, request, group_id) for group_id in request.groups)
    return Outcome(replies=(Reply(context.request_id, DescribeGroupsResponse(groups=groups)),))


def _describe(
    view: View, context: Context, request: DescribeGroupsRequest, group_id: str
) -> DescribedGroup:
    durable = view.groups.get(group_id)
    if durable is None:
        described = _absent(context, group_id)
    else:
        described = _present(group_id, durable, view.live_groups.get(group_id))
    if request.include_authorized_operations and described.error_code == ErrorCode.NONE:
        described = described._replace(authorized_operations=ALL_GROUP_OPERATIONS)
    return described


def _present(group_id: str, durable: Group, group: ClassicGroupView | None) -> DescribedGroup:
    described = DescribedGroup(
        group_id=group_id, group_state=GroupState.EMPTY, protocol_type=durable.protocol_type
    )
    if group is None:
        return described
    return described._replace(
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=_protocol_data(group),
        members=_members(group),
    )


def _absent(context: Context, group_id: str) -> DescribedGroup:
    described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
    if context.api_version < _REPORTS_ABSENT_GROUPS:
        return described
    # With the longest id there is, the message would be longer than a string may be.
    shown = group_id[:_SHOWN_MAX]
    return described._replace(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=f"Group {shown} not found."
    )


def _protocol_data(group: ClassicGroupView) -> str:
    return group.protocol_name or "" if group.state is GroupState.STABLE else ""


def _members(group: ClassicGroupView) -> tuple[DescribedGroupMember, ...]:
    """Metadata only of a Stable group; assignments for as long as they are remembered."""
    is_stable = group.state is GroupState.STABLE
    return tuple(
        DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
            member_assignment=group.assignments.get(member.member_id, b""),
        )
        for member in in_map_order(group)
    )
