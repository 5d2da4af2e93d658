"""ListGroups: the groups of this partition, by state and type if the client asks so."""

from __future__ import annotations

from collections.abc import Iterator

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.session import View
from drumbeat.protocol.apis.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

CLASSIC = "classic"
_BLANK = "".join(map(chr, range(ord(" ") + 1)))


def list_groups(view: View, context: Context, request: ListGroupsRequest) -> Outcome:
    """Filters ignore case, and a name that does not exist matches nothing.

    Around the names of states Kafka also ignores what Java's `trim` takes away.
    """
    states = {name.strip(_BLANK).lower() for name in request.states_filter}
    types = {name.lower() for name in request.types_filter}
    groups = tuple(
        group
        for group in _groups(view)
        if (not states or group.group_state.lower() in states)
        and (not types or group.group_type in types)
    )
    return Outcome(replies=(Reply(context.request_id, ListGroupsResponse(groups=groups)),))


def _groups(view: View) -> Iterator[ListedGroup]:
    for group_id, durable in view.groups.items():
        group = view.live_groups.get(group_id)
        if group is None:
            yield ListedGroup(group_id, durable.protocol_type, GroupState.EMPTY, CLASSIC)
        else:
            yield ListedGroup(group_id, group.protocol_type, group.state, CLASSIC)
