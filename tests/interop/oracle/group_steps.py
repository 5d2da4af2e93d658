"""Steps of members: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""

from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import heartbeat, join_group, leave_group, sync_group
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from drumbeat.protocol.consumer_protocol import Subscription, encode_subscription
from drumbeat.protocol.errors import ErrorCode
from interop.oracle.vocabulary import (
    STRANGER,
    Generation,
    Group,
    Instance,
    Known,
    Member,
    Step,
    Word,
)

LONG_MS = 60_000  # outlives every sequence
INSTANCE_SINCE = 5
BATCH_LEAVE_SINCE = 3


class Metadata(Word):
    ORDERS = encode_subscription(Subscription(("orders",)), 0)
    PAYMENTS = encode_subscription(Subscription(("payments",)), 1)
    BOTH = encode_subscription(Subscription(("orders", "payments")), 3)
    NOTHING = encode_subscription(Subscription(()), 0)
    SHORT = b"\x00"
    EMPTY = b""


class Protocol(Word):
    OWN = "type and name as the client was told"
    NONE = "null and null"
    NO_NAME = "the right type, and null"
    WRONG = "a name that nobody supports"
    WRONG_TYPE = "a type that nobody has"


class Plan(Word):
    EVERYBODY = "something for each member that the leader was told of"
    NOBODY = "no assignments at all"
    SOME = "nothing for the last member"
    STRANGER = "something for a member that does not exist, too"


@dataclass(frozen=True, kw_only=True, repr=False)
class JoinGroup(Step):
    api: ClassVar[Api] = join_group.API
    may_park: ClassVar[bool] = True

    group: Group = Group.MAIN
    member: Member = Member.OWN
    instance: Instance = Instance.OWN
    protocols: tuple[str, ...] = ("range",)
    protocol_type: str = "consumer"
    metadata: Metadata = Metadata.ORDERS
    session_timeout_ms: int = LONG_MS
    rebalance_timeout_ms: int = LONG_MS

    def request(self, known: Known) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=known.group(self.group),
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=known.member_id(self.client, self.member),
            group_instance_id=self.instance_id(known),
            protocol_type=self.protocol_type,
            protocols=tuple(
                JoinGroupRequestProtocol(name, self.metadata.value) for name in self.protocols
            ),
        )

    def instance_id(self, known: Known) -> str | None:
        """What the version can say."""
        is_told = self.api_version >= INSTANCE_SINCE
        return known.instance_id(self.client, self.instance) if is_told else None

    def learn(self, known: Known, response: Any) -> None:
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            known.learn_member(self.client, response.member_id)
        if response.error_code == ErrorCode.NONE:
            known.generations[self.client] = response.generation_id
            known.protocols[self.client] = (self.protocol_type, response.protocol_name)
            known.rosters[self.client] = tuple(member.member_id for member in response.members)
        if response.error_code == ErrorCode.UNKNOWN_MEMBER_ID and self.member is Member.OWN:
            # As clients do: begin anew.
            known.member_ids.pop(self.client, None)


@dataclass(frozen=True, kw_only=True, repr=False)
class SyncGroup(Step):
    api: ClassVar[Api] = sync_group.API
    may_park: ClassVar[bool] = True

    group: Group = Group.MAIN
    member: Member = Member.OWN
    generation: Generation = Generation.CURRENT
    instance: Instance = Instance.OWN
    plan: Plan = Plan.EVERYBODY
    protocol: Protocol = Protocol.OWN

    def request(self, known: Known) -> SyncGroupRequest:
        protocol_type, protocol_name = self._protocol(known)
        return SyncGroupRequest(
            group_id=known.group(self.group),
            generation_id=known.generation_id(self.client, self.generation),
            member_id=known.member_id(self.client, self.member),
            group_instance_id=known.instance_id(self.client, self.instance),
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=self._assignments(known),
        )

    def _protocol(self, known: Known) -> tuple[str | None, str | None]:
        protocol_type, name = known.protocols.get(self.client, ("consumer", "range"))
        return {
            Protocol.OWN: (protocol_type, name),
            Protocol.NONE: (None, None),
            Protocol.NO_NAME: (protocol_type, None),
            Protocol.WRONG: (protocol_type, "unheard-of"),
            Protocol.WRONG_TYPE: ("unheard-of", name),
        }[self.protocol]

    def _assignments(self, known: Known) -> tuple[SyncGroupRequestAssignment, ...]:
        members = known.rosters.get(self.client, ())
        chosen = {
            Plan.EVERYBODY: members,
            Plan.NOBODY: (),
            Plan.SOME: members[:-1],
            Plan.STRANGER: (*members, STRANGER),
        }[self.plan]
        generation = known.generations.get(self.client, 0)
        return tuple(
            SyncGroupRequestAssignment(
                member_id, b"\0\0 of %d in %d" % (known.client_of(member_id), generation)
            )
            for member_id in chosen
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Heartbeat(Step):
    api: ClassVar[Api] = heartbeat.API

    group: Group = Group.MAIN
    member: Member = Member.OWN
    generation: Generation = Generation.CURRENT
    instance: Instance = Instance.OWN

    def request(self, known: Known) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=known.group(self.group),
            generation_id=known.generation_id(self.client, self.generation),
            member_id=known.member_id(self.client, self.member),
            group_instance_id=known.instance_id(self.client, self.instance),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class LeaveGroup(Step):
    """Of the client itself, and from version 3 on of others with it."""

    api: ClassVar[Api] = leave_group.API

    group: Group = Group.MAIN
    member: Member = Member.OWN
    instance: Instance = Instance.OWN
    with_clients: tuple[int, ...] = ()

    def request(self, known: Known) -> LeaveGroupRequest:
        group_id = known.group(self.group)
        if self.api_version < BATCH_LEAVE_SINCE:
            return LeaveGroupRequest(group_id, known.member_id(self.client, self.member))
        own = MemberIdentity(
            known.member_id(self.client, self.member),
            known.instance_id(self.client, self.instance),
            "done",
        )
        others = (
            MemberIdentity(known.member_id(client), known.instance_id(client))
            for client in self.with_clients
        )
        return LeaveGroupRequest(group_id, members=(own, *others))
