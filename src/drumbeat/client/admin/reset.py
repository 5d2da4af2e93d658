"""Moving a group's offsets: looks up what a plan needs, and commits what it says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drumbeat.client.admin.group_offsets import GroupOffsetsAdmin
from drumbeat.client.admin.offsets import OffsetsAdmin, OffsetSpec
from drumbeat.client.admin.reset_plan import Bounds, OffsetChange, ResetTo, plan
from drumbeat.client.admin.topics import TopicsAdmin
from drumbeat.client.clock import now_ms
from drumbeat.client.values import OffsetAndTimestamp, TopicPartition


class ResetAdmin(GroupOffsetsAdmin, OffsetsAdmin, TopicsAdmin):
    async def reset_group_offsets(
        self,
        group_id: str,
        to: ResetTo,
        *,
        topics: Iterable[str] | None = None,
        partitions: Iterable[TopicPartition] | None = None,
        dry_run: bool = False,
    ) -> list[OffsetChange]:
        """Move a group's offsets; the rows say from where to where. `dry_run` changes nothing.

        Concerns these topics and partitions; if none are named, those that `to` has offsets for,
        or else all that the group has committed.
        """
        before = await self._offsets(group_id)
        other = {} if to.group_id is None else await self._offsets(to.group_id)
        scope = await self._scope(topics, partitions)
        targets = await self._targets(to, scope or sorted(to.offsets or other or before), other)
        changes = plan(to, before, targets)
        if changes and not dry_run:
            await self.alter_group_offsets(
                group_id, {change.topic_partition: change.after for change in changes}
            )
        return changes

    async def _scope(
        self, topics: Iterable[str] | None, partitions: Iterable[TopicPartition] | None
    ) -> list[TopicPartition]:
        scope = {TopicPartition(*tp) for tp in partitions or ()}
        if names := list(topics or ()):
            described = await self.describe_topics(names)
            scope |= {
                TopicPartition(t.name, p.index) for t in described.values() for p in t.partitions
            }
        return sorted(scope)

    async def _offsets(self, group_id: str) -> dict[TopicPartition, int]:
        committed = (await self.list_group_offsets((group_id,)))[group_id]
        return {tp: known.offset for tp, known in committed.items()}

    async def _targets(
        self, to: ResetTo, scope: list[TopicPartition], other: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Bounds]:
        """What is needed to know of each partition."""
        earliest = await self.list_offsets(dict.fromkeys(scope, OffsetSpec.EARLIEST))
        latest = await self.list_offsets(dict.fromkeys(scope, OffsetSpec.LATEST))
        timestamp = to.timestamp_ms(now_ms())
        at: Mapping[TopicPartition, OffsetAndTimestamp] = {}
        if timestamp is not None:
            at = await self.list_offsets(dict.fromkeys(scope, timestamp))
        return {
            tp: Bounds(
                earliest=earliest[tp].offset,
                latest=latest[tp].offset,
                at_timestamp=at[tp].offset if tp in at and at[tp].offset >= 0 else None,
                of_other_group=other.get(tp),
            )
            for tp in scope
        }
