"""S3: an offset disappears because somebody deleted it, its topic is gone, or its time was up."""

from collections.abc import Iterable

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.offsets.expiry import sweep
from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    NO_STATE_TIMESTAMP,
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    OffsetCommitTombstone,
)
from drumbeat.core.records import Record as Fact
from drumbeat.core.state import CommittedOffset, Group
from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.offset_delete import OffsetDeleteRequest
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE, subscribed_topics
from drumbeat.protocol.schema import NULL_UUID
from drumbeat.runtime.coordinator.shard import Shard
from sim.history import Operation
from sim.ledger import Ledger
from sim.topics import TopicDirectory
from sim.watch import Checker, Job, Verdict

_REBALANCING = (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE)


class ExpiryChecker(Checker):
    def __init__(self, verdict: Verdict, topics: TopicDirectory, retention_ms: int) -> None:
        super().__init__(verdict)
        self._topics = topics
        self._retention_ms = retention_ms
        self._in_progress: set[Operation] = set()  # requests that delete something
        self._subscribed: dict[str, frozenset[str]] = {}  # what the generation reads

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        for group_id, group in ledger.state.groups.items():
            self._subscribed[group_id] = _topics(group.members.values())

    def arrived(self, operation: Operation) -> None:
        if isinstance(operation.request, DeleteGroupsRequest | OffsetDeleteRequest):
            self._in_progress.add(operation)

    def answered(self, operation: Operation) -> None:
        self._in_progress.discard(operation)

    def working(self, shard: Shard, ledger: Ledger, job: Job) -> None:
        if job is not sweep:
            return
        oldest_ms = shard._environment.clock.steady_ms() - self._retention_ms
        for group_id, group in shard._session.groups.items():
            offsets = ledger.state.offsets.get(group_id, {}).values()
            if group.state in _REBALANCING and any(
                offset.commit_timestamp_ms <= oldest_ms for offset in offsets
            ):
                self.verdict.sometimes("sweep during a rebalance")

    def appending(self, shard: Shard, ledger: Ledger, facts: tuple[Fact, ...], at_ms: int) -> None:
        gone = {fact for fact in facts if isinstance(fact, OffsetCommitTombstone)}
        for fact in facts:
            if isinstance(fact, OffsetCommitTombstone):
                self._check_offset(shard, ledger, fact, at_ms)
            elif isinstance(fact, GroupMetadataTombstone):
                self._check_group(shard, ledger, fact.group_id, gone)
            elif isinstance(fact, GroupMetadataRecord):
                # A static member that is replaced without a rebalance may bring another
                # subscription. As in Kafka, it counts from the next generation on.
                before = ledger.state.groups.get(fact.group_id)
                if before is None or before.generation_id != fact.generation_id:
                    self._subscribed[fact.group_id] = _topics(fact.members)

    def _check_offset(
        self, shard: Shard, ledger: Ledger, fact: OffsetCommitTombstone, at_ms: int
    ) -> None:
        group_id, topic, partition = fact
        offset = ledger.state.offsets.get(group_id, {}).get((topic, partition))
        if offset is None:
            self.verdict.violate("S3", f"{shard}: {fact} buries nothing")
            return
        if self._is_asked_for(fact):
            self.verdict.sometimes("offset deleted by an administrator")
        elif self._is_of_deleted_topic(topic, offset):
            self.verdict.sometimes("offset removed with its topic")
        else:
            self._check_expired(shard, ledger, fact, offset, at_ms)

    def _is_asked_for(self, fact: OffsetCommitTombstone) -> bool:
        group_id, topic, partition = fact
        return any(
            group_id in request.groups_names
            if isinstance(request := operation.request, DeleteGroupsRequest)
            else request.group_id == group_id
            and any(t.name == topic and (partition,) in t.partitions for t in request.topics)
            for operation in self._in_progress
        )

    def _is_of_deleted_topic(self, topic: str, offset: CommittedOffset) -> bool:
        """Records with a retention time of their own are too old to know a topic id."""
        if offset.topic_id == NULL_UUID:
            return topic in self._topics.deleted_names
        return offset.topic_id in self._topics.deleted_ids

    def _check_expired(
        self,
        shard: Shard,
        ledger: Ledger,
        fact: OffsetCommitTombstone,
        offset: CommittedOffset,
        at_ms: int,
    ) -> None:
        durable = ledger.state.groups[fact.group_id]
        live = shard._session.groups.get(fact.group_id)
        if live is not None and live.state in _REBALANCING:
            self.verdict.violate("S3", f"{shard}: {fact} while the group rebalances")
        elif durable.members and (
            durable.protocol_type != PROTOCOL_TYPE or fact.topic in self._subscribed[fact.group_id]
        ):
            self.verdict.violate("S3", f"{shard}: {fact}, but members may read the topic")
        base_ms = offset.commit_timestamp_ms if durable.members else _base_ms(durable, offset)
        due_ms = base_ms + self._retention_ms
        if offset.expire_timestamp_ms != NO_EXPIRE_TIMESTAMP:
            due_ms = offset.expire_timestamp_ms
        if at_ms < due_ms:
            self.verdict.violate(
                "S3", f"{shard}: {fact} expired {due_ms - at_ms} ms early: {offset}"
            )
        self.verdict.sometimes("offset expired")

    def _check_group(
        self, shard: Shard, ledger: Ledger, group_id: str, gone: set[OffsetCommitTombstone]
    ) -> None:
        """A group goes only without members, and with all its offsets."""
        durable = ledger.state.groups.get(group_id)
        live = shard._session.groups.get(group_id)
        if (durable is not None and durable.members) or (live is not None and live.members):
            self.verdict.violate("S3", f"{shard}: group {group_id} removed with its members")
        kept = [
            tp
            for tp in ledger.state.offsets.get(group_id, {})
            if OffsetCommitTombstone(group_id, *tp) not in gone
        ]
        if kept:
            self.verdict.violate("S3", f"{shard}: group {group_id} removed, {kept} not")


def _base_ms(group: Group, offset: CommittedOffset) -> int:
    """An Empty group's offsets age since it is Empty; those of a simple one since the commit."""
    if group.protocol_type and group.state_timestamp_ms != NO_STATE_TIMESTAMP:
        return group.state_timestamp_ms
    return offset.commit_timestamp_ms


def _topics(members: Iterable[MemberMetadata]) -> frozenset[str]:
    return subscribed_topics(member.subscription for member in members) or frozenset()
