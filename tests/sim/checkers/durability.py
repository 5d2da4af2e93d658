"""S2, S10, S12, S13: what is answered is true, was written whole, and cannot be taken back."""

from collections.abc import Callable, Mapping
from typing import Any

from drumbeat.core.records import GroupMetadataTombstone, OffsetCommitRecord
from drumbeat.core.records import Record as Fact
from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.offset_commit import OffsetCommitRequest
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import partition_for
from drumbeat.runtime.coordinator.shard import Shard
from sim.history import Operation
from sim.ledger import Commit, Entry, Ledger, commit_of
from sim.messages import (
    NO_OFFSET,
    Position,
    commit_errors,
    committed,
    fetch_group,
    fetched,
)
from sim.topics import TopicDirectory
from sim.watch import Checker, Verdict


class Attempts:
    """Every value that a client has tried to commit, by the text that is unique to it."""

    def __init__(self) -> None:
        self.positions: dict[Commit, Position] = {}
        self.operations: dict[str, Operation] = {}

    def remember(self, operation: Operation, topics: TopicDirectory) -> None:
        for (topic, partition), position in committed(operation, topics).items():
            commit = Commit(operation.request.group_id, topic, partition, position.metadata)
            self.positions[commit] = position
            self.operations[position.metadata] = operation


class DurabilityChecker(Checker):
    def __init__(
        self, verdict: Verdict, topics: TopicDirectory, attempts: Attempts, partition_count: int
    ) -> None:
        super().__init__(verdict)
        self._topics = topics
        self._attempts = attempts
        self._partition_count = partition_count
        self._shards: dict[int, tuple[Shard, Ledger]] = {}
        self._seen_end: dict[int, int] = {}  # how far the log was synced when somebody was told
        self._checks: Mapping[type[Any], Callable[[Operation], None]] = {
            OffsetCommitRequest: self._check_commit,
            OffsetFetchRequest: self._check_fetch,
            DeleteGroupsRequest: self._check_delete,
        }

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        self._shards[shard.index] = (shard, ledger)
        seen_end = self._seen_end.get(shard.index, 0)
        if ledger.end_offset < seen_end:
            self.verdict.violate(
                "S10", f"{shard}: ends at {ledger.end_offset}, but was synced up to {seen_end}"
            )

    def arrived(self, operation: Operation) -> None:
        if isinstance(operation.request, OffsetCommitRequest):
            self._attempts.remember(operation, self._topics)

    def appending(self, shard: Shard, ledger: Ledger, facts: tuple[Fact, ...], at_ms: int) -> None:
        """S12: the records of one request are in one batch, and nothing else is."""
        texts = {fact.metadata for fact in facts if isinstance(fact, OffsetCommitRecord)}
        if not texts:
            return
        if len(texts) > 1 or any(not isinstance(fact, OffsetCommitRecord) for fact in facts):
            self.verdict.violate("S12", f"{shard}: one batch for several requests: {facts}")
        for fact in facts:
            assert isinstance(fact, OffsetCommitRecord)
            asked = self._attempts.positions.get(commit_of(fact))
            if asked != (fact.committed_offset, fact.leader_epoch, fact.metadata):
                self.verdict.violate("S2", f"{shard}: {fact} is not what was asked: {asked}")

    def appended(self, shard: Shard, ledger: Ledger, entry: Entry) -> None:
        self._shards[shard.index] = (shard, ledger)

    # -- answers ---------------------------------------------------------------------------------

    def answered(self, operation: Operation) -> None:
        for index, (shard, _) in self._shards.items():
            self._seen_end[index] = shard.partition.log.synced_offset
        check = self._checks.get(type(operation.request))
        if check is not None:
            check(operation)

    def _log_of(self, group_id: str) -> tuple[int, Ledger]:
        """Up to where the group's log is synced, and what is in it."""
        shard, ledger = self._shards[partition_for(group_id, self._partition_count)]
        return shard.partition.log.synced_offset, ledger

    def _is_durable(self, commit: Commit) -> bool:
        synced_offset, ledger = self._log_of(commit.group_id)
        return ledger.commits.get(commit, synced_offset) < synced_offset

    def _check_commit(self, operation: Operation) -> None:
        group_id = operation.request.group_id
        asked = committed(operation, self._topics)
        for tp, error_code in commit_errors(operation, self._topics).items():
            if error_code == ErrorCode.NONE:
                if not self._is_durable(Commit(group_id, *tp, asked[tp].metadata)):
                    self.verdict.violate("S10", f"{operation}: {tp} acknowledged, not durable")
                self._see_commit(group_id)

    def _see_commit(self, group_id: str) -> None:
        shard, _ = self._shards[partition_for(group_id, self._partition_count)]
        if shard.partition.log.end_offset > shard.partition.log.synced_offset:
            self.verdict.sometimes("commit acknowledged while a sync is in flight")

    def _check_fetch(self, operation: Operation) -> None:
        group_id = fetch_group(operation)
        for tp, position in fetched(operation, self._topics).positions.items():
            if position.offset == NO_OFFSET:
                continue
            commit = Commit(group_id, *tp, position.metadata)
            asked = self._attempts.positions.get(commit)
            if asked is None or asked.offset != position.offset:
                self.verdict.violate("S2", f"{operation}: {tp} = {position}, committed {asked}")
            elif not self._is_durable(commit):
                self.verdict.violate("S13", f"{operation}: {tp} = {position} is not durable yet")

    def _check_delete(self, operation: Operation) -> None:
        for group_id, error_code in operation.response.results:
            if error_code != ErrorCode.NONE:
                continue
            synced_offset, ledger = self._log_of(group_id)
            tombstones = [
                line.offset
                for line in ledger.lines
                if line.fact == GroupMetadataTombstone(group_id)
                and line.at_ms >= operation.arrived_ms
            ]
            self.verdict.sometimes("group deleted by an administrator")
            if not tombstones or tombstones[0] >= synced_offset:
                self.verdict.violate("S10", f"{operation}: {group_id} is not deleted in the log")
