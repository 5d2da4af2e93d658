"""S4, S5, S7, S8, S16: who is in which generation, what it agreed on, and who may write in it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.events import GroupEvent, GroupEventType
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    OffsetCommitRecord,
)
from drumbeat.core.records import Record as Fact
from drumbeat.core.state import Group
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.apis.sync_group import SyncGroupRequest
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.coordinator.shard import Shard, ShardState
from sim.checkers.durability import Attempts
from sim.clients.blobs import read_share
from sim.history import Operation
from sim.ledger import Entry, Ledger
from sim.node import Node
from sim.watch import Checker, Verdict

_MAY_COMMIT = (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
_NO_GROUP = Group()


@dataclass
class Announced:
    """What JoinGroup answers have said about one generation."""

    since: int  # when the first of them left
    leader: str
    protocol_name: str | None
    joined: set[str] = field(default_factory=set)
    listed: frozenset[str] | None = None  # the members, as the leader was told


@dataclass
class GroupLife:
    """What is known of a group since its shard was loaded."""

    announced: dict[int, Announced] = field(default_factory=dict)
    submissions: list[Operation] = field(default_factory=list)  # SyncGroups that carry a plan
    shares: dict[tuple[int, str], tuple[bytes, int]] = field(default_factory=dict)

    @property
    def newest(self) -> int:
        return max(self.announced, default=0)


class GenerationChecker(Checker):
    def __init__(self, verdict: Verdict, attempts: Attempts, node: Node) -> None:
        super().__init__(verdict)
        self._attempts = attempts
        self._node = node
        self._lives: dict[str, GroupLife] = {}
        self._homes: dict[str, Shard] = {}
        self._replaced: dict[str, str] = {}  # new member id of a static member -> its first
        self._asked: dict[Operation, GroupLife] = {}  # SyncGroups, by the life they arrived in
        self._checks: dict[type[Any], Callable[[Operation], None]] = {
            JoinGroupRequest: self._check_join,
            SyncGroupRequest: self._check_sync,
            HeartbeatRequest: self._check_heartbeat,
        }

    def _life(self, group_id: str) -> GroupLife:
        return self._lives.setdefault(group_id, GroupLife())

    def _first_id(self, member_id: str) -> str:
        return self._replaced.get(member_id, member_id)

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        for group_id in [g for g, home in self._homes.items() if home.index == shard.index]:
            life = self._lives.pop(group_id, GroupLife())
            durable = ledger.state.groups.get(group_id, _NO_GROUP)
            if life.newest > durable.generation_id:
                self.verdict.sometimes("node lost between Join and Sync")
            if len(durable.members) > self._node.group_max_size:
                self.verdict.sometimes("group too large when it was loaded")
            self._homes[group_id] = shard
        for group_id, group in ledger.state.groups.items():
            self._homes[group_id] = shard
            self._remember_shares(group_id, group.generation_id, group.members.values(), 0)

    def told(self, event: GroupEvent) -> None:
        if event.type is GroupEventType.MEMBER_REPLACED:
            old, new = str(event.fields["replaced_member_id"]), str(event.fields["member_id"])
            self._replaced[new] = self._first_id(old)

    # -- requests and answers --------------------------------------------------------------------

    def arrived(self, operation: Operation) -> None:
        request = operation.request
        if isinstance(request, SyncGroupRequest):
            life = self._asked[operation] = self._life(request.group_id)
            if request.assignments:
                life.submissions.append(operation)

    def answered(self, operation: Operation) -> None:
        check = self._checks.get(type(operation.request))
        if check is not None and operation.response.error_code == ErrorCode.NONE:
            check(operation)

    def _check_heartbeat(self, operation: Operation) -> None:
        request = operation.request
        home = self._homes.get(request.group_id)
        if home is None or home.state is not ShardState.ACTIVE:
            return  # a coordinator that loads says NONE to every heartbeat
        newer = [
            generation_id
            for generation_id, announced in self._life(request.group_id).announced.items()
            if generation_id > request.generation_id and announced.since < operation.arrived
        ]
        if newer:
            self.verdict.violate("S4", f"{operation}: {request}, but there are {newer}")

    def _check_join(self, operation: Operation) -> None:
        answer = operation.response
        leader = self._first_id(answer.leader)
        announced = self._life(operation.request.group_id).announced.setdefault(
            answer.generation_id, Announced(operation.answered, leader, answer.protocol_name)
        )
        if (announced.leader, announced.protocol_name) != (leader, answer.protocol_name):
            self.verdict.violate("S5", f"{operation}: {answer}, others heard {announced}")
        announced.joined.add(self._first_id(answer.member_id))
        if answer.members:
            self._check_list(operation, announced)
        if announced.listed is not None and not announced.joined <= announced.listed:
            self.verdict.violate("S5", f"{operation}: joined {announced.joined}, not all listed")

    def _check_list(self, operation: Operation, announced: Announced) -> None:
        answer = operation.response
        listed = frozenset(self._first_id(member.member_id) for member in answer.members)
        if answer.leader != answer.member_id:
            self.verdict.violate("S5", f"{operation}: a follower got the list of members")
        if announced.listed not in (None, listed) or len(listed) != len(answer.members):
            self.verdict.violate("S5", f"{operation}: {listed}, before {announced.listed}")
        announced.listed = listed
        # Static members that did not come back are kept, and do not count (as in Kafka).
        dynamic = [m for m in answer.members if m.group_instance_id is None]
        if len(dynamic) > self._node.group_max_size:
            self.verdict.violate("S16", f"{operation}: {len(dynamic)} members")

    def _check_sync(self, operation: Operation) -> None:
        request = operation.request
        key = (request.generation_id, self._first_id(request.member_id))
        # The disk may take so long that the group has ended when its answer leaves.
        lives = self._life(request.group_id), self._asked[operation]
        share, offset = next((life.shares[key] for life in lives if key in life.shares), (None, 0))
        if share != operation.response.assignment:
            self.verdict.violate("S5", f"{operation}: not the share that the leader's plan has")
        log = self._homes[request.group_id].partition.log
        if offset >= log.synced_offset:
            self.verdict.violate("S10", f"{operation}: the generation is not durable yet")

    # -- the log ---------------------------------------------------------------------------------

    def appending(self, shard: Shard, ledger: Ledger, facts: tuple[Fact, ...], at_ms: int) -> None:
        for fact in facts:
            self._homes.setdefault(getattr(fact, "group_id", ""), shard)
            if isinstance(fact, GroupMetadataRecord):
                self._check_record(shard, ledger.state.groups.get(fact.group_id), fact)
            elif isinstance(fact, OffsetCommitRecord):
                self._check_commit(shard, ledger, fact)

    def _check_record(
        self, shard: Shard, before: Group | None, record: GroupMetadataRecord
    ) -> None:
        if before is not None and record.generation_id < before.generation_id:
            self.verdict.violate("S8", f"{shard}: {record} after generation {before.generation_id}")
        instances = [m.group_instance_id for m in record.members if m.group_instance_id]
        if len(set(instances)) < len(instances):
            self.verdict.violate("S15", f"{shard}: an instance id twice in {record}")
        if record.protocol_type == PROTOCOL_TYPE:
            shares = [tp for m in record.members if m.assignment for tp in read_share(m.assignment)]
            if len(set(shares)) < len(shares):
                self.verdict.violate("S7", f"{shard}: a partition is assigned twice in {record}")
        if before is not None and before.members and before.generation_id == record.generation_id:
            if _places(before.members.values()) != _places(record.members):
                self.verdict.violate("S8", f"{shard}: {record} redefines {before}")
        elif record.members:
            self._check_plan(shard, record)

    def _check_plan(self, shard: Shard, record: GroupMetadataRecord) -> None:
        life = self._life(record.group_id)
        announced = life.announced.get(record.generation_id)
        members = {self._first_id(member.member_id) for member in record.members}
        if announced is None or not announced.joined <= members:
            self.verdict.violate("S5", f"{shard}: {record}, but clients heard {announced}")
        plans = [
            dict(operation.request.assignments)
            for operation in life.submissions
            if operation.request.member_id == record.leader
            and operation.request.generation_id == record.generation_id
        ]
        stored = {member.member_id: member.assignment for member in record.members}
        if not any({m: plan.get(m, b"") for m in stored} == stored for plan in plans):
            self.verdict.violate("S5", f"{shard}: no leader has submitted {record}")

    def _check_commit(self, shard: Shard, ledger: Ledger, fact: OffsetCommitRecord) -> None:
        request = self._attempts.operations[fact.metadata].request
        durable = ledger.state.groups.get(fact.group_id, _NO_GROUP)
        life = self._life(fact.group_id)
        if request.generation_id_or_member_epoch < 0:
            if durable.members or life.newest > durable.generation_id:
                self.verdict.violate("S4", f"{shard}: {fact} from outside, but there are members")
            return
        live = shard._session.groups.get(fact.group_id)
        current = max(durable.generation_id, life.newest)
        is_member = request.member_id in durable.members
        if current > durable.generation_id:
            is_member = self._first_id(request.member_id) in life.announced[current].joined
        if request.generation_id_or_member_epoch != current or not is_member:
            self.verdict.violate("S4", f"{shard}: {request} accepted in generation {current}")
        elif live is None or live.state not in _MAY_COMMIT:
            self.verdict.violate("S4", f"{shard}: {request} accepted before the assignment")

    def appended(self, shard: Shard, ledger: Ledger, entry: Entry) -> None:
        for line in entry.lines:
            fact = line.fact
            if isinstance(fact, GroupMetadataRecord):
                self._remember_shares(fact.group_id, fact.generation_id, fact.members, line.offset)
            elif isinstance(fact, GroupMetadataTombstone):
                self._lives.pop(fact.group_id, None)

    def _remember_shares(
        self, group_id: str, generation_id: int, members: Any, offset: int
    ) -> None:
        shares = self._life(group_id).shares
        for member in members:
            # A record that is written again, for a static member's new id, says nothing new.
            key = (generation_id, self._first_id(member.member_id))
            if shares.get(key, (None,))[0] != member.assignment:
                shares[key] = (member.assignment, offset)


def _places(members: Any) -> dict[str, bytes]:
    """Shares by who has them, whatever id a static member has at the moment."""
    return {_place(member): member.assignment for member in members}


def _place(member: MemberMetadata) -> str:
    return member.group_instance_id or member.member_id
