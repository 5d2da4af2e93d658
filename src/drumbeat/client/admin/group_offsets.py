"""Offsets that groups have committed: read, set, remove."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from drumbeat.client.admin.results import checked, named_error
from drumbeat.client.admin.routing import Router
from drumbeat.client.admin.topics import by_topic
from drumbeat.client.errors import GroupNotEmptyError, KafkaError
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.protocol.apis import offset_commit, offset_delete, offset_fetch
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.errors import ErrorCode

NO_OFFSET: Final = -1
# From version 10 on the two requests name topics by their ids.
_COMMIT_VERSIONS: Final = range(offset_commit.API.versions.start, 10)
_SEVERAL_GROUPS: Final = range(8, 10)
_ONE_GROUP: Final = range(offset_fetch.API.versions.start, 8)
# How a coordinator says that a commit from outside would overrule the members.
_HAS_MEMBERS: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
# These come with each partition and are about the whole group.
_COORDINATOR_ERRORS: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)

Committed = dict[TopicPartition, OffsetAndMetadata]


class GroupOffsetsAdmin(Router):
    async def list_group_offsets(
        self,
        group_ids: Iterable[str],
        *,
        partitions: Iterable[TopicPartition] | None = None,
        require_stable: bool = False,
    ) -> dict[str, Committed]:
        """What each group has committed, for all partitions or for these."""
        wanted = None if partitions is None else by_topic(partitions)

        async def request(node_id: int, asked: list[str]) -> dict[str, Committed | KafkaError]:
            version = self._cluster.version(node_id, offset_fetch.API)
            if version is not None and version < _SEVERAL_GROUPS.start:
                answers = [await self._fetch_one(node_id, one, wanted) for one in asked]
                return dict(zip(asked, answers, strict=True))
            body = _fetch_request(asked, wanted, require_stable)
            response = await self._cluster.send(
                node_id, offset_fetch.API, body, versions=_SEVERAL_GROUPS
            )
            return {group.group_id: _committed(group.group_id, group) for group in response.groups}

        return checked(await self._ask(group_ids, self._coordinators, request))

    async def _fetch_one(
        self, node_id: int, group_id: str, wanted: Mapping[str, list[TopicPartition]] | None
    ) -> Committed | KafkaError:
        """As brokers before Kafka 3.0 want it."""
        topics = (
            None
            if wanted is None
            else tuple(
                OffsetFetchRequestTopic(topic, tuple(tp.partition for tp in tps))
                for topic, tps in wanted.items()
            )
        )
        body = OffsetFetchRequest(group_id=group_id, topics=topics)
        response = await self._cluster.send(node_id, offset_fetch.API, body, versions=_ONE_GROUP)
        return _committed(group_id, response)

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int]
    ) -> None:
        """Commit for a group that has no members at the moment."""
        commits = {
            TopicPartition(*tp): OffsetAndMetadata(given) if isinstance(given, int) else given
            for tp, given in offsets.items()
        }
        topics = tuple(
            OffsetCommitRequestTopic(
                name=topic, partitions=tuple(_commit(tp.partition, commits[tp]) for tp in tps)
            )
            for topic, tps in by_topic(commits).items()
        )
        body = OffsetCommitRequest(group_id=group_id, topics=topics)

        async def request(node_id: int, _asked: list[str]) -> dict[str, Any]:
            response = await self._cluster.send(
                node_id, offset_commit.API, body, versions=_COMMIT_VERSIONS
            )
            return {group_id: _by_partition(group_id, response.topics)}

        await self._for_partitions(group_id, request)

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> None:
        """Forget commits; refused for topics that members of the group are subscribed to."""
        topics = tuple(
            OffsetDeleteRequestTopic(
                topic, tuple(OffsetDeleteRequestPartition(tp.partition) for tp in tps)
            )
            for topic, tps in by_topic(partitions).items()
        )
        body = OffsetDeleteRequest(group_id, topics)

        async def request(node_id: int, _asked: list[str]) -> dict[str, Any]:
            response = await self._cluster.send(node_id, offset_delete.API, body)
            if response.error_code:
                return {group_id: named_error(group_id, response.error_code)}
            return {group_id: _by_partition(group_id, response.topics)}

        await self._for_partitions(group_id, request)

    async def _for_partitions(self, group_id: str, request: Any) -> None:
        """Send what is answered by partition; errors of the coordinator concern all of them."""

        async def unless_moved(node_id: int, asked: list[str]) -> dict[str, Any]:
            answers = await request(node_id, asked)
            found = answers[group_id]
            errors = found.values() if isinstance(found, dict) else (found,)
            moved = next((e for e in errors if e and e.code in _COORDINATOR_ERRORS), None)
            return {group_id: moved or found}

        answers = checked(await self._ask((group_id,), self._coordinators, unless_moved))
        checked(answers[group_id])


def _commit(partition: int, commit: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition, commit.offset, commit.leader_epoch, commit.metadata
    )


def _fetch_request(
    group_ids: list[str],
    wanted: Mapping[str, list[TopicPartition]] | None,
    require_stable: bool,
) -> OffsetFetchRequest:
    topics = (
        None
        if wanted is None
        else tuple(
            OffsetFetchRequestTopics(
                name=topic, partition_indexes=tuple(tp.partition for tp in tps)
            )
            for topic, tps in wanted.items()
        )
    )
    return OffsetFetchRequest(
        groups=tuple(OffsetFetchRequestGroup(one, topics=topics) for one in group_ids),
        require_stable=require_stable,
    )


def _committed(group_id: str, answer: Any) -> Committed | KafkaError:
    """From one group's part of a response; partitions without a commit are left out."""
    if answer.error_code:
        return named_error(group_id, answer.error_code)
    found: Committed = {}
    for topic in answer.topics:
        for one in topic.partitions:
            tp = TopicPartition(topic.name, one.partition_index)
            if one.error_code:
                return named_error(f"{group_id}, {tp}", one.error_code)
            if one.committed_offset != NO_OFFSET:
                found[tp] = OffsetAndMetadata(
                    one.committed_offset, one.metadata or "", one.committed_leader_epoch
                )
    return found


def _by_partition(group_id: str, topics: Any) -> dict[TopicPartition, KafkaError | None]:
    return {
        (tp := TopicPartition(topic.name, one.partition_index)): _partition_error(
            group_id, tp, one.error_code
        )
        for topic in topics
        for one in topic.partitions
    }


def _partition_error(group_id: str, tp: TopicPartition, code: int) -> KafkaError | None:
    if code in _HAS_MEMBERS:
        return GroupNotEmptyError(
            f"{group_id}, {tp}: the group has members, which commit themselves: stop them first"
        )
    return named_error(f"{group_id}, {tp}", code) if code else None
