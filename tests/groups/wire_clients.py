"""Requests of the members of a group that can only be seen from outside."""

from types import SimpleNamespace
from typing import Any

from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest
from groups.wire_coordinator import WireCall, WireCoordinator
from support.groups import Clients

IDS_REQUIRED_SINCE = 4  # JoinGroup
PROTOCOL_NAMED_SINCE = 5  # SyncGroup
# Topic, partition, offset, leader epoch, metadata.
Offset = tuple[str, int, int, int, str]


class WireClients(Clients):
    coordinator: WireCoordinator

    def __init__(
        self, coordinator: WireCoordinator, group_id: str, protocol_type: str = "consumer"
    ) -> None:
        super().__init__(coordinator, group_id)
        self.protocol_type = protocol_type

    def join(
        self, member_id: str = "", version: int = 9, client_id: str = "cl", **fields: Any
    ) -> WireCall:
        fields = {"protocol_type": self.protocol_type, **fields}
        return super().join(member_id, version, client_id, **fields)

    def sync(
        self,
        member_id: str,
        generation_id: int,
        plan: dict[str, bytes] | None = None,
        version: int = 5,
        **fields: Any,
    ) -> WireCall:
        if version >= PROTOCOL_NAMED_SINCE:
            fields = {"protocol_type": self.protocol_type, **fields}
        return super().sync(member_id, generation_id, plan, version, **fields)

    @property
    def live(self) -> Any:
        members = {member.member_id: member for member in self.describe().members}
        generation_id = self.coordinator.generations.get(self.group_id, 0)
        return SimpleNamespace(members=members, generation_id=generation_id)

    def enter(self, client_id: str = "cl", version: int = 9, **fields: Any) -> WireCall:
        """A new dynamic member. From version 4 on the first answer comes at once, if not soon."""
        call = self.join("", version, client_id, **fields)
        if version < IDS_REQUIRED_SINCE or call.error_code != 79:
            return call
        return self.join(call.response.member_id, version, client_id, **fields)

    def enter_static(self, *instance_ids: str, version: int = 9, **fields: Any) -> list[str]:
        """CompletingRebalance with these members; the first one leads."""
        members: list[str] = []
        for instance_id in instance_ids:
            call = self.join("", version, group_instance_id=instance_id, **fields)
            for member_id, known in zip(members, instance_ids, strict=False):
                self.join(member_id, version, group_instance_id=known, **fields)
            members.append(call.response.member_id)
        return members

    def pair(
        self, leader: dict[str, Any], follower: dict[str, Any], version: int = 9
    ) -> tuple[str, str]:
        """CompletingRebalance of generation 2, with members A and B that differ in something."""
        first = self.enter("A", version, **leader).response.member_id
        second = self.enter("B", version, **follower)
        self.join(first, version, "A", **leader)
        return first, second.response.member_id

    def stable_pair(
        self, leader: dict[str, Any], follower: dict[str, Any], version: int = 9
    ) -> tuple[str, str]:
        members = self.pair(leader, follower, version)
        for member_id in members:
            self.sync(member_id, 2)
        return members

    def commit_all(
        self, *offsets: Offset, member_id: str = "", generation_id: int = -1, version: int = 9
    ) -> list[int]:
        """The error code of each."""
        topics = tuple(
            OffsetCommitRequestTopic(
                topic,
                partitions=(OffsetCommitRequestPartition(partition, offset, epoch, metadata),),
            )
            for topic, partition, offset, epoch, metadata in offsets
        )
        request = OffsetCommitRequest(self.group_id, generation_id, member_id, topics=topics)
        response = self.coordinator.send(request, version).response
        return [p.error_code for topic in response.topics for p in topic.partitions]

    def fetch_all(self, version: int = 7, require_stable: bool = False) -> Any:
        """Everything that the group has committed."""
        request = OffsetFetchRequest(self.group_id, None, require_stable=require_stable)
        return self.coordinator.send(request, version).response

    def committed(self) -> dict[tuple[str, int], int]:
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in self.fetch_all().topics
            for partition in topic.partitions
        }
