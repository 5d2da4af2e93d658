"""After SyncGroup (Java's onJoinComplete): take the assignment, tell the listener."""

from __future__ import annotations

from enum import Enum, auto

from drumbeat.client.assignors.port import RebalanceProtocol
from drumbeat.client.errors import DrumbeatError
from drumbeat.client.membership import reasons
from drumbeat.client.membership.actions import CallbackKind
from drumbeat.client.membership.leading import assignor_named, decoded
from drumbeat.client.membership.member import in_order
from drumbeat.client.membership.parts import Parts
from drumbeat.client.membership.values import NO_GENERATION, MemberState
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.errors import ProtocolError


class Verdict(Enum):
    WAIT = auto()
    DONE = auto()
    AGAIN = auto()  # the assignment is of no use: join again


class _Stage(Enum):
    BEGIN = auto()
    REVOKING = auto()
    TAKE = auto()
    ASSIGNING = auto()
    DONE = auto()


class JoinComplete:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._member = parts.member
        self._outbox = parts.outbox
        self._stage = _Stage.BEGIN
        self._blob = b""
        self._assigned: frozenset[TopicPartition] = frozenset()
        self._generation = NO_GENERATION

    def begin(self, blob: bytes) -> None:
        self._blob = blob
        self._generation = self._member.generation
        self._stage = _Stage.BEGIN

    def advance(self) -> Verdict:
        if self._stage is _Stage.BEGIN and not self._begin():
            return Verdict.AGAIN
        if self._stage is _Stage.TAKE and not self._take():
            return Verdict.AGAIN
        return Verdict.DONE if self._stage is _Stage.DONE else Verdict.WAIT

    def _begin(self) -> bool:
        """Whether the assignment can be taken."""
        member, topics = self._member, self._parts.topics
        if self._is_lost() or not self._read():
            return False
        member.joined_generation = self._generation
        if not member.is_leader:
            topics.follow()
        if not topics.accept(self._assigned):
            member.request_rejoin(reasons.ASSIGNMENT_NOT_SUBSCRIBED)
            return False
        self._revoke()
        return True

    def _read(self) -> bool:
        try:
            self._assigned = decoded(self._blob)
        except ProtocolError as error:
            self._member.fail(DrumbeatError(f"SyncGroup brought no readable assignment: {error}"))
            self._member.request_rejoin(reasons.rebalance_failed(error))
            return False
        return True

    def _is_lost(self) -> bool:
        """Whether a heartbeat or a commit has found out that the group went on without us."""
        member = self._member
        if member.state is MemberState.STABLE and member.generation == self._generation:
            return False
        member.reset(reasons.GENERATION_LOST_MEANWHILE, keep_member_id=True)
        return True

    def _revoke(self) -> None:
        """Only a cooperative member still owns anything here."""
        revoked = self._member.assignment - self._assigned
        if self._parts.protocol is RebalanceProtocol.EAGER or not revoked:
            self._stage = _Stage.TAKE
            return
        self._stage = _Stage.REVOKING
        self._member.request_rejoin(reasons.GIVING_UP_PARTITIONS)
        self._outbox.call_back(CallbackKind.REVOKED, in_order(revoked), self._on_revoked)

    def _on_revoked(self, error: Exception | None, _now_ms: int) -> None:
        if error is not None:
            self._member.fail(error)
        self._member.assign(self._member.assignment & self._assigned)
        self._stage = _Stage.TAKE

    def _take(self) -> bool:
        if self._is_lost():
            return False
        added = in_order(self._assigned - self._member.assignment)
        self._tell_assignor()
        self._member.assign(self._assigned)
        self._stage = _Stage.ASSIGNING
        self._outbox.call_back(CallbackKind.ASSIGNED, added, self._on_assigned)
        return True

    def _tell_assignor(self) -> None:
        generation_id, _, protocol_name = self._generation
        assignor = assignor_named(self._parts.assignors, protocol_name)
        try:
            assignor.on_assignment(in_order(self._assigned), generation_id)
        except Exception as error:  # noqa: BLE001 - assignors are the application's code
            self._member.fail(error)

    def _on_assigned(self, error: Exception | None, _now_ms: int) -> None:
        if error is not None:
            self._member.fail(error)
        self._stage = _Stage.DONE
