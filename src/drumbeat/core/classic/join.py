"""What a JoinGroup does once it has been accepted: the member is in, and its request is parked."""

from __future__ import annotations

from collections.abc import Set

from drumbeat.core import effects
from drumbeat.core.classic import rebalance
from drumbeat.core.classic.election import in_map_order
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.members import JoinedMember, ParkedRequest, session_key
from drumbeat.core.classic.replies import current_generation, join_error, member_list
from drumbeat.core.draft import Draft
from drumbeat.core.events import Cause, GroupEventType, Reason, client_reason, member_event
from drumbeat.core.outcome import Context, Outcome, Settle
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import java_hash

# A new member does not know its id yet and cannot send heartbeats, so until its first generation
# this stands in for its session timeout. Kafka has no key for it either.
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000


def new_member_id(context: Context, request: JoinGroupRequest) -> str:
    if request.group_instance_id is not None:
        return f"{request.group_instance_id}-{context.new_id}"
    return f"{context.client_id}-{context.new_id}"


def joined_member(
    context: Context, request: JoinGroupRequest, member_id: str, group_instance_id: str | None
) -> JoinedMember:
    return JoinedMember(
        member_id=member_id,
        group_instance_id=group_instance_id,
        client_id=context.client_id,
        client_host=context.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=_rebalance_timeout_ms(context, request),
        protocols=request.protocols,
        session_key=session_key(request.group_id, member_id),
        id_hash=java_hash(member_id),
    )


def _rebalance_timeout_ms(context: Context, request: JoinGroupRequest) -> int:
    """Version 0 does not state one."""
    return request.rebalance_timeout_ms if context.api_version else request.session_timeout_ms


def hand_out_id(
    draft: Draft, context: Context, group: ClassicGroupView, request: JoinGroupRequest
) -> Outcome:
    """MEMBER_ID_REQUIRED: a client that gives up before its answer leaves no ghost behind."""
    member_id = new_member_id(context, request)
    draft.effects.append(effects.PendingMemberAdded(group.group_id, member_id))
    draft.effects.append(
        effects.SetDeadline(
            session_key(group.group_id, member_id), context.now_ms + request.session_timeout_ms
        )
    )
    draft.reply(
        context.request_id,
        join_error(context.api_version, ErrorCode.MEMBER_ID_REQUIRED, member_id),
    )
    return draft.outcome()


def add_member(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    request: JoinGroupRequest,
    member_id: str,
) -> Outcome:
    member = joined_member(context, request, member_id, request.group_instance_id)
    draft.effects.append(effects.MemberJoined(group.group_id, request.protocol_type, member))
    draft.effects.append(
        effects.SetDeadline(member.session_key, context.now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)
    )
    draft.events.append(
        member_event(
            GroupEventType.MEMBER_JOINED,
            group,
            context.now_ms,
            member,
            client_reason=client_reason(request.reason),
        )
    )
    cause = Cause(Reason.MEMBER_JOINED, member, request.reason)
    return park_join(draft, context, group, member_id, cause)


def rejoin(
    draft: Draft, context: Context, group: ClassicGroupView, request: JoinGroupRequest
) -> Outcome:
    """JoinGroup of somebody who is a member already.

    One that has nothing new to say is told the current generation: it may have missed the answer.
    """
    member = group.members[request.member_id]
    is_leader = member.member_id == group.leader
    has_changed = member.protocols != request.protocols
    if group.state is GroupState.STABLE and is_leader:
        # Leaders join again when something changed that no subscription shows, such as the number
        # of a topic's partitions.
        return _update_member(draft, context, group, request, Reason.LEADER_REJOINED)
    if has_changed or group.state is GroupState.PREPARING_REBALANCE:
        return _update_member(draft, context, group, request, Reason.MEMBER_CHANGED)
    members = member_list(in_map_order(group), group.protocol_name) if is_leader else ()
    draft.reply(
        context.request_id,
        current_generation(group, member.member_id, group.leader, members),
    )
    return draft.outcome()


def park_join(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    member_id: str,
    cause: Cause,
    gone: Set[str] = frozenset(),
) -> Outcome:
    """Keep the request until the join phase ends, and begin one if the group is in none.

    Kafka forgets a request that the same member has parked before; here it is told to try again.
    """
    replaced = group.joins.get(member_id)
    if replaced is not None:
        draft.reply(
            replaced.request_id,
            join_error(replaced.api_version, ErrorCode.REBALANCE_IN_PROGRESS, member_id),
        )
    parked = ParkedRequest(context.request_id, context.api_version)
    draft.effects.append(effects.JoinParked(group.group_id, member_id, parked))
    if rebalance.can_begin(group):
        rebalance.begin(draft, context, group, cause, gone)
    return draft.outcome(Settle(group.group_id))


def _update_member(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    request: JoinGroupRequest,
    reason: Reason,
) -> Outcome:
    known = group.members[request.member_id]
    member = JoinedMember(
        known.member_id,
        known.group_instance_id,
        known.client_id,
        known.client_host,
        request.session_timeout_ms,
        _rebalance_timeout_ms(context, request),
        request.protocols,
        known.session_key,
        known.id_hash,
    )
    draft.effects.append(effects.MemberUpdated(group.group_id, member))
    return park_join(draft, context, group, member.member_id, Cause(reason, member, request.reason))
