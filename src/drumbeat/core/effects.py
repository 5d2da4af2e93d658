"""What a decision changes in the volatile session: one small fact per change.

`drumbeat.core.session.follow` is the only reader. Each costs O(1) to follow, except the three
that end a phase for every member at once. Replies and group events are not effects: see Outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from drumbeat.core.classic.members import JoinedMember, ParkedRequest
from drumbeat.core.deadline_keys import DeadlineKey
from drumbeat.core.state import Group


class SetDeadline(NamedTuple):
    key: DeadlineKey
    at_ms: int


class ClearDeadline(NamedTuple):
    key: DeadlineKey


class PendingMemberAdded(NamedTuple):
    """MEMBER_ID_REQUIRED was answered; the id counts once it comes back in a JoinGroup."""

    group_id: str
    member_id: str


class PendingMemberRemoved(NamedTuple):
    group_id: str
    member_id: str


class MemberJoined(NamedTuple):
    """A member that was not in the group is in it now. The first one is the leader."""

    group_id: str
    protocol_type: str
    member: JoinedMember


class MemberUpdated(NamedTuple):
    """A member joined again: its timeouts and protocols are the new ones."""

    group_id: str
    member: JoinedMember


class MemberReplaced(NamedTuple):
    """A static member came back under a new id; assignment and leadership pass on (KIP-345)."""

    group_id: str
    replaced_member_id: str
    member: JoinedMember


class MemberRemoved(NamedTuple):
    group_id: str
    member_id: str
    new_leader: str | None  # the leader from now on; the same one unless it was removed


class JoinParked(NamedTuple):
    group_id: str
    member_id: str
    request: ParkedRequest


class JoinAnswered(NamedTuple):
    """A parked JoinGroup was answered before its join phase ended."""

    group_id: str
    member_id: str


class SyncParked(NamedTuple):
    group_id: str
    member_id: str
    request: ParkedRequest


class SyncReceived(NamedTuple):
    """A member of a Stable group fetched its assignment."""

    group_id: str
    member_id: str


class RebalanceBegun(NamedTuple):
    """-> PreparingRebalance. Out of CompletingRebalance the assignments are forgotten."""

    group_id: str
    at_ms: int


class JoinPhaseArmed(NamedTuple):
    """The JOIN deadline is set. `remaining_ms` is what an initial join phase may still wait."""

    group_id: str
    remaining_ms: int


class JoinPhaseCompleted(NamedTuple):
    """-> CompletingRebalance: a new generation of everybody who is in the group."""

    group_id: str
    at_ms: int
    generation_id: int
    protocol_name: str
    leader: str
    subscribed_topics: frozenset[str] | None  # None: unknown


class SyncPhaseCompleted(NamedTuple):
    """-> Stable: the leader's plan is durable."""

    group_id: str
    at_ms: int
    assignments: Mapping[str, bytes]


class GroupEmptied(NamedTuple):
    """-> Empty: a join phase ended without members. The rest is in the durable record."""

    group_id: str
    at_ms: int


class GroupRestored(NamedTuple):
    """A group that was loaded with members goes on as Stable."""

    group_id: str
    at_ms: int
    group: Group
    subscribed_topics: frozenset[str] | None


class GroupForgotten(NamedTuple):
    """The group was deleted or expired; ids handed out for it are worth nothing."""

    group_id: str


class GroupDied(NamedTuple):
    """-> Dead: the partition is leaving this node."""

    group_id: str
    at_ms: int


Effect: TypeAlias = (
    SetDeadline
    | ClearDeadline
    | PendingMemberAdded
    | PendingMemberRemoved
    | MemberJoined
    | MemberUpdated
    | MemberReplaced
    | MemberRemoved
    | JoinParked
    | JoinAnswered
    | SyncParked
    | SyncReceived
    | RebalanceBegun
    | JoinPhaseArmed
    | JoinPhaseCompleted
    | SyncPhaseCompleted
    | GroupEmptied
    | GroupRestored
    | GroupForgotten
    | GroupDied
)
