"""How a rebalance begins and how its join phase ends.

A rebalance has two phases. In the join phase (PreparingRebalance) every member has to send
JoinGroup; in the sync phase (CompletingRebalance) the leader sends the plan. `begin` opens the
first, `settle` looks whether it is over, `expire_join_phase` ends it when its time is up.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from drumbeat.core import effects
from drumbeat.core.classic.election import first_in_map_order, in_map_order, select_protocol
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_records import empty_group_record
from drumbeat.core.classic.group_state import VALID_PREVIOUS_STATES, GroupState
from drumbeat.core.classic.members import JoinedMember
from drumbeat.core.classic.removal import expire_members
from drumbeat.core.classic.replies import member_list, sync_error
from drumbeat.core.classic.subscription import topics_of
from drumbeat.core.deadline_keys import DeadlineKey, DeadlineKind
from drumbeat.core.draft import Draft
from drumbeat.core.events import (
    Cause,
    Reason,
    group_emptied,
    rebalance_begun,
    rebalance_failed,
)
from drumbeat.core.outcome import NOTHING, Context, Outcome, Settle
from drumbeat.core.session import View
from drumbeat.protocol.apis.join_group import JoinGroupResponse
from drumbeat.protocol.errors import ErrorCode

_NOBODY: frozenset[str] = frozenset()

_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1

# Clients may state a rebalance timeout of 0; Kafka's timer then spins until their sessions end.
_JOIN_PHASE_REPEAT_MS_MIN = 1_000


def join_key(group_id: str) -> DeadlineKey:
    return DeadlineKey(DeadlineKind.JOIN, group_id)


def sync_key(group_id: str) -> DeadlineKey:
    return DeadlineKey(DeadlineKind.SYNC, group_id)


def can_begin(group: ClassicGroupView) -> bool:
    return group.state in VALID_PREVIOUS_STATES[GroupState.PREPARING_REBALANCE]


def begin(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    cause: Cause,
    gone: Set[str] = _NOBODY,
) -> None:
    """-> PreparingRebalance. `gone` are members whose removal is in the same draft."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        answer_syncs(draft, context, group, ErrorCode.REBALANCE_IN_PROGRESS, gone)
        draft.events.append(rebalance_failed(group, context.now_ms, cause.reason))
    draft.effects.append(effects.RebalanceBegun(group.group_id, context.now_ms))
    draft.effects.append(effects.ClearDeadline(sync_key(group.group_id)))
    draft.events.append(rebalance_begun(group, context.now_ms, cause))


def answer_syncs(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    error_code: ErrorCode,
    gone: Set[str] = _NOBODY,
) -> None:
    """Send every parked SyncGroup away. Its wait has kept no session alive, so that starts anew."""
    response = sync_error(error_code)
    for member_id, parked in group.syncs.items():
        if member_id not in gone:
            draft.reply(parked.request_id, response)
            draft.effects.append(session_restarted(context, group.members[member_id]))


def session_restarted(context: Context, member: JoinedMember) -> effects.SetDeadline:
    return effects.SetDeadline(member.session_key, context.now_ms + member.session_timeout_ms)


def settle(view: View, context: Context, due: Settle) -> Outcome:
    """End the join phase if everybody has joined; give it a time limit if it has none yet."""
    group = view.live_groups.get(due.group_id)
    if group is None or group.state is not GroupState.PREPARING_REBALANCE:
        return NOTHING
    if group.is_initial and not group.is_join_armed:
        return _arm_initial_delay(context, group)
    if group.has_all_members_joined and (due.is_expiry or not group.is_initial):
        return _complete_join_phase(context, group)
    if not group.is_join_armed:
        return _arm(context, group, _rebalance_timeout_ms(group.members.values()))
    return NOTHING


def expire_join_phase(context: Context, group: ClassicGroupView) -> Outcome:
    """The JOIN deadline has passed: go on without those who are missing, or wait a little more.

    The initial delay is extended while members keep arriving, up to the rebalance timeout.
    """
    if group.state is not GroupState.PREPARING_REBALANCE:
        return NOTHING
    if group.is_initial and group.new_member_added and group.remaining_ms:
        delay_ms = min(context.config.group_initial_rebalance_delay_ms, group.remaining_ms)
        return _arm(context, group, delay_ms, max(group.remaining_ms - group.delay_ms, 0))
    return _complete_join_phase(context, group)


def _arm_initial_delay(context: Context, group: ClassicGroupView) -> Outcome:
    delay_ms = context.config.group_initial_rebalance_delay_ms
    timeout_ms = _rebalance_timeout_ms(group.members.values())
    return _arm(context, group, delay_ms, max(timeout_ms - delay_ms, 0))


def _arm(
    context: Context, group: ClassicGroupView, delay_ms: int, remaining_ms: int = 0
) -> Outcome:
    return Outcome(
        effects=(
            effects.JoinPhaseArmed(group.group_id, delay_ms, remaining_ms),
            effects.SetDeadline(join_key(group.group_id), context.now_ms + delay_ms),
        )
    )


def _complete_join_phase(context: Context, group: ClassicGroupView) -> Outcome:
    """Dynamic members that did not join are out; static ones stay until their session ends."""
    draft = Draft()
    draft.effects.append(effects.ClearDeadline(join_key(group.group_id)))
    missing = [
        member
        for member_id, member in group.members.items()
        if member_id not in group.joins and member.group_instance_id is None
    ]
    leader = expire_members(draft, context, group, missing, Reason.NOT_REJOINED)
    if len(missing) == len(group.members):
        return _become_empty(draft, context, group)
    gone = {member.member_id for member in missing}
    members = in_map_order(group, [m for m in group.members.values() if m.member_id not in gone])
    leader = _joined_leader(group, leader)
    if leader is None:
        return _wait_for_static_members(draft, context, group, members)
    return _begin_sync_phase(draft, context, group, members, leader)


def _joined_leader(group: ClassicGroupView, leader: str | None) -> str | None:
    """The leader if it has joined, else the first member that has, if any."""
    if leader in group.joins:
        return leader
    joined = first_in_map_order(group, (group.members[member_id] for member_id in group.joins))
    return None if joined is None else joined.member_id


def _next_generation(group: ClassicGroupView) -> int:
    """As Java's int counts: after the largest comes the smallest."""
    return group.generation_id + 1 if group.generation_id < _INT32_MAX else _INT32_MIN


def _become_empty(draft: Draft, context: Context, group: ClassicGroupView) -> Outcome:
    generation_id = _next_generation(group)
    now_ms = context.now_ms
    draft.records.append(
        empty_group_record(group.group_id, group.protocol_type, generation_id, now_ms)
    )
    draft.effects.append(effects.GroupEmptied(group.group_id, now_ms, generation_id))
    draft.events.append(group_emptied(group, now_ms, generation_id))
    return draft.outcome()


def _wait_for_static_members(
    draft: Draft, context: Context, group: ClassicGroupView, members: list[JoinedMember]
) -> Outcome:
    """Nobody joined, but static members are still in session: the phase goes on."""
    draft.events.append(rebalance_failed(group, context.now_ms, Reason.NOBODY_REJOINED))
    delay_ms = max(_rebalance_timeout_ms(members), _JOIN_PHASE_REPEAT_MS_MIN)
    draft.effects.extend(_arm(context, group, delay_ms).effects)
    return draft.outcome()


def _begin_sync_phase(
    draft: Draft,
    context: Context,
    group: ClassicGroupView,
    members: list[JoinedMember],
    leader: str,
) -> Outcome:
    """-> CompletingRebalance, in a new generation. Every member is told, and owes a SyncGroup."""
    generation_id = _next_generation(group)
    protocol_name = select_protocol(members)
    for member in members:
        parked = group.joins.get(member.member_id)
        if parked is not None:
            is_leader = member.member_id == leader
            response = JoinGroupResponse(
                generation_id=generation_id,
                protocol_type=group.protocol_type,
                protocol_name=protocol_name,
                leader=leader,
                member_id=member.member_id,
                members=member_list(members, protocol_name) if is_leader else (),
            )
            draft.reply(parked.request_id, response)
        draft.effects.append(session_restarted(context, member))
    topics = topics_of(group.protocol_type, protocol_name, members)
    timeout_ms = _rebalance_timeout_ms(members)
    draft.effects.append(
        effects.JoinPhaseCompleted(
            group.group_id, context.now_ms, generation_id, protocol_name, leader, topics
        )
    )
    draft.effects.append(effects.SetDeadline(sync_key(group.group_id), context.now_ms + timeout_ms))
    return draft.outcome()


def _rebalance_timeout_ms(members: Iterable[JoinedMember]) -> int:
    return max(0, max((member.rebalance_timeout_ms for member in members), default=0))
