"""JoinGroup and SyncGroup, and the leader's work between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drumbeat.client.assignors.port import MemberSubscription
from drumbeat.client.errors import (
    IllegalGenerationError,
    KafkaError,
    NodeDisconnected,
    error_for,
)
from drumbeat.client.membership import leading, reasons
from drumbeat.client.membership.parts import Parts
from drumbeat.client.membership.reactions import JOIN_GROUP, SYNC_GROUP, Reaction, reaction_to
from drumbeat.client.membership.values import NO_GENERATION_ID, Generation, MemberState
from drumbeat.protocol.apis.join_group import JoinGroupResponse
from drumbeat.protocol.apis.sync_group import SyncGroupRequestAssignment, SyncGroupResponse
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE
from drumbeat.protocol.errors import ErrorCode

Members = dict[str, MemberSubscription]

# The assignment, still encoded; now_ms.
OnSynced = Callable[[bytes, int], None]
# What failed, and what to do about it; now_ms.
OnFailed = Callable[[Exception, Reaction, int], None]


class Joining:
    """One attempt to get from the old generation into the next; it ends in one of two calls."""

    def __init__(self, parts: Parts, on_synced: OnSynced, on_failed: OnFailed) -> None:
        self._parts = parts
        self._member = parts.member
        self._topics = parts.topics
        self._outbox = parts.outbox
        self._on_synced = on_synced
        self._on_failed = on_failed
        self._waiting_for = 0  # the request, or the leader's refresh of metadata

    def abandon(self) -> None:
        self._outbox.forget_request(self._waiting_for)
        self._outbox.forget_refresh(self._waiting_for)

    # -- JoinGroup -------------------------------------------------------------------------------

    def start(self, now_ms: int) -> None:
        member = self._member
        member.state = MemberState.PREPARING_REBALANCE
        member.is_leader = False
        member.stats.begin(now_ms)
        self._topics.stop_leading()
        self._guarded(self._send_join, now_ms)

    def _send_join(self) -> None:
        member = self._member
        request = self._parts.requests.join(
            member.generation, self._topics.join(), member.assignment, member.rejoin_reason
        )
        coordinator = self._parts.link.coordinator
        self._waiting_for = self._outbox.send(request, coordinator, self._on_join)

    def _on_join(self, response: Any, now_ms: int) -> None:
        reaction, error = reaction_to(JOIN_GROUP, response)
        self._note_answer(reaction)
        if error is None and response.protocol_type not in (None, PROTOCOL_TYPE):
            reaction, error = _inconsistent()
        if error is None:
            self._joined(response, now_ms)
            return
        if reaction is Reaction.TAKE_MEMBER_ID:
            self._member.generation = Generation(NO_GENERATION_ID, response.member_id, None)
            self._member.request_rejoin(reasons.member_id_given(response.member_id))
        self._failed("JoinGroup", reaction, error, now_ms)

    def _joined(self, response: JoinGroupResponse, now_ms: int) -> None:
        member = self._member
        if member.state is not MemberState.PREPARING_REBALANCE:
            # A commit has found out meanwhile that this member is out of the group.
            self._failed("JoinGroup", Reaction.RETRY, IllegalGenerationError(), now_ms)
            return
        member.state = MemberState.COMPLETING_REBALANCE
        member.generation = Generation(
            response.generation_id, response.member_id, response.protocol_name
        )
        self._parts.clock.start(now_ms)
        if response.leader == response.member_id:
            self._guarded(lambda: self._lead(response, now_ms), now_ms)
        else:
            self._sync((), now_ms)

    # -- the leader ------------------------------------------------------------------------------

    def _guarded(self, work: Callable[[], None], now_ms: int) -> None:
        """Assignors are the application's code, and members send what they like."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the application must hear it
            self._failed("JoinGroup", Reaction.RAISE, error, now_ms)

    def _lead(self, response: JoinGroupResponse, now_ms: int) -> None:
        members = leading.subscriptions(response.members)
        topics = leading.topics_of(members)
        if self._topics.lead(topics):
            self._assign(response, members, now_ms)
            return

        def on_refresh(error: KafkaError | None, now_ms: int) -> None:
            self._on_refresh(response, members, error, now_ms)

        self._waiting_for = self._outbox.refresh(self._topics.watched, on_refresh)

    def _on_refresh(
        self, response: JoinGroupResponse, members: Members, error: KafkaError | None, now_ms: int
    ) -> None:
        if error is not None:
            reaction = Reaction.RETRY if error.retriable else Reaction.RAISE
            self._failed("Metadata", reaction, error, now_ms)
        else:
            self._guarded(lambda: self._assign(response, members, now_ms), now_ms)

    def _assign(self, response: JoinGroupResponse, members: Members, now_ms: int) -> None:
        topics = self._topics
        self._member.is_leader = True
        if response.skip_assignment:  # a static leader that came back (KIP-814)
            topics.assigned(())
            self._sync((), now_ms)
            return
        assignor = leading.assignor_named(self._parts.assignors, response.protocol_name)
        plan = leading.plan(assignor, self._parts.protocol, topics.metadata, members)
        topics.assigned({each.topic for partitions in plan.values() for each in partitions})
        self._sync(leading.encoded(plan), now_ms)

    # -- SyncGroup -------------------------------------------------------------------------------

    def _sync(self, assignments: tuple[SyncGroupRequestAssignment, ...], now_ms: int) -> None:
        coordinator = self._parts.link.coordinator
        if coordinator is None:
            lost = NodeDisconnected("the coordinator was lost before SyncGroup")
            self._failed("SyncGroup", Reaction.REDISCOVER, lost, now_ms)
            return
        generation = self._member.generation
        if self._member.state is not MemberState.COMPLETING_REBALANCE:
            self._failed("SyncGroup", Reaction.REJOIN, IllegalGenerationError(), now_ms)
            return
        request = self._parts.requests.sync(generation, assignments)

        def on_sync(response: Any, now_ms: int) -> None:
            self._on_sync(response, generation, now_ms)

        self._waiting_for = self._outbox.send(request, coordinator, on_sync)

    def _on_sync(self, response: Any, sent: Generation, now_ms: int) -> None:
        reaction, error = reaction_to(SYNC_GROUP, response)
        self._note_answer(reaction)
        if error is None:
            reaction, error = self._check_synced(response, sent)
        if error is None:
            self._synced(response, now_ms)
        else:
            self._failed("SyncGroup", reaction, error, now_ms)

    def _check_synced(
        self, response: SyncGroupResponse, sent: Generation
    ) -> tuple[Reaction, KafkaError | None]:
        member = self._member
        if response.protocol_type not in (None, PROTOCOL_TYPE):
            return _inconsistent()
        if member.generation != sent or member.state is not MemberState.COMPLETING_REBALANCE:
            return Reaction.REJOIN, IllegalGenerationError()  # a heartbeat has found out
        if response.protocol_name not in (None, sent.protocol_name):
            return _inconsistent()
        return Reaction.SUCCEED, None

    def _synced(self, response: SyncGroupResponse, now_ms: int) -> None:
        member = self._member
        member.state = MemberState.STABLE
        member.rejoin_needed = False
        member.rejoin_reason = ""
        member.stats.succeed(now_ms)
        self._on_synced(response.assignment, now_ms)

    # -- answers and failures --------------------------------------------------------------------

    def _note_answer(self, reaction: Reaction) -> None:
        if reaction is not Reaction.REDISCOVER:
            self._parts.link.answered()

    def _failed(self, api: str, reaction: Reaction, error: Exception, now_ms: int) -> None:
        """What it means for the member; when to try again is not decided here."""
        self._member.stats.failed_rebalances += 1
        if reaction is not Reaction.TAKE_MEMBER_ID:
            self._member.request_rejoin(reasons.rebalance_failed(error))
        if isinstance(error, KafkaError):
            self._react(api, reaction, error, now_ms)
        self._on_failed(error, reaction, now_ms)

    def _react(self, api: str, reaction: Reaction, error: KafkaError, now_ms: int) -> None:
        reason = reasons.answered(api, error)
        if reaction is Reaction.REDISCOVER:
            self._parts.link.lost(reason, now_ms)
        elif reaction is Reaction.RESET_MEMBER_ID:
            self._member.reset(reason)
        elif reaction is Reaction.RESET_GENERATION:
            self._member.reset(reason, keep_member_id=True)
        elif reaction is Reaction.FENCED:
            self._member.fence(error, reason)


def _inconsistent() -> tuple[Reaction, KafkaError]:
    return Reaction.RAISE, error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
