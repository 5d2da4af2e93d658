"""Consumer groups: list, describe, delete, send members away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from drumbeat.client.admin.results import checked, named_error
from drumbeat.client.admin.routing import Router
from drumbeat.client.errors import KafkaError, UnsupportedVersionError, error_for
from drumbeat.client.net.metadata import Broker
from drumbeat.client.net.nodes import broker_id
from drumbeat.client.values import TopicPartition
from drumbeat.protocol import consumer_protocol
from drumbeat.protocol.apis import (
    consumer_group_describe,
    delete_groups,
    describe_groups,
    leave_group,
    list_groups,
)
from drumbeat.protocol.apis.consumer_group_describe import Assignment as ConsumerAssignment
from drumbeat.protocol.apis.consumer_group_describe import ConsumerGroupDescribeRequest
from drumbeat.protocol.apis.consumer_group_describe import DescribedGroup as ConsumerGroup
from drumbeat.protocol.apis.consumer_group_describe import Member as ConsumerMember
from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity, MemberResponse
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
from drumbeat.protocol.errors import ErrorCode, ProtocolError

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
_DEAD = "Dead"
_MEMBERS_SINCE = range(3, leave_group.API.versions.stop)  # LeaveGroup of somebody else
_WORDS: Final = {ErrorCode.GROUP_ID_NOT_FOUND: "the group does not exist"}
_STATES_SINCE, _TYPES_SINCE = 4, 5  # filters of ListGroups


class GroupListing(NamedTuple):
    """State and type are "" where the broker is too old to say."""

    group_id: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDescription:
    """`assignment` is empty for a group that is not one of consumers.

    A member of the consumer protocol (KIP-848) has an epoch; it is on its way to
    `target_assignment`.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...] = ()
    subscription: tuple[str, ...] = ()
    epoch: int | None = None
    target_assignment: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDescription:
    """`protocol` is the assignor of a group of consumers.

    The epochs are those of the consumer protocol; brokers do not tell a classic group's generation.
    """

    group_id: str
    state: str
    type: str
    protocol_type: str
    protocol: str
    members: tuple[MemberDescription, ...] = ()
    coordinator: Broker | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None


class MemberToRemove(NamedTuple):
    """By its instance id if it is static, else by its member id."""

    group_instance_id: str | None = None
    member_id: str = ""


class GroupsAdmin(Router):
    async def list_groups(
        self, *, states: Iterable[str] = (), types: Iterable[str] = ()
    ) -> tuple[GroupListing, ...]:
        """Groups of all brokers by id; filters are Kafka's words, such as "Stable", "classic"."""
        wanted = ListGroupsRequest(tuple(states), tuple(types))
        oldest = _TYPES_SINCE if wanted.types_filter else _STATES_SINCE * bool(wanted.states_filter)
        versions = range(oldest, list_groups.API.versions.stop)

        async def request(
            node_id: int, _asked: list[int]
        ) -> dict[int, list[GroupListing] | KafkaError]:
            response = await self._cluster.send(node_id, list_groups.API, wanted, versions=versions)
            if response.error_code:
                return {node_id: named_error(f"broker {node_id}", response.error_code)}
            return {node_id: [GroupListing(*group) for group in response.groups]}

        found = checked(await self._ask(await self._broker_ids(), self._brokers, request))
        return tuple(sorted({group for groups in found.values() for group in groups}))

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription]:
        """State, members and assignment; GroupIdNotFoundError for one that does not exist."""

        async def request(
            node_id: int, asked: list[str]
        ) -> dict[str, GroupDescription | KafkaError]:
            found = await self._describe_consumer(node_id, asked)
            classic = [group_id for group_id in asked if group_id not in found]
            if classic:
                found |= await self._describe_classic(node_id, classic)
            coordinator = self._cluster.metadata.brokers.get(broker_id(node_id))
            return {
                group_id: one
                if isinstance(one, KafkaError)
                else replace(one, coordinator=coordinator)
                for group_id, one in found.items()
            }

        return checked(await self._ask(group_ids, self._coordinators, request))

    async def _describe_consumer(
        self, node_id: int, group_ids: list[str]
    ) -> dict[str, GroupDescription | KafkaError]:
        """Those that use the consumer protocol (KIP-848); the others have an API of their own."""
        body = ConsumerGroupDescribeRequest(tuple(group_ids))
        try:
            response = await self._cluster.send(node_id, consumer_group_describe.API, body)
        except UnsupportedVersionError:
            return {}
        others = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
        return {
            group.group_id: _consumer_group(group)
            for group in response.groups
            if group.error_code not in others
        }

    async def _describe_classic(
        self, node_id: int, group_ids: list[str]
    ) -> dict[str, GroupDescription | KafkaError]:
        body = DescribeGroupsRequest(tuple(group_ids))
        response = await self._cluster.send(node_id, describe_groups.API, body)
        return {group.group_id: _classic_group(group) for group in response.groups}

    async def delete_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups without members, with their committed offsets."""

        async def request(node_id: int, asked: list[str]) -> dict[str, KafkaError | None]:
            body = DeleteGroupsRequest(tuple(asked))
            response = await self._cluster.send(node_id, delete_groups.API, body)
            return {
                group_id: named_error(group_id, code, _WORDS.get(code)) if code else None
                for group_id, code in response.results
            }

        checked(await self._ask(group_ids, self._coordinators, request))

    async def remove_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str = "removed by an administrator",
    ) -> None:
        """Have members leave, None: all of them; the group rebalances without them.

        A consumer that still runs comes back: stop it first.
        """
        removed = await self._all_members(group_id) if members is None else list(members)
        identities = tuple(
            MemberIdentity(m.member_id, m.group_instance_id, reason) for m in removed
        )

        async def request(
            node_id: int, _asked: list[str]
        ) -> dict[str, dict[MemberToRemove, KafkaError | None] | KafkaError]:
            body = LeaveGroupRequest(group_id=group_id, members=identities)
            response = await self._cluster.send(
                node_id, leave_group.API, body, versions=_MEMBERS_SINCE
            )
            if response.error_code:
                return {group_id: named_error(group_id, response.error_code)}
            return {group_id: dict(zip(removed, map(_member_error, response.members), strict=True))}

        if identities:
            answers = checked(await self._ask((group_id,), self._coordinators, request))
            checked(answers[group_id])

    async def _all_members(self, group_id: str) -> list[MemberToRemove]:
        group = (await self.describe_groups((group_id,)))[group_id]
        return [
            MemberToRemove(member.group_instance_id, member.member_id) for member in group.members
        ]


def _member_error(answer: MemberResponse) -> KafkaError | None:
    member_id, instance_id, code = answer
    return named_error(instance_id or member_id, code) if code else None


def _classic_group(group: DescribedGroup) -> GroupDescription | KafkaError:
    if group.error_code:
        return named_error(group.group_id, group.error_code, group.error_message)
    if group.group_state == _DEAD:  # how brokers before 4.0 say that there is none
        return error_for(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group.group_id} does not exist")
    is_consumers = group.protocol_type == consumer_protocol.PROTOCOL_TYPE
    return GroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        type=CLASSIC,
        protocol_type=group.protocol_type,
        protocol=group.protocol_data,
        members=tuple(_classic_member(member, is_consumers) for member in group.members),
    )


def _classic_member(member: DescribedGroupMember, is_consumer: bool) -> MemberDescription:
    assignment: tuple[TopicPartition, ...] = ()
    subscription: tuple[str, ...] = ()
    if is_consumer:
        assignment = _assignment(member.member_assignment)
        subscription = _subscription(member.member_metadata)
    return MemberDescription(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        assignment=assignment,
        subscription=subscription,
    )


def _assignment(blob: bytes) -> tuple[TopicPartition, ...]:
    """Members may put anything there; what is not an assignment is none."""
    try:
        decoded = consumer_protocol.decode_assignment(blob)
    except ProtocolError:
        return ()
    return tuple(TopicPartition(t, p) for t, ps in decoded.assigned_partitions for p in ps)


def _subscription(blob: bytes) -> tuple[str, ...]:
    try:
        return consumer_protocol.decode_subscription(blob).topics
    except ProtocolError:
        return ()


def _consumer_group(group: ConsumerGroup) -> GroupDescription | KafkaError:
    if group.error_code:
        return named_error(group.group_id, group.error_code, group.error_message)
    return GroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        type=CONSUMER,
        protocol_type=consumer_protocol.PROTOCOL_TYPE,
        protocol=group.assignor_name,
        members=tuple(map(_consumer_member, group.members)),
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
    )


def _consumer_member(member: ConsumerMember) -> MemberDescription:
    return MemberDescription(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        assignment=_partitions(member.assignment),
        subscription=member.subscribed_topic_names,
        epoch=member.member_epoch,
        target_assignment=_partitions(member.target_assignment),
    )


def _partitions(assignment: ConsumerAssignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    )
