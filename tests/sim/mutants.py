"""Shards with a bug each, to see that the checkers would notice it."""

from dataclasses import replace
from typing import Any

from drumbeat.core.effects import SetDeadline
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.records import Record as Fact
from drumbeat.core.reducer import apply
from drumbeat.core.state import State
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.offset_commit import OffsetCommitRequest
from drumbeat.protocol.apis.sync_group import SyncGroupRequest
from drumbeat.runtime.coordinator.shard import Environment
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Request
from sim.watch import Watch, WatchedShard


class AnswersBeforeSync(WatchedShard):
    """Replies leave at once, whatever the disk has."""

    def _answer(self, replies: tuple[Reply, ...]) -> None:
        super()._answer(())
        for reply in replies:
            self._deliver(reply)


class LosesFencing(WatchedShard):
    """An instance id is enough: whoever has it passes for its present holder."""

    def submit(self, request: Request, body: Any) -> Any:
        if isinstance(body, HeartbeatRequest | SyncGroupRequest | OffsetCommitRequest):
            group = self._session.groups.get(body.group_id)
            if group is not None and body.group_instance_id is not None:
                holder = group.static_members.get(body.group_instance_id, body.member_id)
                body = body._replace(member_id=holder)
        return super().submit(request, body)


class IgnoresGenerations(WatchedShard):
    """A commit of any generation counts as one of the present generation."""

    def submit(self, request: Request, body: Any) -> Any:
        if isinstance(body, OffsetCommitRequest) and body.generation_id_or_member_epoch >= 0:
            group = self._session.groups.get(body.group_id)
            if group is not None:
                body = body._replace(generation_id_or_member_epoch=group.generation_id)
        return super().submit(request, body)


class IgnoresHeartbeats(WatchedShard):
    """A heartbeat is answered, but the session goes on as if there had been none."""

    def submit(self, request: Request, body: Any) -> Any:
        self._is_heartbeat = isinstance(body, HeartbeatRequest)
        return super().submit(request, body)

    def _carry_out(self, context: Context, outcome: Outcome) -> None:
        if context.request_id and self._is_heartbeat:
            kept = tuple(e for e in outcome.effects if not isinstance(e, SetDeadline))
            outcome = outcome.with_effects(kept)
        super()._carry_out(context, outcome)


class LosesRecords(WatchedShard):
    """Of a batch with several records the last one stays in memory."""

    def _append(self, context: Context, facts: tuple[Fact, ...]) -> bool:
        is_appended = super()._append(context, facts[:1])
        for fact in facts[1:]:
            apply(self._durable, fact, self.partition.log.end_offset)
        return is_appended


class LoadsTooLittle(WatchedShard):
    """Offsets of one group are forgotten when a partition is loaded."""

    def activate(self, durable: State) -> None:
        for group_id in sorted(durable.offsets)[:1]:
            del durable.offsets[group_id]
        super().activate(durable)


class ExpiresTooEarly(WatchedShard):
    """Retention is taken for half of what it is."""

    def __init__(
        self, index: int, partition: Partition, environment: Environment, watch: Watch
    ) -> None:
        config = replace(environment.config, offsets_retention_minutes=0)
        super().__init__(index, partition, environment._replace(config=config), watch)


class ForgetsDeadlines(WatchedShard):
    """No deadline ever passes."""

    def _expire_due(self) -> None:
        self._alarm = None


class AnswersTheWrongOne(WatchedShard):
    """Two members that wait for their assignments get each other's."""

    def _answer(self, replies: tuple[Reply, ...]) -> None:
        names = [type(reply.response).__name__ for reply in replies]
        if names == ["SyncGroupResponse"] * len(names) and len(replies) > 1:
            responses = [replies[-1].response, *(reply.response for reply in replies[:-1])]
            replies = tuple(
                Reply(reply.request_id, response)
                for reply, response in zip(replies, responses, strict=True)
            )
        super()._answer(replies)
