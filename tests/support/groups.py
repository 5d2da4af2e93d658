"""Requests of classic members with the golden scenes' defaults, and groups made of them."""

from typing import Any

from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.describe_groups import DescribedGroup, DescribeGroupsRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from drumbeat.protocol.consumer_protocol import Subscription, encode_subscription
from support.coordinator import Call, Coordinator

SUBSCRIPTION = encode_subscription(Subscription(("t1",)), 0)
TIMEOUT_MS = 10_000


def protocols(*names: str, metadata: bytes = SUBSCRIPTION) -> tuple[JoinGroupRequestProtocol, ...]:
    return tuple(JoinGroupRequestProtocol(name, metadata) for name in names)


def join_request(group_id: str = "g", member_id: str = "", **fields: Any) -> JoinGroupRequest:
    return JoinGroupRequest(
        **{
            "group_id": group_id,
            "member_id": member_id,
            "session_timeout_ms": TIMEOUT_MS,
            "rebalance_timeout_ms": TIMEOUT_MS,
            "protocol_type": "consumer",
            "protocols": protocols("range"),
            **fields,
        }
    )


class Clients:
    """Shorthand for what the members of one group send."""

    def __init__(self, coordinator: Coordinator, group_id: str = "g") -> None:
        self.coordinator = coordinator
        self.group_id = group_id

    def join(
        self, member_id: str = "", version: int = 9, client_id: str = "cl", **fields: Any
    ) -> Call:
        request = join_request(self.group_id, member_id, **fields)
        return self.coordinator.send(request, version, client_id)

    def enter(self, client_id: str = "cl", version: int = 9, **fields: Any) -> Call:
        """A new dynamic member, in as many steps as the version takes; the last one."""
        call = self.join("", version, client_id, **fields)
        if call.answer is None or call.error_code != 79:
            return call
        return self.join(call.response.member_id, version, client_id, **fields)

    def member_id_of(self, client_id: str) -> str:
        """Ids begin with what the client calls itself, or with its instance id."""
        members = self.live.members if self.live else {}
        return next(member_id for member_id in members if member_id.startswith(f"{client_id}-"))

    def sync(
        self,
        member_id: str,
        generation_id: int,
        plan: dict[str, bytes] | None = None,
        version: int = 5,
        **fields: Any,
    ) -> Call:
        request = SyncGroupRequest(
            **{
                "group_id": self.group_id,
                "generation_id": generation_id,
                "member_id": member_id,
                "protocol_type": "consumer" if version >= 5 else None,
                "protocol_name": "range" if version >= 5 else None,
                "assignments": tuple(
                    SyncGroupRequestAssignment(*share) for share in (plan or {}).items()
                ),
                **fields,
            }
        )
        return self.coordinator.send(request, version)

    def heartbeat(
        self,
        member_id: str,
        generation_id: int,
        version: int = 4,
        group_instance_id: str | None = None,
    ) -> int:
        request = HeartbeatRequest(self.group_id, generation_id, member_id, group_instance_id)
        return self.coordinator.send(request, version).error_code

    def leave(self, *members: str | tuple[str, str | None], version: int = 5) -> Call:
        identities = tuple(
            MemberIdentity(*(member if isinstance(member, tuple) else (member, None)))
            for member in members
        )
        if version >= 3:
            request = LeaveGroupRequest(self.group_id, members=identities)
        else:
            request = LeaveGroupRequest(self.group_id, identities[0].member_id)
        return self.coordinator.send(request, version)

    def commit(
        self, offset: int = 1, member_id: str = "", generation_id: int = -1, version: int = 9
    ) -> int:
        """Commit t1-0; the partition's error code."""
        partition = OffsetCommitRequestPartition(committed_offset=offset)
        topic = OffsetCommitRequestTopic("t1", partitions=(partition,))
        request = OffsetCommitRequest(self.group_id, generation_id, member_id, topics=(topic,))
        response = self.coordinator.send(request, version).response
        return response.topics[0].partitions[0].error_code

    def describe(self, version: int = 6) -> DescribedGroup:
        request = DescribeGroupsRequest((self.group_id,))
        described: DescribedGroup = self.coordinator.send(request, version).response.groups[0]
        return described

    def delete(self, version: int = 2) -> int:
        request = DeleteGroupsRequest((self.group_id,))
        return self.coordinator.send(request, version).response.results[0].error_code

    @property
    def live(self) -> Any:
        return self.coordinator.session.groups.get(self.group_id)

    @property
    def state(self) -> str:
        return self.describe().group_state

    # -- whole groups -----------------------------------------------------------------------------

    def completing(self, *client_ids: str, **fields: Any) -> list[str]:
        """CompletingRebalance: everybody has joined, nobody has synced; the first one leads."""
        first = self.enter(client_ids[0], **fields)
        members = [first.response.member_id]
        for client_id in client_ids[1:]:
            call = self.enter(client_id, **fields)
            for member_id in members:
                self.join(member_id, **fields)
            members.append(call.response.member_id)
        return members

    def stable(self, *client_ids: str, **fields: Any) -> list[str]:
        """Stable; everybody's assignment is 00 00 and the first letter of its client id twice."""
        members = self.completing(*client_ids, **fields)
        generation_id = self.live.generation_id
        plan = {m: b"\0\0" + c[:1].encode() * 2 for m, c in zip(members, client_ids, strict=True)}
        self.sync(members[0], generation_id, plan)
        for member_id in members[1:]:
            self.sync(member_id, generation_id)
        return members

    def preparing(self, *client_ids: str, **fields: Any) -> list[str]:
        """PreparingRebalance: the leader has joined again, the others have not."""
        members = self.stable(*client_ids, **fields)
        self.join(members[0], **fields)
        return members


def list_groups(
    coordinator: Coordinator, version: int = 5, states: tuple = (), types: tuple = ()
) -> list[Any]:
    request = ListGroupsRequest(states, types)
    return list(coordinator.send(request, version).response.groups)
