"""What the application asked to read, and the partitions it has: pure state.

A consumer either subscribes (by names or by a pattern, and the group assigns) or is assigned
partitions by hand. Changing between the two takes an `unsubscribe`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from drumbeat.client.consumer.partition_state import OffsetReset, PartitionState
from drumbeat.client.errors import IllegalStateError
from drumbeat.client.values import OffsetAndMetadata, TopicPartition


class SubscriptionType(Enum):
    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    ASSIGNED = "partitions assigned by hand"


class SubscriptionState:
    def __init__(self, default_reset: OffsetReset | None) -> None:
        self.default_reset = default_reset
        self.type = SubscriptionType.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.partitions: dict[TopicPartition, PartitionState] = {}

    # -- what to read ----------------------------------------------------------------------------

    @property
    def is_subscribed(self) -> bool:
        return self.type in (SubscriptionType.TOPICS, SubscriptionType.PATTERN)

    def subscribe(self, topics: Iterable[str]) -> None:
        self._become(SubscriptionType.TOPICS)
        self.topics = frozenset(topics)

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        self._become(SubscriptionType.PATTERN)
        self.pattern = pattern

    def matches(self, topic: str) -> bool:
        """As in Kafka, the whole name must match."""
        return self.pattern is not None and self.pattern.fullmatch(topic) is not None

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """By hand; partitions that stay keep their state."""
        self._become(SubscriptionType.ASSIGNED)
        self.replace(partitions)

    def unsubscribe(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics = frozenset()
        self.pattern = None
        self.partitions = {}

    def _become(self, wanted: SubscriptionType) -> None:
        if self.type not in (SubscriptionType.NONE, wanted):
            raise IllegalStateError(
                f"this consumer has {self.type.value} and cannot be given {wanted.value} as well: "
                "subscribe to topics, or to a pattern, or assign partitions; "
                "unsubscribe() lets you choose anew"
            )
        self.type = wanted

    # -- what there is to read -------------------------------------------------------------------

    def replace(self, partitions: Iterable[TopicPartition]) -> None:
        """The assignment is this from now on; partitions that stay keep their state."""
        known = self.partitions
        self.partitions = {tp: known.get(tp) or PartitionState(tp) for tp in partitions}

    def state(self, tp: TopicPartition) -> PartitionState:
        state = self.partitions.get(tp)
        if state is None:
            assigned = ", ".join(map(str, sorted(self.partitions))) or "none"
            raise IllegalStateError(
                f"{tp} is not assigned to this consumer (assigned: {assigned}); after subscribe(), "
                "partitions are assigned while poll() runs"
            )
        return state

    def states(self, partitions: Iterable[TopicPartition]) -> list[PartitionState]:
        """The states of these, or of all if none are named."""
        chosen = list(partitions)
        return [self.state(tp) for tp in chosen] if chosen else list(self.partitions.values())

    def is_current(self, state: PartitionState, version: int) -> bool:
        """Whether what was asked for under this version is still wanted."""
        return self.partitions.get(state.tp) is state and state.version == version

    def mark_pending_revocation(self, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            if tp in self.partitions:
                self.partitions[tp].is_pending_revocation = True

    def clear_pending_revocation(self) -> None:
        for state in self.partitions.values():
            state.is_pending_revocation = False

    # -- positions -------------------------------------------------------------------------------

    def without_position(self) -> list[PartitionState]:
        return [state for state in self.partitions.values() if state.position is None]

    def consumed(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions, as they would be committed."""
        wanted = self.partitions if partitions is None else set(partitions)
        return {
            tp: offset
            for tp, state in self.partitions.items()
            if tp in wanted and (offset := state.to_commit()) is not None
        }
