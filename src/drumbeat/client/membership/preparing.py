"""Before joining (Java's onJoinPrepare): commit what was read, then give partitions up."""

from __future__ import annotations

from enum import Enum, auto

from drumbeat.client.assignors.port import RebalanceProtocol
from drumbeat.client.errors import KafkaError
from drumbeat.client.membership.actions import (
    CallbackKind,
    MarkPendingRevocation,
    Partitions,
)
from drumbeat.client.membership.member import in_order
from drumbeat.client.membership.parts import Parts


class _Stage(Enum):
    BEGIN = auto()
    COMMITTING = auto()
    COMMIT_FAILED = auto()  # to be tried again at retry_at_ms
    GIVE_UP = auto()
    GIVING_UP = auto()
    DONE = auto()


class JoinPrepare:
    """The commit has until the rebalance timeout: joining late costs more than reading twice."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._member = parts.member
        self._outbox = parts.outbox
        self._stage = _Stage.BEGIN
        self._commit_id = 0
        self._commit_failures = 0
        self._commit_by_ms = 0
        self._retry_at_ms = 0

    def begin(self) -> None:
        """Called anew for each rebalance. A callback of the listener that runs is waited for."""
        self._outbox.forget_callback(self._commit_id)
        self._stage = _Stage.BEGIN

    def advance(self, now_ms: int) -> bool:
        """Whether all is done that has to be done before joining."""
        if self._stage is _Stage.BEGIN:
            self._begin(now_ms)
        if self._stage in (_Stage.COMMITTING, _Stage.COMMIT_FAILED):
            self._keep_committing(now_ms)
        if self._stage is _Stage.GIVE_UP:
            self._give_up()
        return self._stage is _Stage.DONE

    @property
    def next_ms(self) -> int | None:
        if self._stage is _Stage.COMMIT_FAILED:
            return min(self._retry_at_ms, self._commit_by_ms)
        return self._commit_by_ms if self._stage is _Stage.COMMITTING else None

    # -- committing ------------------------------------------------------------------------------

    def _begin(self, now_ms: int) -> None:
        if not self._can_commit:
            self._stage = _Stage.GIVE_UP
            return
        self._commit_failures = 0
        self._commit_by_ms = now_ms + self._parts.config.max_poll_interval_ms
        if self._parts.protocol is RebalanceProtocol.EAGER:
            # Records handed out while the commit is under way would be read twice.
            partitions = in_order(self._member.assignment)
            self._outbox.add(MarkPendingRevocation(partitions=partitions))
        self._commit()

    @property
    def _can_commit(self) -> bool:
        """A commit in a lost generation would only be refused."""
        member = self._member
        has_something = bool(member.assignment) and not member.generation.is_lost
        return self._parts.config.enable_auto_commit and has_something

    def _commit(self) -> None:
        self._stage = _Stage.COMMITTING
        partitions = in_order(self._member.assignment)
        self._commit_id = self._outbox.call_back(
            CallbackKind.COMMIT_BEFORE_JOIN, partitions, self._on_committed
        )

    def _on_committed(self, error: Exception | None, now_ms: int) -> None:
        if not (isinstance(error, KafkaError) and error.retriable):
            self._stage = _Stage.GIVE_UP
            return
        self._commit_failures += 1
        self._retry_at_ms = now_ms + self._parts.waits.after(self._commit_failures)
        self._stage = _Stage.COMMIT_FAILED

    def _keep_committing(self, now_ms: int) -> None:
        if now_ms >= self._commit_by_ms or not self._can_commit:
            self._outbox.forget_callback(self._commit_id)
            self._stage = _Stage.GIVE_UP
        elif self._stage is _Stage.COMMIT_FAILED and now_ms >= self._retry_at_ms:
            self._commit()

    # -- giving up -------------------------------------------------------------------------------

    def _give_up(self) -> None:
        self._member.needs_prepare = False
        kind, partitions = self._to_give_up()
        if kind is None:
            self._stage = _Stage.DONE
            return
        self._stage = _Stage.GIVING_UP
        removed = frozenset(partitions)

        def given_up(error: Exception | None, _now_ms: int) -> None:
            self._member.assign(self._member.assignment - removed)
            if error is not None:
                self._member.fail(error)
            self._stage = _Stage.DONE

        self._outbox.call_back(kind, partitions, given_up)

    def _to_give_up(self) -> tuple[CallbackKind | None, Partitions]:
        """Eager members hear of a revocation even if they own nothing, as in Java."""
        owned = in_order(self._member.assignment)
        if self._member.generation.is_lost:
            return (CallbackKind.LOST if owned else None), owned
        if self._parts.protocol is RebalanceProtocol.EAGER:
            return CallbackKind.REVOKED, owned
        wanted = self._parts.topics.subscription
        unwanted = tuple(each for each in owned if each.topic not in wanted)
        return (CallbackKind.REVOKED if unwanted else None), unwanted
