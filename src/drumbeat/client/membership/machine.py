"""The membership: one door for everything that can happen. See the package for the contract."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from drumbeat.client.assignors.port import Assignor, PartitionRacks, RebalanceProtocol
from drumbeat.client.errors import CommitFailedError, KafkaError, RebalanceInProgressError
from drumbeat.client.membership import reasons
from drumbeat.client.membership.actions import Action, Raise
from drumbeat.client.membership.commits import (
    NOT_A_MEMBER,
    UNDER_WAY,
    CommitEffect,
    CommitOutcome,
    commit_outcome,
)
from drumbeat.client.membership.departure import Departure
from drumbeat.client.membership.keepalive import KeepAlive
from drumbeat.client.membership.parts import Parts
from drumbeat.client.membership.rebalance import Rebalance, Stage
from drumbeat.client.membership.topics import Matches
from drumbeat.client.membership.values import (
    NO_GENERATION,
    Coordinator,
    Generation,
    LeaveOperation,
    MembershipConfig,
    MemberState,
    RebalanceStats,
)
from drumbeat.client.membership.waits import Dice
from drumbeat.client.values import TopicPartition


class Membership:
    def __init__(
        self, config: MembershipConfig, assignors: Sequence[Assignor], *, dice: Dice
    ) -> None:
        self._parts = parts = Parts.of(config, assignors, dice)
        self._member = parts.member
        self._topics = parts.topics
        self._outbox = parts.outbox
        self._link = parts.link
        self._rebalance = Rebalance(parts)
        self._departure = Departure(parts)
        self._keepalive = KeepAlive(parts, self._leave_unpolled)

    # -- inputs ----------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> list[Action]:
        self._parts.clock.polled(now_ms)
        if self._topics.is_subscribed and not self._departure.is_under_way:
            if self._member.fenced is None:
                self._link.ready(now_ms)
            self._rebalance.advance(now_ms)
            self._raise_failure()
        return self._outbox.take()

    def _raise_failure(self) -> None:
        """Not while the listener runs: whoever raises from poll() does not wait for it."""
        if self._member.has_failed and not self._outbox.listener_is_running:
            failure = self._member.take_failure()
            assert failure is not None
            self._outbox.add(Raise(error=failure))

    def tick(self, now_ms: int) -> list[Action]:
        self._keepalive.tick(now_ms)
        return self._outbox.take()

    def on_response(self, request_id: int, response: Any, now_ms: int) -> list[Action]:
        self._outbox.responded(request_id, response, now_ms)
        return self._outbox.take()

    def callback_done(self, callback_id: int, error: Exception | None, now_ms: int) -> list[Action]:
        self._outbox.done(callback_id, error, now_ms)
        self._departure.advance()
        return self._outbox.take()

    def on_refresh(
        self, refresh_id: int, metadata: PartitionRacks | KafkaError, now_ms: int
    ) -> list[Action]:
        error = metadata if isinstance(metadata, KafkaError) else None
        if not isinstance(metadata, KafkaError):
            self._topics.update(metadata)
        self._outbox.refreshed(refresh_id, error, now_ms)
        return self._outbox.take()

    def metadata_changed(self, metadata: PartitionRacks, _now_ms: int) -> list[Action]:
        self._topics.update(metadata)
        return self._outbox.take()

    def subscription_changed(
        self, topics: Collection[str], _now_ms: int, matches: Matches | None = None
    ) -> list[Action]:
        self._topics.subscribe(topics, matches)
        return self._outbox.take()

    def request_rejoin(self, reason: str) -> None:
        self._member.request_rejoin(reason)

    def coordinator_lost(self, cause: str, now_ms: int) -> list[Action]:
        self._link.lost(cause, now_ms)
        return self._outbox.take()

    def leave(
        self,
        reason: str,
        _now_ms: int,
        operation: LeaveOperation = LeaveOperation.DEFAULT,
    ) -> list[Action]:
        self._rebalance.abandon()
        self._member.take_failure()  # why joining failed matters no more
        self._departure.begin(reason, operation)
        self._departure.advance()
        return self._outbox.take()

    def on_commit(
        self, code: int, sent: Generation, now_ms: int
    ) -> tuple[CommitOutcome, list[Action]]:
        member = self._member
        is_same = member.generation == sent
        outcome = commit_outcome(code, is_same_generation=is_same, state=member.state)
        if outcome.effect is not CommitEffect.NONE:
            self._follow_commit(outcome.effect, f"OffsetCommit was answered with {code}", now_ms)
        return outcome, self._outbox.take()

    def _follow_commit(self, effect: CommitEffect, reason: str, now_ms: int) -> None:
        if effect is CommitEffect.FIND_COORDINATOR:
            self._link.lost(reason, now_ms)
        elif effect is CommitEffect.REJOIN:
            self._member.request_rejoin(reasons.COMMIT_MET_REBALANCE)
        else:
            keep_member_id = effect is CommitEffect.RESET_GENERATION
            self._member.reset(reason, keep_member_id=keep_member_id)

    # -- what happens on the side ----------------------------------------------------------------

    def _leave_unpolled(self, reason: str) -> None:
        """The application has stopped polling: others shall have its partitions."""
        self._departure.drop_out(reason, LeaveOperation.DEFAULT, _ignore)

    # -- views -----------------------------------------------------------------------------------

    @property
    def state(self) -> MemberState:
        return self._member.state

    @property
    def generation(self) -> Generation:
        return self._member.generation

    @property
    def joined_generation(self) -> Generation:
        """The last that was joined to the end, even if it has ended since."""
        return self._member.joined_generation

    @property
    def coordinator(self) -> Coordinator | None:
        return self._link.coordinator

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self._member.assignment

    @property
    def subscription(self) -> frozenset[str]:
        return self._topics.subscription

    @property
    def watched_topics(self) -> frozenset[str] | None:
        return self._topics.watched

    @property
    def protocol(self) -> RebalanceProtocol:
        return self._parts.protocol

    @property
    def is_leader(self) -> bool:
        return self._member.is_leader

    @property
    def is_active(self) -> bool:
        member = self._member
        is_settled = self._rebalance.stage is Stage.IDLE and not member.rejoin_needed
        return is_settled and member.state is MemberState.STABLE

    @property
    def is_leaving(self) -> bool:
        return self._departure.is_under_way

    @property
    def rebalance_stats(self) -> RebalanceStats:
        return self._member.stats

    @property
    def last_heartbeat_ms(self) -> int:
        """When one was sent last; -1 is never."""
        return self._parts.clock.last_sent_ms

    def commit_generation(self) -> Generation:
        """What to send an OffsetCommit as; without a subscription, as nobody in particular."""
        if not self._topics.is_subscribed:
            return NO_GENERATION
        if self._member.state.is_rebalancing:
            raise RebalanceInProgressError(UNDER_WAY)
        if self._member.state is not MemberState.STABLE:
            raise CommitFailedError(NOT_A_MEMBER)
        return self._member.generation

    @property
    def next_deadline_ms(self) -> int | None:
        return self._keepalive.next_ms

    @property
    def next_poll_ms(self) -> int | None:
        if not self._topics.is_subscribed or self._departure.is_under_way:
            return None
        if self._link.coordinator is None and self._member.fenced is None:
            return self._link.look_at_ms
        return self._rebalance.next_ms


def _ignore(_response: Any, _now_ms: int) -> None:
    """Whether the coordinator took note or not, this member is out."""
