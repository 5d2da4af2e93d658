"""S1: each partition's offset is a register, written by commits and cleared by tombstones."""

from collections import defaultdict

from drumbeat.core.records import OffsetCommitTombstone
from drumbeat.protocol.apis.offset_commit import OffsetCommitRequest
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.coordinator.shard import Shard
from sim.checkers.linearizability import ABSENT, Access, is_linearizable
from sim.clients.client import RETRIABLE
from sim.history import NEVER, History, Operation
from sim.ledger import Commit, Entry, Ledger
from sim.messages import (
    NO_OFFSET,
    TOPIC_IDS_SINCE,
    commit_errors,
    committed,
    fetch_group,
    fetched,
)
from sim.topics import TopicDirectory
from sim.watch import Checker, Verdict

Register = tuple[str, str, int]  # group, topic, partition


class RegisterChecker(Checker):
    def __init__(self, verdict: Verdict, history: History, topics: TopicDirectory) -> None:
        super().__init__(verdict)
        self._history = history
        self._topics = topics
        self._moments: dict[tuple[int, int], int] = {}  # (log partition, offset) -> when appended

    def appended(self, shard: Shard, ledger: Ledger, entry: Entry) -> None:
        moment = self._history.now()
        for line in entry.lines:
            self._moments[shard.index, line.offset] = moment

    def check(self, ledgers: dict[int, Ledger]) -> None:
        """At the end, when it is known what was stored."""
        stored = {commit for ledger in ledgers.values() for commit in ledger.commits}
        accesses: dict[Register, list[Access]] = defaultdict(list)
        self._add_tombstones(accesses, ledgers)
        for operation in self._history.of(OffsetFetchRequest):
            if operation.is_known:
                self._add_reads(accesses, operation)
        read = _first_reads(accesses)
        for operation in self._history.of(OffsetCommitRequest):
            self._add_writes(accesses, operation, read, stored)
        for register, found in accesses.items():
            if not is_linearizable(found):
                lines = "\n    ".join(map(str, sorted(found)))
                self.verdict.violate("S1", f"{register} is not linearizable:\n    {lines}")

    def _add_tombstones(
        self, accesses: dict[Register, list[Access]], ledgers: dict[int, Ledger]
    ) -> None:
        for index, ledger in ledgers.items():
            for line in ledger.lines:
                if isinstance(line.fact, OffsetCommitTombstone):
                    moment = self._moments[index, line.offset]
                    accesses[line.fact].append(Access(moment, moment, True, ABSENT))

    def _add_reads(self, accesses: dict[Register, list[Access]], operation: Operation) -> None:
        answer = fetched(operation, self._topics)
        if answer.error_code != ErrorCode.NONE:
            return
        deleted = self._topics.deleted_names
        for tp, position in answer.positions.items():
            is_absent = position.offset == NO_OFFSET
            # An id tells a topic from its predecessor of the same name, whose offset stays.
            is_hidden = is_absent and operation.version >= TOPIC_IDS_SINCE and tp[0] in deleted
            if answer.errors[tp] != ErrorCode.NONE or is_hidden:
                continue
            value = ABSENT if is_absent else position.metadata
            accesses[fetch_group(operation), *tp].append(
                Access(operation.invoked, operation.returned, False, value)
            )

    def _add_writes(
        self,
        accesses: dict[Register, list[Access]],
        operation: Operation,
        read: dict[tuple[Register, str], int],
        stored: set[Commit],
    ) -> None:
        group_id = operation.request.group_id
        errors = commit_errors(operation, self._topics) if operation.is_known else {}
        for tp, position in committed(operation, self._topics).items():
            register = (group_id, *tp)
            error_code = errors.get(tp)
            returned = operation.returned
            if error_code is None or error_code in RETRIABLE:
                # Nobody knows. It has happened if somebody has read it, and then before that.
                returned = read.get((register, position.metadata), NEVER)
                if returned == NEVER:
                    continue
                self.verdict.sometimes("commit with unknown outcome was read")
            elif error_code != ErrorCode.NONE:
                if Commit(*register, position.metadata) in stored:
                    self.verdict.violate("S4", f"{operation}: refused, but {tp} was stored")
                continue
            accesses[register].append(Access(operation.invoked, returned, True, position.metadata))


def _first_reads(accesses: dict[Register, list[Access]]) -> dict[tuple[Register, str], int]:
    """When each value had been read for the first time."""
    read: dict[tuple[Register, str], int] = {}
    for register, found in accesses.items():
        for access in found:
            if not access.is_write:
                key = (register, access.value)
                read[key] = min(access.returned, read.get(key, NEVER))
    return read
