"""A classic group as it lives in memory: who has joined, what is parked, which phase it is in.

Volatile: a restart forgets it and begins again from the durable `core.state.Group`. Changed only
by the functions of `core.classic.changes`; everybody else sees a `ClassicGroupView`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Protocol, TypeAlias

from drumbeat.core.classic.group_state import VALID_PREVIOUS_STATES, GroupState
from drumbeat.core.classic.members import JoinedMember, ParkedRequest

# Most sets of member ids are empty most of the time, and an empty set is larger than a member: all
# groups share the frozen one, and have a set of their own only while somebody is in it.
MemberIds: TypeAlias = set[str] | frozenset[str]
NOBODY: frozenset[str] = frozenset()


def with_member(ids: MemberIds, member_id: str) -> MemberIds:
    if isinstance(ids, frozenset):
        return {member_id}
    ids.add(member_id)
    return ids


def without_member(ids: MemberIds, member_id: str) -> MemberIds:
    if isinstance(ids, frozenset):
        return ids
    ids.discard(member_id)
    return ids or NOBODY


class ClassicGroupView(Protocol):
    """The read-only face of ClassicGroup."""

    @property
    def group_id(self) -> str: ...
    @property
    def state(self) -> GroupState: ...
    @property
    def state_timestamp_ms(self) -> int: ...
    @property
    def generation_id(self) -> int: ...
    @property
    def protocol_type(self) -> str: ...
    @property
    def protocol_name(self) -> str | None: ...
    @property
    def leader(self) -> str | None: ...
    @property
    def members(self) -> Mapping[str, JoinedMember]: ...
    @property
    def members_peak(self) -> int: ...
    @property
    def static_members(self) -> Mapping[str, str]: ...
    @property
    def new_members(self) -> Set[str]: ...
    @property
    def pending_members(self) -> Set[str]: ...
    @property
    def pending_sync(self) -> Set[str]: ...
    @property
    def joins(self) -> Mapping[str, ParkedRequest]: ...
    @property
    def syncs(self) -> Mapping[str, ParkedRequest]: ...
    @property
    def assignments(self) -> Mapping[str, bytes]: ...
    @property
    def protocol_support(self) -> Mapping[str, int]: ...
    @property
    def subscribed_topics(self) -> frozenset[str] | None: ...
    @property
    def is_initial(self) -> bool: ...
    @property
    def is_join_armed(self) -> bool: ...
    @property
    def new_member_added(self) -> bool: ...
    @property
    def delay_ms(self) -> int: ...
    @property
    def remaining_ms(self) -> int: ...
    @property
    def rebalance_began_ms(self) -> int: ...
    @property
    def parked_count(self) -> int: ...
    @property
    def has_all_members_joined(self) -> bool: ...


class ClassicGroup:
    """The volatile half of a classic group. `generation_id` may be ahead of the durable one."""

    __slots__ = (
        "assignments",
        "delay_ms",
        "generation_id",
        "group_id",
        "is_initial",
        "is_join_armed",
        "joins",
        "leader",
        "members",
        "members_peak",
        "new_member_added",
        "new_members",
        "pending_members",
        "pending_sync",
        "protocol_name",
        "protocol_support",
        "protocol_type",
        "rebalance_began_ms",
        "remaining_ms",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "syncs",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.state_timestamp_ms = 0
        self.generation_id = 0
        self.protocol_type = ""
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, JoinedMember] = {}  # in order of joining
        self.members_peak = 0  # decides how many buckets Kafka's HashMap of members would have
        self.static_members: dict[str, str] = {}  # group instance id -> member id
        self.new_members: MemberIds = NOBODY  # not yet in any generation
        self.pending_members: MemberIds = NOBODY  # ids handed out that have not joined
        self.pending_sync: MemberIds = NOBODY  # members that owe this generation a SyncGroup
        self.joins: dict[str, ParkedRequest] = {}
        self.syncs: dict[str, ParkedRequest] = {}
        self.assignments: dict[str, bytes] = {}
        self.protocol_support: dict[str, int] = {}  # members that list it, by protocol name
        self.subscribed_topics: frozenset[str] | None = None  # of this generation; None: unknown
        self.is_initial = False  # the join phase began in Empty, so it waits its delay out
        self.is_join_armed = False
        self.new_member_added = False  # since the initial delay was last extended
        self.delay_ms = 0
        self.remaining_ms = 0
        self.rebalance_began_ms = 0

    @property
    def parked_count(self) -> int:
        return len(self.joins) + len(self.syncs)

    @property
    def has_all_members_joined(self) -> bool:
        return len(self.members) == len(self.joins) and not self.pending_members

    @property
    def is_idle(self) -> bool:
        """Nothing is here that the durable group does not say as well."""
        return self.state is GroupState.EMPTY and not self.pending_members and not self.members

    def transition_to(self, state: GroupState, at_ms: int) -> None:
        assert self.state in VALID_PREVIOUS_STATES[state], f"{self.state} -> {state}"
        self.state = state
        self.state_timestamp_ms = at_ms
