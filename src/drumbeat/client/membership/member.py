"""The member itself: where it stands in the group, what it owns, whether it has to join again."""

from __future__ import annotations

from collections.abc import Iterable

from drumbeat.client.errors import KafkaError
from drumbeat.client.membership.actions import AssignmentChanged, Partitions
from drumbeat.client.membership.outbox import Outbox
from drumbeat.client.membership.values import (
    NO_GENERATION,
    NO_GENERATION_ID,
    Generation,
    MemberState,
    RebalanceStats,
)
from drumbeat.client.values import TopicPartition


class Member:
    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.state = MemberState.UNJOINED
        self.generation = NO_GENERATION
        self.joined_generation = NO_GENERATION  # of the last SyncGroup that brought an assignment
        self.assignment: frozenset[TopicPartition] = frozenset()
        self.is_leader = False
        self.rejoin_needed = True
        self.rejoin_reason = ""
        self.needs_prepare = True
        self.fenced: KafkaError | None = None
        self.stats = RebalanceStats()
        self._failure: Exception | None = None

    # -- joining again ---------------------------------------------------------------------------

    def request_rejoin(self, reason: str) -> None:
        self.rejoin_reason = reason
        self.rejoin_needed = True

    def reset(self, reason: str, *, keep_member_id: bool = False) -> None:
        """The generation is lost. What was owned in it is given up when the member prepares."""
        self.state = MemberState.UNJOINED
        member_id = self.generation.member_id
        if keep_member_id:
            self.generation = Generation(NO_GENERATION_ID, member_id, None)
        else:
            self.generation = NO_GENERATION
        self.request_rejoin(reason)
        self.needs_prepare = True

    def fence(self, error: KafkaError, reason: str) -> None:
        self.reset(reason)
        self.fenced = error

    # -- what it owns ----------------------------------------------------------------------------

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        before, after = self.assignment, frozenset(partitions)
        self.assignment = after
        self._outbox.add(
            AssignmentChanged(
                partitions=in_order(after),
                added=in_order(after - before),
                removed=in_order(before - after),
            )
        )

    # -- what the application has to hear at its next poll ---------------------------------------

    def fail(self, error: Exception) -> None:
        """The first error is the one that explains the others."""
        if self._failure is None:
            self._failure = error

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def take_failure(self) -> Exception | None:
        failure, self._failure = self._failure, None
        return failure


def in_order(partitions: Iterable[TopicPartition]) -> Partitions:
    """As Java hands partitions to listeners: by topic, then by number."""
    return tuple(sorted(partitions))
