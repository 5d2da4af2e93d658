"""Steps about committed offsets, and about groups as administrators see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import (
    delete_groups,
    describe_groups,
    find_coordinator,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.describe_groups import DescribeGroupsRequest
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
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
from interop.oracle.vocabulary import (
    Generation,
    Group,
    Instance,
    Known,
    Member,
    Step,
    Topic,
)

Partitions = tuple[tuple[Topic, int], ...]
ORDERS_0: Partitions = ((Topic.ORDERS, 0),)
ALL_TOPICS_SINCE = 2
SEVERAL_GROUPS_SINCE = 8
SEVERAL_KEYS_SINCE = 4


def _by_topic(partitions: Partitions) -> dict[Topic, list[int]]:
    topics: dict[Topic, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


@dataclass(frozen=True, kw_only=True, repr=False)
class OffsetCommit(Step):
    api: ClassVar[Api] = offset_commit.API

    group: Group = Group.MAIN
    member: Member = Member.OWN
    generation: Generation = Generation.CURRENT
    instance: Instance = Instance.OWN
    partitions: Partitions = ORDERS_0
    offset: int = 42
    leader_epoch: int = -1
    metadata: str | None = ""
    first_metadata_size: int = 0  # of the first of several partitions
    retention_time_ms: int = -1

    def request(self, known: Known) -> OffsetCommitRequest:
        places = iter(range(len(self.partitions)))
        topics = (
            OffsetCommitRequestTopic(
                known.topic(topic),
                known.topic_id(topic),
                tuple(self._position(next(places), partition) for partition in partitions),
            )
            for topic, partitions in _by_topic(self.partitions).items()
        )
        return OffsetCommitRequest(
            group_id=known.group(self.group),
            generation_id_or_member_epoch=known.generation_id(self.client, self.generation),
            member_id=known.member_id(self.client, self.member),
            group_instance_id=known.instance_id(self.client, self.instance),
            retention_time_ms=self.retention_time_ms,
            topics=tuple(topics),
        )

    def _position(self, place: int, partition: int) -> OffsetCommitRequestPartition:
        # Never on all of them: Kafka makes a group of a commit of which it keeps nothing.
        is_long = self.first_metadata_size and place == 0 and len(self.partitions) > 1
        metadata = "m" * self.first_metadata_size if is_long else self.metadata
        return OffsetCommitRequestPartition(
            partition, self.offset + place, self.leader_epoch, metadata
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class OffsetFetch(Step):
    """`partitions` None asks for all. From version 8 on for several groups."""

    api: ClassVar[Api] = offset_fetch.API
    reads_committed: ClassVar[bool] = True

    groups: tuple[Group, ...] = (Group.MAIN,)
    partitions: Partitions | None = None
    require_stable: bool = False
    member: Member | None = None
    generation: Generation = Generation.NONE

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        by_topic = {"topics": ("name", "topic_id"), "partitions": ("partition_index",)}
        return by_topic if self.partitions is None else {}

    def request(self, known: Known) -> OffsetFetchRequest:
        topics = self._topics()
        if self.api_version < SEVERAL_GROUPS_SINCE:
            asked = (
                None
                if topics is None
                else tuple(
                    OffsetFetchRequestTopic(known.topic(t), tuple(p)) for t, p in topics.items()
                )
            )
            return OffsetFetchRequest(
                group_id=known.group(self.groups[0]),
                topics=asked,
                require_stable=self.require_stable,
            )
        return OffsetFetchRequest(
            groups=tuple(self._group(known, group, topics) for group in self.groups),
            require_stable=self.require_stable,
        )

    def _topics(self) -> dict[Topic, list[int]] | None:
        if self.partitions is None and self.api_version >= ALL_TOPICS_SINCE:
            return None
        return _by_topic(self.partitions or ())

    def _group(
        self, known: Known, group: Group, topics: dict[Topic, list[int]] | None
    ) -> OffsetFetchRequestGroup:
        asked = (
            None
            if topics is None
            else tuple(
                OffsetFetchRequestTopics(known.topic(t), known.topic_id(t), tuple(p))
                for t, p in topics.items()
            )
        )
        return OffsetFetchRequestGroup(
            group_id=known.group(group),
            member_id=None if self.member is None else known.member_id(self.client, self.member),
            member_epoch=known.generation_id(self.client, self.generation),
            topics=asked,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class OffsetDelete(Step):
    api: ClassVar[Api] = offset_delete.API

    group: Group = Group.MAIN
    partitions: Partitions = ORDERS_0

    def request(self, known: Known) -> OffsetDeleteRequest:
        return OffsetDeleteRequest(
            known.group(self.group),
            tuple(
                OffsetDeleteRequestTopic(
                    known.topic(topic), tuple(OffsetDeleteRequestPartition(p) for p in partitions)
                )
                for topic, partitions in _by_topic(self.partitions).items()
            ),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribeGroups(Step):
    api: ClassVar[Api] = describe_groups.API
    reads_committed: ClassVar[bool] = True

    groups: tuple[Group, ...] = (Group.MAIN,)
    include_authorized_operations: bool = False

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        # Kafka asks the partitions that the groups are in, and lists the answers as they come.
        return {"groups": ("group_id",)}

    def request(self, known: Known) -> DescribeGroupsRequest:
        return DescribeGroupsRequest(
            tuple(map(known.group, self.groups)), self.include_authorized_operations
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class ListGroups(Step):
    api: ClassVar[Api] = list_groups.API
    reads_committed: ClassVar[bool] = True

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"groups": ("group_id",)}

    def shows(self, known: Known, field_name: str, item: Any) -> bool:
        return field_name != "groups" or item["group_id"].startswith(known.prefix)

    def request(self, known: Known) -> ListGroupsRequest:
        return ListGroupsRequest(self.states, self.types)


@dataclass(frozen=True, kw_only=True, repr=False)
class DeleteGroups(Step):
    api: ClassVar[Api] = delete_groups.API

    groups: tuple[Group, ...] = (Group.MAIN,)

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"results": ("group_id",)}

    def request(self, known: Known) -> DeleteGroupsRequest:
        return DeleteGroupsRequest(tuple(map(known.group, self.groups)))


@dataclass(frozen=True, kw_only=True, repr=False)
class FindCoordinator(Step):
    api: ClassVar[Api] = find_coordinator.API

    groups: tuple[Group, ...] = (Group.MAIN,)
    key_type: int = 0

    def request(self, known: Known) -> FindCoordinatorRequest:
        keys = tuple(map(known.group, self.groups))
        if self.api_version < SEVERAL_KEYS_SINCE:
            return FindCoordinatorRequest(key=keys[0], key_type=self.key_type)
        return FindCoordinatorRequest(key_type=self.key_type, coordinator_keys=keys)
