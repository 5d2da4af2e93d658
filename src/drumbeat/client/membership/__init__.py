"""Membership of a classic consumer group, without I/O: what happened in, what to do out.

Every input returns a list of actions, to be carried out in order. Whatever an action leads to is
reported back with the id that it carries; an answer to something given up meanwhile is ignored, so
the caller need not cancel anything. Time is an argument everywhere, dice are drawn by the caller.

    membership = Membership(MembershipConfig(group_id="g"), assignors, dice=entropy.draw)

Inputs                                            when
    poll(now_ms)                                  the application is inside poll(). The only input
                                                  that starts callbacks, joins or raises: nothing
                                                  happens behind the application's back. Call it
                                                  again after every report while inside poll(),
                                                  and at `next_poll_ms`
    tick(now_ms)                                  `next_deadline_ms` has come, inside poll() or
                                                  not: heartbeats, the poll-interval watchdog,
                                                  looking for a lost coordinator
    on_response(request_id, response, now_ms)     a SendRequest was answered, or failed: then
                                                  `response` is the KafkaError (NodeDisconnected,
                                                  RequestTimedOut, UnsupportedVersionError ...)
    callback_done(callback_id, error, now_ms)     a Callback has returned (None) or raised
    on_refresh(refresh_id, metadata, now_ms)      a RefreshMetadata is done, or failed (KafkaError)
    metadata_changed(metadata, now_ms)            any other newer metadata has come
    subscription_changed(topics, now_ms, matches) subscribe(): a list of topics, or for a pattern
                                                  `matches` (topic -> bool) and no topics
    request_rejoin(reason)                        enforceRebalance()
    coordinator_lost(cause, now_ms)               its connection broke, though nothing of ours was
                                                  under way on it
    leave(reason, now_ms, operation)              close() or unsubscribe(): the last callback, then
                                                  LeaveGroup; ends with the action Left
    on_commit(code, sent, now_ms)                 a partition of an OffsetCommit that was sent as
                                                  generation `sent` was answered with `code`:
                                                  (CommitOutcome, actions)

`metadata` is what the assignors take (`assignors.port.partition_racks`): the topics that the caller
knows to exist. For a pattern it holds all topics of the cluster that may match (without internal
ones, unless these are wanted).

Actions                                           to do
    SendRequest(id, api, request, destination,    send; `destination` is the Coordinator, or None
                timeout_ms, versions)             for the least loaded broker; timeout_ms None is
                                                  the usual one; `versions` bounds the version
    Connect(coordinator)                          the coordinator was found: connect to it
    Disconnect(coordinator)                       it is no longer ours: what is still under way to
                                                  it (commits, say) should fail
    Callback(id, kind, partitions)                run it, report with callback_done:
        COMMIT_BEFORE_JOIN                        auto-commit of these partitions, only asked for
                                                  with enable_auto_commit; a retriable error is
                                                  tried again until the rebalance timeout
        REVOKED, LOST, ASSIGNED                   the listener's onPartitionsRevoked/Lost/Assigned.
                                                  `partitions` may be empty, as in Java; while
                                                  REVOKED and LOST run, they are still assigned
    MarkPendingRevocation(partitions)             fetch and hand out nothing more of these (they
                                                  are about to be committed and revoked)
    AssignmentChanged(partitions, added, removed) the assignment is `partitions` from now on
    RefreshMetadata(id, topics)                   fetch metadata anew, of `topics` (None: all); the
                                                  answer must not be older than this action. Keep
                                                  `topics` fresh from now on (see watched_topics)
    Raise(error)                                  raise from poll(); the next poll() tries again.
                                                  Never while a callback of the listener runs. A
                                                  fenced member says so each time, and stays out
    Left(error)                                   leave() is done (error: LeaveGroup was refused)

Views
    state, generation, coordinator, assignment, subscription, watched_topics, protocol, is_leader,
    is_leaving
    joined_generation                             the last that was joined to its end
    is_active                                     joined, and no rejoin is needed or under way
    commit_generation()                           what OffsetCommit is to be sent as; raises
                                                  RebalanceInProgressError or CommitFailedError
    next_deadline_ms, next_poll_ms                None: nothing is due by time alone
    rebalance_stats, last_heartbeat_ms            for metrics
"""

from drumbeat.client.membership.actions import (
    Action,
    AssignmentChanged,
    Callback,
    CallbackKind,
    Connect,
    Disconnect,
    Left,
    MarkPendingRevocation,
    Raise,
    RefreshMetadata,
    SendRequest,
)
from drumbeat.client.membership.commits import CommitEffect, CommitOutcome, commit_outcome
from drumbeat.client.membership.machine import Membership
from drumbeat.client.membership.reasons import CLOSED, UNSUBSCRIBED
from drumbeat.client.membership.values import (
    NO_GENERATION,
    Coordinator,
    Generation,
    LeaveOperation,
    MembershipConfig,
    MemberState,
)

__all__ = [
    "CLOSED",
    "NO_GENERATION",
    "UNSUBSCRIBED",
    "Action",
    "AssignmentChanged",
    "Callback",
    "CallbackKind",
    "CommitEffect",
    "CommitOutcome",
    "Connect",
    "Coordinator",
    "Disconnect",
    "Generation",
    "LeaveOperation",
    "Left",
    "MarkPendingRevocation",
    "MemberState",
    "Membership",
    "MembershipConfig",
    "Raise",
    "RefreshMetadata",
    "SendRequest",
    "commit_outcome",
]
