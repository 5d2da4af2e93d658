"""What becomes of an OffsetCommit, by error code: for the caller of commit, and for the member.

Follows OffsetCommitResponseHandler of the Java client's ConsumerCoordinator. A response has a code
per partition; the first error decides, but TOPIC_AUTHORIZATION_FAILED only if there is no other.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from drumbeat.client.errors import (
    CommitFailedError,
    KafkaError,
    RebalanceInProgressError,
    error_for,
)
from drumbeat.client.membership.values import MemberState
from drumbeat.protocol.errors import ErrorCode


class CommitEffect(Enum):
    """What the member does, whatever the caller of commit is told."""

    NONE = "none"
    FIND_COORDINATOR = "find_coordinator"
    REJOIN = "rejoin"
    RESET_GENERATION = "reset_generation"
    RESET_MEMBER_ID = "reset_member_id"


class CommitOutcome(NamedTuple):
    effect: CommitEffect
    error: KafkaError | None  # None: committed. One that is `retriable` is to be sent again


COMMITTED: Final = CommitOutcome(CommitEffect.NONE, None)

STALE_GENERATION: Final = (
    "the commit was sent in a generation that is over, since this consumer is joining the next "
    "one: call poll() to finish that, then commit again"
)
UNDER_WAY: Final = (
    "this consumer is in the middle of a rebalance: call poll() to finish that, then commit again"
)
NOT_A_MEMBER: Final = (
    "this consumer is not a member of the group (any more), so it has nothing to commit for. "
    "Usually it left because poll() was not called within max_poll_interval_ms: raise that, or "
    "have poll() return fewer records with max_poll_records. Call poll() to join again"
)

# What the member does about an error that the caller of commit gets as it is.
_EFFECTS: Final = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: CommitEffect.FIND_COORDINATOR,
    ErrorCode.NOT_COORDINATOR: CommitEffect.FIND_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT: CommitEffect.FIND_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION: CommitEffect.FIND_COORDINATOR,  # ours, not the broker's
    ErrorCode.REBALANCE_IN_PROGRESS: CommitEffect.REJOIN,
}

# Errors that say that the generation is over.
_RESETS: Final = {
    ErrorCode.ILLEGAL_GENERATION: CommitEffect.RESET_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID: CommitEffect.RESET_MEMBER_ID,
}


def commit_outcome(code: int, *, is_same_generation: bool, state: MemberState) -> CommitOutcome:
    """`is_same_generation`: the member is still in the generation that the commit was sent in."""
    if code == ErrorCode.NONE:
        return COMMITTED
    error = error_for(code)
    is_joining_next = not is_same_generation and state is MemberState.PREPARING_REBALANCE
    if error.code in _RESETS:
        if is_joining_next:
            return _stale()
        return CommitOutcome(_RESETS[error.code], CommitFailedError())
    if error.code is ErrorCode.FENCED_INSTANCE_ID and not is_same_generation:
        return _stale() if is_joining_next else _failed()
    return CommitOutcome(_EFFECTS.get(error.code, CommitEffect.NONE), error)


def _stale() -> CommitOutcome:
    return CommitOutcome(CommitEffect.NONE, RebalanceInProgressError(STALE_GENERATION))


def _failed() -> CommitOutcome:
    return CommitOutcome(CommitEffect.NONE, CommitFailedError())
