"""What a passed deadline means. The shell calls `expire` once per key, when its time has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from drumbeat.core.classic import rebalance
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.removal import drop_pending_member, expire_members
from drumbeat.core.deadline_keys import DeadlineKey, DeadlineKind
from drumbeat.core.draft import Draft
from drumbeat.core.effects import ClearDeadline
from drumbeat.core.events import Cause, Reason
from drumbeat.core.outcome import NOTHING, Context, Outcome, Settle
from drumbeat.core.session import View

_IN_GENERATION = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


def expire(view: View, context: Context, key: DeadlineKey) -> Outcome:
    """The deadline is gone afterwards, unless the outcome sets it anew."""
    group = view.live_groups.get(key.group_id)
    outcome = NOTHING if group is None else _EXPIRIES[key.kind](context, group, key)
    return outcome.with_effects((ClearDeadline(key), *outcome.effects))


def _expire_session(context: Context, group: ClassicGroupView, key: DeadlineKey) -> Outcome:
    draft = Draft()
    member = group.members.get(key.member_id)
    if key.member_id in group.pending_members:
        drop_pending_member(draft, group, key.member_id)
        return draft.outcome(Settle(group.group_id, is_expiry=True))
    if member is None or _is_waiting_for_us(group, key.member_id):
        return NOTHING
    expire_members(draft, context, group, [member], Reason.SESSION_TIMEOUT)
    if group.state in _IN_GENERATION:
        cause = Cause(Reason.SESSION_TIMEOUT, member)
        rebalance.begin(draft, context, group, cause, {key.member_id})
    return draft.outcome(Settle(group.group_id, is_expiry=True))


def _is_waiting_for_us(group: ClassicGroupView, member_id: str) -> bool:
    """A member with a parked request need not be heard of; its answer restarts the session.

    Not so a new one: its client may have given up long ago, and nobody else would tell.
    """
    is_parked = member_id in group.joins or member_id in group.syncs
    return is_parked and member_id not in group.new_members


def _expire_join_phase(context: Context, group: ClassicGroupView, _key: DeadlineKey) -> Outcome:
    return rebalance.expire_join_phase(context, group)


def _expire_sync_phase(context: Context, group: ClassicGroupView, _key: DeadlineKey) -> Outcome:
    """Whoever has not sent SyncGroup by now is out, however well its heart beats (KAFKA-12890)."""
    if group.state not in _IN_GENERATION or not group.pending_sync:
        return NOTHING
    draft = Draft()
    members = [m for m in group.members.values() if m.member_id in group.pending_sync]
    expire_members(draft, context, group, members, Reason.NOT_SYNCED)
    rebalance.begin(draft, context, group, Cause(Reason.NOT_SYNCED, members[0]), group.pending_sync)
    return draft.outcome(Settle(group.group_id))


_EXPIRIES: Mapping[DeadlineKind, Callable[[Context, ClassicGroupView, DeadlineKey], Outcome]] = {
    DeadlineKind.SESSION: _expire_session,
    DeadlineKind.JOIN: _expire_join_phase,
    DeadlineKind.SYNC: _expire_sync_phase,
}
