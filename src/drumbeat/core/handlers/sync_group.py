"""SyncGroup: the leader hands in the plan, everybody else waits for a share of it."""

from __future__ import annotations

from drumbeat.core import effects
from drumbeat.core.classic import rebalance
from drumbeat.core.classic.election import in_map_order
from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_records import generation_record
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.members import ParkedRequest
from drumbeat.core.classic.replies import sync_assignment, sync_error
from drumbeat.core.classic.validation import fencing_events, member_error
from drumbeat.core.draft import Draft
from drumbeat.core.events import Cause, Reason, rebalance_completed
from drumbeat.core.outcome import Context, Outcome, Reply, Settle
from drumbeat.core.record_codec import fits_in_batch
from drumbeat.core.session import View
from drumbeat.protocol.apis.sync_group import SyncGroupRequest
from drumbeat.protocol.errors import ErrorCode

_NAMES_PROTOCOL = 5  # from this version on a member has to say what it speaks (KIP-559)


def sync_group(view: View, context: Context, request: SyncGroupRequest) -> Outcome:
    group = view.live_groups.get(request.group_id)
    error_code = _error(group, context, request)
    if error_code is not None:
        return _refuse(context, request, error_code)
    assert group is not None
    if group.state is GroupState.STABLE:
        return _fetch_assignment(context, group, request.member_id)
    if request.member_id == group.leader:
        return _store_plan(context, group, request)
    return _park(context, group, request.member_id)


def _error(
    group: ClassicGroupView | None, context: Context, request: SyncGroupRequest
) -> ErrorCode | None:
    if context.api_version >= _NAMES_PROTOCOL and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    identity_error = member_error(group, request.member_id, request.group_instance_id)
    return identity_error or _generation_error(group, request)


def _generation_error(group: ClassicGroupView, request: SyncGroupRequest) -> ErrorCode | None:
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type not in (None, group.protocol_type):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return None


def _refuse(context: Context, request: SyncGroupRequest, error_code: ErrorCode) -> Outcome:
    return Outcome(
        replies=(Reply(context.request_id, sync_error(error_code)),),
        events=fencing_events(
            context, error_code, request.group_id, request.member_id, request.group_instance_id
        ),
    )


def _fetch_assignment(context: Context, group: ClassicGroupView, member_id: str) -> Outcome:
    """Stable: the plan is there. Unlike a parked SyncGroup this does not restart the session."""
    draft = Draft()
    draft.effects.append(effects.SyncReceived(group.group_id, member_id))
    _clear_deadline_of_last(draft, group, member_id)
    assignment = group.assignments.get(member_id, b"")
    draft.reply(context.request_id, sync_assignment(group, assignment))
    return draft.outcome()


def _park(context: Context, group: ClassicGroupView, member_id: str) -> Outcome:
    """As with JoinGroup, a request that the member parked before is told to try again."""
    draft = Draft()
    replaced = group.syncs.get(member_id)
    if replaced is not None:
        draft.reply(replaced.request_id, sync_error(ErrorCode.REBALANCE_IN_PROGRESS))
    parked = ParkedRequest(context.request_id, context.api_version)
    draft.effects.append(effects.SyncParked(group.group_id, member_id, parked))
    _clear_deadline_of_last(draft, group, member_id)
    return draft.outcome()


def _store_plan(context: Context, group: ClassicGroupView, request: SyncGroupRequest) -> Outcome:
    """The leader's plan: shares of strangers are dropped, members left out get empty bytes."""
    plan = dict(request.assignments)
    assignments = {member_id: plan.get(member_id, b"") for member_id in group.members}
    record = generation_record(group, group.leader, in_map_order(group), assignments)
    if not fits_in_batch((record,), context.config.offsets_batch_bytes_max):
        return _give_up(context, group, request.member_id)
    draft = Draft()
    draft.records.append(record)
    waiting = {**group.syncs, request.member_id: ParkedRequest(context.request_id, 0)}
    for member_id, parked in waiting.items():
        draft.reply(parked.request_id, sync_assignment(group, assignments[member_id]))
        draft.effects.append(rebalance.session_restarted(context, group.members[member_id]))
    draft.effects.append(effects.SyncReceived(group.group_id, request.member_id))
    _clear_deadline_of_last(draft, group, request.member_id)
    draft.effects.append(effects.SyncPhaseCompleted(group.group_id, context.now_ms, assignments))
    draft.events.append(rebalance_completed(group, context.now_ms))
    return draft.outcome()


def _give_up(context: Context, group: ClassicGroupView, leader: str) -> Outcome:
    """The plan does not fit a record: nobody gets a share of it, and the group starts over."""
    draft = Draft()
    draft.reply(context.request_id, sync_error(ErrorCode.UNKNOWN_SERVER_ERROR))
    draft.effects.append(rebalance.session_restarted(context, group.members[leader]))
    rebalance.answer_syncs(draft, context, group, ErrorCode.UNKNOWN_SERVER_ERROR)
    cause = Cause(Reason.ASSIGNMENT_TOO_LARGE, group.members[leader])
    rebalance.begin(draft, context, group, cause, group.syncs.keys())
    return draft.outcome(Settle(group.group_id))


def _clear_deadline_of_last(draft: Draft, group: ClassicGroupView, member_id: str) -> None:
    """The SYNC deadline is over when this is the last member that owed a SyncGroup."""
    if group.pending_sync == {member_id}:
        draft.effects.append(effects.ClearDeadline(rebalance.sync_key(group.group_id)))
