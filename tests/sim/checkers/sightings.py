"""What is worth having happened: seeds among which it never does have tested too little."""

from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.apis.offset_commit import OffsetCommitRequest
from drumbeat.protocol.errors import ErrorCode
from sim.history import Operation
from sim.watch import Checker, Verdict

GOALS = frozenset(
    {
        "commit acknowledged while a sync is in flight",
        "commit with unknown outcome was read",
        "cooperative member gave partitions up",
        "crash kept a part of what was not synced",
        "crash with unsynced records",
        "group deleted by an administrator",
        "group is full",
        "group too large when it was loaded",
        "join replaced by a second one",
        "member evicted because it did not sync",
        "member id required, answer lost",
        "node lost between Join and Sync",
        "offset deleted by an administrator",
        "offset expired",
        "offset removed with its topic",
        "request met a loading coordinator",
        "session expired during a rebalance",
        "static leader replaced without a rebalance",
        "static member fenced in SyncGroup",
        "sweep during a rebalance",
        "sync failed with unknown outcome",
        "zombie's commit refused",
    }
)

_ZOMBIE = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
_JOINS = {
    ErrorCode.GROUP_MAX_SIZE_REACHED: "group is full",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "request met a loading coordinator",
}


class Sightings(Checker):
    """Those that need nobody else's knowledge."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self._id_required: dict[str, Operation] = {}  # by client: its last such answer
        self._joining: dict[str, Operation] = {}  # by member id

    def arrived(self, operation: Operation) -> None:
        request = operation.request
        if isinstance(request, JoinGroupRequest):
            before = self._id_required.pop(operation.client, None)
            if before is not None and not request.member_id and not before.is_known:
                self.verdict.sometimes("member id required, answer lost")
            if request.member_id:
                first = self._joining.get(request.member_id, operation)
                if first is not operation and not first.is_answered:
                    self.verdict.sometimes("join replaced by a second one")
                self._joining[request.member_id] = operation

    def answered(self, operation: Operation) -> None:
        request, answer = operation.request, operation.response
        if isinstance(request, JoinGroupRequest):
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._id_required[operation.client] = operation
            elif answer.error_code in _JOINS:
                self.verdict.sometimes(_JOINS[answer.error_code])
        elif isinstance(request, OffsetCommitRequest):
            is_member = request.generation_id_or_member_epoch >= 0
            errors = {p.error_code for topic in answer.topics for p in topic.partitions}
            if is_member and errors & set(_ZOMBIE):
                self.verdict.sometimes("zombie's commit refused")
