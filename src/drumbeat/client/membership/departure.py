"""Leaving the group: the listener's last callback, LeaveGroup, and a member as new."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from drumbeat.client.errors import KafkaError, error_for
from drumbeat.client.membership import reasons
from drumbeat.client.membership.actions import CallbackKind, Left
from drumbeat.client.membership.member import in_order
from drumbeat.client.membership.outbox import OnResponse
from drumbeat.client.membership.parts import Parts
from drumbeat.client.membership.values import (
    NO_MEMBER_ID,
    LeaveOperation,
    MembershipConfig,
    MemberState,
)
from drumbeat.protocol.apis.leave_group import LeaveGroupResponse
from drumbeat.protocol.errors import ErrorCode


class _Stage(Enum):
    NOT_LEAVING = auto()
    BEGIN = auto()  # a callback of the rebalance may have to end first
    GIVING_UP = auto()
    GIVEN_UP = auto()
    LEAVING = auto()


class Departure:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._member = parts.member
        self._outbox = parts.outbox
        self._stage = _Stage.NOT_LEAVING
        self._reason = ""
        self._operation = LeaveOperation.DEFAULT
        self._error: Exception | None = None

    @property
    def is_under_way(self) -> bool:
        return self._stage is not _Stage.NOT_LEAVING

    def begin(self, reason: str, operation: LeaveOperation) -> None:
        if not self.is_under_way:
            self._stage = _Stage.BEGIN
            self._reason = reason
            self._operation = operation
            self._error = None

    def advance(self) -> None:
        if self._stage is _Stage.BEGIN and not self._outbox.listener_is_running:
            self._give_up()
        if self._stage is _Stage.GIVEN_UP:
            self._stage = _Stage.LEAVING
            self._parts.topics.unsubscribe()
            if not self.drop_out(self._reason, self._operation, self._on_left):
                self._end(None)

    # -- the last callback -----------------------------------------------------------------------

    def _give_up(self) -> None:
        member = self._member
        if not member.assignment:
            self._stage = _Stage.GIVEN_UP
            return
        is_lost = member.generation.is_lost or member.state.is_rebalancing
        kind = CallbackKind.LOST if is_lost else CallbackKind.REVOKED
        self._stage = _Stage.GIVING_UP
        self._outbox.call_back(kind, in_order(member.assignment), self._on_given_up)

    def _on_given_up(self, error: Exception | None, _now_ms: int) -> None:
        self._member.assign(())
        self._error = error
        self._stage = _Stage.GIVEN_UP

    # -- LeaveGroup ------------------------------------------------------------------------------

    def drop_out(self, reason: str, operation: LeaveOperation, then: OnResponse) -> bool:
        """Be no longer a member. Whether LeaveGroup was sent; if not, the session will run out."""
        member, coordinator = self._member, self._parts.link.coordinator
        is_member = (
            coordinator is not None
            and member.state is not MemberState.UNJOINED
            and member.generation.member_id != NO_MEMBER_ID
        )
        is_sent = is_member and _leaves(operation, self._parts.config)
        if is_sent:
            request = self._parts.requests.leave(member.generation, reason)
            self._outbox.send(request, coordinator, then)
        member.reset(reasons.LEFT_GROUP)
        return is_sent

    def _on_left(self, response: Any, _now_ms: int) -> None:
        self._end(_refusal(response))

    def _end(self, refusal: KafkaError | None) -> None:
        member = self._member
        self._stage = _Stage.NOT_LEAVING
        member.is_leader = False
        member.fenced = None
        member.rejoin_reason = ""
        error = self._error or member.take_failure()
        self._outbox.add(Left(error=error, refusal=refusal))


def _leaves(operation: LeaveOperation, config: MembershipConfig) -> bool:
    if operation is LeaveOperation.DEFAULT:
        return not config.is_static
    return operation is LeaveOperation.LEAVE_GROUP


def _refusal(response: LeaveGroupResponse | KafkaError) -> KafkaError | None:
    if isinstance(response, KafkaError):
        return response
    codes = [response.error_code, *(member.error_code for member in response.members)]
    refused = next((code for code in codes if code != ErrorCode.NONE), None)
    return None if refused is None else error_for(refused)
