"""S14 and S15: nobody is sent away who kept its side, and nobody stays who was replaced."""

from typing import Any

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.events import GroupEvent, GroupEventType, Reason
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.apis.offset_commit import OffsetCommitRequest
from drumbeat.protocol.apis.sync_group import SyncGroupRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.coordinator.shard import Shard, ShardState
from sim.history import Operation
from sim.ledger import Ledger
from sim.watch import Checker, Verdict

Member = tuple[str, str]  # group id and member id
Instance = tuple[str, str]  # group id and group instance id

_REMOVALS = {
    GroupEventType.MEMBER_LEFT: "member_id",
    GroupEventType.MEMBER_EXPIRED: "member_id",
    GroupEventType.MEMBER_REPLACED: "replaced_member_id",
}
_ALIVE = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


class SessionChecker(Checker):
    """S14: a session ends only after its whole timeout, and a member is told 25 only if it went."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self._heard_ms: dict[Member, int] = {}
        self._timeout_ms: dict[Member, int] = {}
        self._members: set[Member] = set()
        self._removed: set[Member] = set()
        self._groups: dict[int, set[str]] = {}
        self._shards: dict[int, Shard] = {}

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        """Memory is gone: members are those of the log, and their sessions begin in full."""
        self._shards[shard.index] = shard
        forgotten = self._groups.get(shard.index, set())
        self._members = {member for member in self._members if member[0] not in forgotten}
        self._removed = {member for member in self._removed if member[0] not in forgotten}
        now_ms = shard._environment.clock.steady_ms()
        for group_id, group in ledger.state.groups.items():
            self._groups.setdefault(shard.index, set()).add(group_id)
            for member in group.members.values():
                self._members.add((group_id, member.member_id))
                self._heard_ms[group_id, member.member_id] = now_ms
                self._timeout_ms[group_id, member.member_id] = member.session_timeout_ms

    def stepped(self, shard: Shard, ledger: Ledger) -> None:
        self._groups.setdefault(shard.index, set()).update(shard._session.groups)

    def told(self, event: GroupEvent) -> None:
        field = _REMOVALS.get(event.type)
        if field is None:
            return
        member = (event.group_id, str(event.fields[field]))
        self._members.discard(member)
        self._removed.add(member)
        if event.fields.get("reason") == Reason.SESSION_TIMEOUT:
            self._check_expiry(event, member)
        if event.fields.get("reason") == Reason.NOT_SYNCED:
            self.verdict.sometimes("member evicted because it did not sync")

    def _check_expiry(self, event: GroupEvent, member: Member) -> None:
        self._see_expiry(event.group_id)
        if member in self._heard_ms and member in self._timeout_ms:
            silent_ms = event.at_ms - self._heard_ms[member]
            if silent_ms < self._timeout_ms[member]:
                self.verdict.violate("S14", f"{member} expired, heard of {silent_ms} ms ago")

    def _see_expiry(self, group_id: str) -> None:
        for shard in self._shards.values():
            group = shard._session.groups.get(group_id)
            if group is not None and group.state is not GroupState.STABLE:
                self.verdict.sometimes("session expired during a rebalance")

    def answered(self, operation: Operation) -> None:
        request, answer = operation.request, operation.response
        if isinstance(request, JoinGroupRequest) and answer.error_code == ErrorCode.NONE:
            member = (request.group_id, answer.member_id)
            if member not in self._removed:
                self._members.add(member)
            self._timeout_ms[member] = request.session_timeout_ms
        error_codes = _error_codes(operation)
        if not error_codes:
            return
        member = (request.group_id, request.member_id)
        if ErrorCode.UNKNOWN_MEMBER_ID in error_codes and member in self._members:
            self.verdict.violate("S14", f"{operation}: {member} is unknown, and nobody removed it")
        if isinstance(request, HeartbeatRequest | OffsetCommitRequest):
            heard = _ALIVE if isinstance(request, HeartbeatRequest) else (ErrorCode.NONE,)
            if error_codes <= set(heard):
                self._heard_ms[member] = max(
                    operation.arrived_ms, self._heard_ms.get(member, operation.arrived_ms)
                )


class StaticMemberChecker(Checker):
    """S15: once an instance id has a new member id, the old one gets nothing done."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self._holders: dict[Instance, tuple[str, int]] = {}  # member id, and since when
        self._homes: dict[str, Shard] = {}
        self._replaced: set[str] = set()

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        """What the log does not know of is forgotten, as every other step of a rebalance."""
        self._holders = {
            instance: holder
            for instance, holder in self._holders.items()
            if instance[0] in self._homes and self._homes[instance[0]].index != shard.index
        }
        for group_id, group in ledger.state.groups.items():
            self._homes[group_id] = shard
            for member in group.members.values():
                if member.group_instance_id is not None:
                    self._holders[group_id, member.group_instance_id] = (member.member_id, 0)

    def stepped(self, shard: Shard, ledger: Ledger) -> None:
        for group_id in shard._session.groups:
            self._homes[group_id] = shard

    def crashed(self) -> None:
        self._homes.clear()

    def told(self, event: GroupEvent) -> None:
        if event.type is GroupEventType.MEMBER_REPLACED:
            self._replaced.add(str(event.fields["replaced_member_id"]))

    def answered(self, operation: Operation) -> None:
        instance_id = getattr(operation.request, "group_instance_id", None)
        if instance_id is None:
            return
        instance = (operation.request.group_id, instance_id)
        error_codes = _error_codes(operation)
        if ErrorCode.FENCED_INSTANCE_ID in error_codes:
            self.verdict.sometimes(f"static member fenced in {operation.api.name}")
        elif ErrorCode.NONE in error_codes and self._is_served(operation):
            self._check(operation, instance)

    def _is_served(self, operation: Operation) -> bool:
        """A coordinator that is still loading says NONE to every heartbeat."""
        home = self._homes.get(operation.request.group_id)
        is_heartbeat = isinstance(operation.request, HeartbeatRequest)
        return not is_heartbeat or (home is not None and home.state is ShardState.ACTIVE)

    def _check(self, operation: Operation, instance: Instance) -> None:
        member_id = operation.request.member_id
        holder, since = self._holders.get(instance, ("", 0))
        if member_id and holder not in ("", member_id) and operation.arrived > since:
            self.verdict.violate("S15", f"{operation}: {member_id} was replaced by {holder}")
        if isinstance(operation.request, JoinGroupRequest):
            new = operation.response.member_id
            # A slow disk may hold an answer back until its member has been replaced in turn.
            if new != holder and new not in self._replaced:
                self._holders[instance] = (new, operation.answered)
            if operation.response.skip_assignment:
                self.verdict.sometimes("static leader replaced without a rebalance")


def _error_codes(operation: Operation) -> set[int]:
    """Of requests that a member sends about itself; else nothing."""
    request, answer = operation.request, operation.response
    if isinstance(request, JoinGroupRequest | SyncGroupRequest | HeartbeatRequest):
        return {answer.error_code}
    if isinstance(request, OffsetCommitRequest) and request.generation_id_or_member_epoch >= 0:
        return {p.error_code for topic in answer.topics for p in topic.partitions} - _TOPIC_ERRORS
    return set()


_TOPIC_ERRORS: set[Any] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.OFFSET_METADATA_TOO_LARGE,
}
