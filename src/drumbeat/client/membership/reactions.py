"""How a member reacts to each error code, by request: the table of the classic protocol.

Follows the handlers of the Java client's AbstractCoordinator. What a table does not name is
unexpected there, and raised to the application. Three rows differ on purpose:

SyncGroup, COORDINATOR_LOAD_IN_PROGRESS: to Java an unexpected error. The coordinator of a group
that moves answers just this for a moment, and joining again in a moment is all there is to do.
Heartbeat, anything unexpected: Java tries again and says nothing until the session has run out; we
try again too, but tell the application at its next poll().
FENCED_INSTANCE_ID: Java raises, but joins again when polled once more, and so would throw out the
instance that took its place. Ours stays out until it is closed or unsubscribed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from drumbeat.client.errors import KafkaError, error_for
from drumbeat.protocol.errors import ErrorCode


class Reaction(Enum):
    SUCCEED = "succeed"
    RETRY = "retry"  # after a backoff
    REDISCOVER = "rediscover"  # find the coordinator, then retry
    REJOIN = "rejoin"  # at once
    RESET_GENERATION = "reset_generation"  # keep the member id, rejoin at once
    RESET_MEMBER_ID = "reset_member_id"  # join as a new member, at once
    TAKE_MEMBER_ID = "take_member_id"  # join again with the id in the answer, at once
    FENCED = "fenced"  # another instance has the place: raise, and do not fight for it
    RAISE = "raise"

    @property
    def is_at_once(self) -> bool:
        return self in _AT_ONCE


_AT_ONCE = frozenset(
    {
        Reaction.REJOIN,
        Reaction.RESET_GENERATION,
        Reaction.RESET_MEMBER_ID,
        Reaction.TAKE_MEMBER_ID,
    }
)

Reactions = Mapping[ErrorCode, Reaction]

_COORDINATOR: Final[Reactions] = {
    ErrorCode.NONE: Reaction.SUCCEED,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    ErrorCode.NOT_COORDINATOR: Reaction.REDISCOVER,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER_ID,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.FENCED_INSTANCE_ID: Reaction.FENCED,
}

JOIN_GROUP: Final[Reactions] = {
    **_COORDINATOR,
    ErrorCode.MEMBER_ID_REQUIRED: Reaction.TAKE_MEMBER_ID,
}

# The member id outlives its generation: joining with a new one would leave the old one in the
# group until the rebalance timeout.
SYNC_GROUP: Final[Reactions] = {
    **_COORDINATOR,
    ErrorCode.ILLEGAL_GENERATION: Reaction.RESET_GENERATION,
}

HEARTBEAT: Final[Reactions] = SYNC_GROUP


def reaction_to(table: Reactions, response: Any) -> tuple[Reaction, KafkaError | None]:
    """How to react to a response with an error code, or to what went wrong instead."""
    if isinstance(response, KafkaError):
        return (Reaction.REDISCOVER if response.retriable else Reaction.RAISE), response
    code = response.error_code
    if code == ErrorCode.NONE:
        return Reaction.SUCCEED, None
    error = error_for(code)
    return table.get(error.code, Reaction.RAISE), error
