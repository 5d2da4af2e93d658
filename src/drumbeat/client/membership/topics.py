"""The topics a member wants, what is known of them, and whether that calls for a rebalance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from drumbeat.client.assignors.port import PartitionRacks
from drumbeat.client.membership import reasons
from drumbeat.client.values import TopicPartition

Matches = Callable[[str], bool]


class TopicInterest:
    """`rejoin_reason` is kept up to date with every change, since every poll() asks for it."""

    def __init__(self, client_rack: str) -> None:
        self._by_rack = bool(client_rack)
        self._metadata: PartitionRacks = {}
        self._matches: Matches | None = None
        self._joined: frozenset[str] | None = None
        self._group: frozenset[str] = frozenset()
        self._assigned_from: Mapping[str, object] | None = None
        self.is_subscribed = False
        self.subscription: frozenset[str] = frozenset()
        self.rejoin_reason: str | None = None

    @property
    def metadata(self) -> PartitionRacks:
        return self._metadata

    @property
    def is_pattern(self) -> bool:
        return self._matches is not None

    @property
    def watched(self) -> frozenset[str] | None:
        """What to keep metadata fresh of: a leader watches for the whole group. None is all."""
        return None if self.is_pattern else self.subscription | self._group

    # -- what changes ----------------------------------------------------------------------------

    def subscribe(self, topics: Collection[str], matches: Matches | None) -> None:
        self.is_subscribed = True
        self._matches = matches
        self.subscription = frozenset(topics) if matches is None else self._matching()
        self._check()

    def unsubscribe(self) -> None:
        self.is_subscribed = False
        self._matches = None
        self.subscription = frozenset()
        self._joined = None
        self.stop_leading()

    def update(self, metadata: PartitionRacks) -> None:
        self._metadata = metadata
        if self.is_pattern:
            self.subscription = self._matching()
        self._check()

    def _matching(self) -> frozenset[str]:
        matches = self._matches
        return frozenset(
            topic for topic in self._metadata if matches is not None and matches(topic)
        )

    # -- joining ---------------------------------------------------------------------------------

    def join(self) -> frozenset[str]:
        """The topics to join with."""
        self._joined = self.subscription
        self._check()
        return self.subscription

    def accept(self, assigned: Iterable[TopicPartition]) -> bool:
        """Whether an assignment is for topics of the subscription.

        The leader may have seen a topic that matches the pattern before this member did.
        """
        topics = frozenset(partition.topic for partition in assigned)
        if self._matches is None:
            return topics <= self.subscription
        added = topics - self.subscription
        if not all(map(self._matches, added)):
            return False
        self.subscription |= added
        self._joined = added | (self._joined or frozenset())
        self._check()
        return True

    # -- leading ---------------------------------------------------------------------------------

    def lead(self, topics: frozenset[str]) -> bool:
        """Whether enough is known to assign these topics; otherwise metadata must be fetched.

        A topic that does not exist is asked for each time: it may, by now.
        """
        is_watched = self.is_pattern or topics <= self.subscription | self._group
        self._group = topics
        return is_watched and topics <= self._metadata.keys()

    def assigned(self, topics: Iterable[str]) -> None:
        """An assignment was made of what is known now; a change of that calls for another."""
        self._group |= frozenset(topics)
        self._assigned_from = self._known()
        self._check()

    def stop_leading(self) -> None:
        self._group = frozenset()
        self.follow()

    def follow(self) -> None:
        """Watching partitions is the leader's task alone."""
        self._assigned_from = None
        self._check()

    def _known(self) -> Mapping[str, object]:
        """Racks count only for a member that has one, as in Java."""
        wanted = self.subscription | self._group
        known = {topic: facts for topic, facts in self._metadata.items() if topic in wanted}
        return known if self._by_rack else {topic: len(facts) for topic, facts in known.items()}

    def _check(self) -> None:
        self.rejoin_reason = None
        if self._assigned_from is not None and self._assigned_from != self._known():
            self.rejoin_reason = reasons.METADATA_CHANGED
        elif self._joined is not None and self._joined != self.subscription:
            self.rejoin_reason = reasons.SUBSCRIPTION_CHANGED
