"""What a record changes in a group: the vocabulary between the log and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from drumbeat.pipeline.tables.builder import NONE

Topic: TypeAlias = str | bytes
"""By name; or by id, in groups whose records have no names."""

TopicPartition: TypeAlias = tuple[Topic, int]

_NOTHING: Final[Mapping[Any, Any]] = {}  # a MappingProxyType could not be pickled


class GroupType(StrEnum):
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class OwnerState(StrEnum):
    OWNED = "owned"
    PENDING_REVOKE = "pending_revoke"
    SHARED = "shared"  # with other members of a share group


class Member(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    assignor: str | None
    topics: tuple[str, ...]  # that it is subscribed to

    @property
    def identity(self) -> str:
        """What stays when a static member comes back under a new id."""
        return self.group_instance_id or self.member_id


class Owner(NamedTuple):
    member_id: str
    client_id: str
    state: OwnerState = OwnerState.OWNED


class Generation(NamedTuple):
    """Of a classic group; or the epoch of another, whose members come and go in between."""

    generation_id: int
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    state_ts: int = NONE
    n_members: int = 0
    n_static: int = 0
    metadata_hash: int | None = None  # of the topics that the group reads; not of classic groups
    members: Mapping[str, Member] = _NOTHING  # classic groups only
    owners: Mapping[TopicPartition, Owner] = _NOTHING  # classic groups only


class OwnershipChange(NamedTuple):
    """In classic groups also of partitions that stay where they are: before and after are equal."""

    topic: Topic
    partition: int
    before: Owner | None
    after: Owner | None


class GroupChange(NamedTuple):
    group_id: str
    group_type: GroupType
    log_offset: int
    append_ts: int
    prev_log_offset: int  # of the group's change before; NONE if there is none
    before: Generation | None  # None: no group
    after: Generation | None
    joined: tuple[Member, ...] = ()
    left: tuple[Member, ...] = ()
    updated: tuple[Member, ...] = ()
    ownership: tuple[OwnershipChange, ...] = ()
    is_assigned: bool = False  # with this record the epoch has got its target assignment
    is_reconciled: bool = False  # with this record the last member has reached the epoch

    @property
    def ends_rebalance(self) -> bool:
        """A replaced static member rewrites its generation; an unused group has no members."""
        if self.group_type is not GroupType.CLASSIC:
            return self.is_reconciled
        if self.before is None or self.after is None:
            return self.after is not None and bool(self.after.members)
        return self.before.generation_id != self.after.generation_id
